"""Sends the spools and logs of one attempt to the control plane: by byte offset, whole slices in few requests.

At least once, and for as long as the files exist: an unreachable or failing server is asked again. The server says from
which byte to go on. 409 and 410 say that it no longer wants this attempt; of one that has a successor it may still want
the logs.
"""

import base64
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import httpx
from ray.exceptions import RayError

from orchestrator.protocol import INGEST_POST, INGEST_REPLY, VERSION, Chunk, IngestPost
from workers.host.messages import STREAMS, Stream
from workers.slice.hosts import Host

EVERY_S: Final = 1.0
LONGEST_BACK_OFF_S: Final = 2.0
REQUEST_BYTES: Final = 1024 * 1024
"""Raw bytes per request; a third more on the wire."""
SHARE_BYTES: Final = 256 * 1024
"""Of one stream at a time, however many there are: more than the longest line of a spool that the server waits for."""
REQUEST_TIMEOUT_S: Final = 10.0
GIVE_UP_S: Final = 3600.0
"""After its attempt ended, a stream that nobody takes is kept this long."""
UNWANTED: Final = frozenset({httpx.codes.CONFLICT, httpx.codes.GONE})

log = logging.getLogger(__name__)


class Uploader:
    """The streams of one attempt. Runs in a thread of its own from `start` until everything was taken or refused."""

    def __init__(self, attempt_id: str, token: str, hosts: Sequence[Host], server: Callable[[], str]) -> None:
        self.attempt_id = attempt_id
        self.hosts = tuple(hosts)
        """By rank; of all slices of the attempt."""
        self._token = token
        self._server = server
        self._offsets: dict[int, dict[Stream, int]] = {rank: dict.fromkeys(STREAMS, 0) for rank in range(len(hosts))}
        self._final: dict[int, dict[Stream, int]] | None = None
        self._finished_asked_at = 0.0
        self._taken_at = time.monotonic()
        self._wanted: tuple[Stream, ...] = STREAMS
        self._refused = threading.Event()
        self._wake = threading.Event()
        self._done = threading.Event()

    def start(self) -> None:
        """Begin to send."""
        threading.Thread(target=self._run, name=f"upload-{self.attempt_id}", daemon=True).start()

    def finish(self, sizes: dict[int, dict[Stream, int]]) -> None:
        """The streams grow no more: the sizes of those that can still be read. Lost hosts have none."""
        self._finished_asked_at = time.monotonic()
        self._final = sizes
        self._wake.set()

    def finished(self) -> bool:
        """Whether nothing is left to send: taken, refused, or given up."""
        return self._done.is_set()

    def refused(self) -> bool:
        """Whether the control plane said that it no longer wants this attempt."""
        return self._refused.is_set()

    def quiet_ms(self) -> int:
        """How long ago the server last took something that it had not."""
        return int((time.monotonic() - self._taken_at) * 1000)

    def _run(self) -> None:
        try:
            headers = {"Authorization": f"Bearer {self._token}"}
            with httpx.Client(timeout=REQUEST_TIMEOUT_S, headers=headers, trust_env=False) as client:
                self._send_all(client)
        finally:
            self._done.set()  # whatever happened: the slice is held until this says so

    def _send_all(self, client: httpx.Client) -> None:
        back_off_s = 0.1
        while not self._nothing_left():
            self._wake.clear()
            try:
                more = self._send_round(client)
                back_off_s = 0.1
            except (httpx.HTTPError, httpx.InvalidURL, RayError, ValueError) as error:
                # A ValueError is an answer of somebody else, who has the server's old address.
                log.info("streams of %s are kept: %s", self.attempt_id, error)
                self._wake.wait(back_off_s)
                back_off_s = min(2 * back_off_s, LONGEST_BACK_OFF_S)
            else:
                if not more:
                    self._wake.wait(EVERY_S)

    def _nothing_left(self) -> bool:
        if not self._wanted:
            return True
        if self._final is None:
            return False
        waited = time.monotonic() - max(self._finished_asked_at, self._taken_at)
        return not any(self._unsent(rank) for rank in self._final) or waited > GIVE_UP_S

    def _unsent(self, rank: int) -> dict[Stream, int]:
        """From where to go on in those streams of the rank that hold bytes which are wanted and were not taken."""
        if self._final is not None:
            sizes = self._final.get(rank, {})
        else:
            status = self.hosts[rank].status
            sizes = status.sizes if status is not None and status.attempt_id == self.attempt_id else {}
        offsets = self._offsets[rank]
        return {name: offsets[name] for name in self._wanted if sizes.get(name, 0) > offsets[name]}

    def _send_round(self, client: httpx.Client) -> bool:
        """Send of every stream what is new, up to its share; whether to go on at once: some was taken, some is left.

        Raises:
            httpx.HTTPError: the server did not take it.
            ValueError: what answered is not our server.
            RayError: an agent that has new bytes did not answer; the others' were sent.
        """
        silent: list[RayError] = []
        advanced, size, chunks = False, 0, list[Chunk]()
        for chunk, length in self._read(silent):
            if size + length > REQUEST_BYTES:
                advanced = self._post(client, chunks) or advanced
                size, chunks = 0, []
            chunks.append(chunk)
            size += length
        advanced = self._post(client, chunks) or advanced
        if silent:
            raise silent[0]
        return advanced and any(self._unsent(rank) for rank in self._offsets if self.hosts[rank].lost is None)

    def _read(self, silent: list[RayError]) -> Iterator[tuple[Chunk, int]]:
        """New bytes of all ranks with how many they are; errors of agents are put into `silent`."""
        for rank, host in enumerate(self.hosts):
            offsets = self._unsent(rank)
            if host.lost is not None or not offsets:
                continue
            try:
                found = host.read(self.attempt_id, offsets, SHARE_BYTES)
            except RayError as error:
                silent.append(error)
                continue
            for stream, data in found.items():
                if data:
                    yield self._chunk(rank, stream, offsets[stream], data), len(data)

    def _chunk(self, rank: int, stream: Stream, offset: int, data: bytes) -> Chunk:
        final = self._final is not None and offset + len(data) >= self._final.get(rank, {}).get(stream, 0)
        return Chunk(rank, stream, offset, base64.b64encode(data).decode(), final)

    def _post(self, client: httpx.Client, chunks: Sequence[Chunk]) -> bool:
        """Whether the server took anything new."""
        chunks = tuple(chunk for chunk in chunks if chunk.stream in self._wanted)
        if not chunks:
            return False
        body = INGEST_POST.dump_json(IngestPost(VERSION, chunks))
        url = f"{self._server()}/api/v1/ingest/{self.attempt_id}"
        response = client.post(url, content=body, headers={"Content-Type": "application/json"})
        if response.status_code in UNWANTED:
            return self._take_refusal(response.status_code, chunks)
        response.raise_for_status()
        advanced = False
        for told in INGEST_REPLY.validate_json(response.content).offsets:
            if told.rank in self._offsets:
                advanced = advanced or told.offset > self._offsets[told.rank][told.stream]
                self._offsets[told.rank][told.stream] = told.offset
        if advanced:
            self._taken_at = time.monotonic()
        return advanced

    def _take_refusal(self, status: int, chunks: Sequence[Chunk]) -> bool:
        """What was refused is not offered again; where a spool was among it, the logs are, by themselves."""
        log.warning("attempt %s is no longer wanted: HTTP %d", self.attempt_id, status)
        with_spool = any(chunk.stream == "spool" for chunk in chunks)
        self._wanted = tuple(name for name in STREAMS if name != "spool") if with_spool else ()
        self._refused.set()
        return with_spool  # the logs go at once
