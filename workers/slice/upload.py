"""Sends the spools and logs of one attempt to the control plane: by byte offset, in one request for the whole slice.

At least once, and for as long as the files exist: an unreachable or failing server is asked again. The server says from
which byte to go on. 409 and 410 say that it no longer wants this attempt.
"""

import base64
import logging
import threading
import time
from collections.abc import Callable, Sequence
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
REQUEST_TIMEOUT_S: Final = 10.0
GIVE_UP_S: Final = 3600.0
"""After its attempt ended, a stream that nobody takes is kept this long."""
UNWANTED: Final = frozenset({httpx.codes.CONFLICT, httpx.codes.GONE})

log = logging.getLogger(__name__)


class Uploader:
    """The streams of one attempt. Runs in a thread of its own from `start` until everything was taken or refused."""

    def __init__(self, attempt_id: str, token: str, hosts: Sequence[Host], server: Callable[[], str]) -> None:
        self.attempt_id = attempt_id
        self._token = token
        self._hosts = tuple(hosts)
        self._server = server
        self._offsets: dict[int, dict[Stream, int]] = {rank: dict.fromkeys(STREAMS, 0) for rank in range(len(hosts))}
        self._final: dict[int, dict[Stream, int]] | None = None
        self._finished_asked_at = 0.0
        self._taken_at = time.monotonic()
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
        """How long ago the server last took something."""
        return int((time.monotonic() - self._taken_at) * 1000)

    def _run(self) -> None:
        back_off_s = 0.1
        with httpx.Client(timeout=REQUEST_TIMEOUT_S, headers={"Authorization": f"Bearer {self._token}"}) as client:
            while not self._nothing_left():
                self._wake.clear()
                try:
                    more = self._send_once(client)
                    back_off_s = 0.1
                except (httpx.HTTPError, RayError) as error:
                    log.info("streams of %s are kept: %s", self.attempt_id, error)
                    self._wake.wait(back_off_s)
                    back_off_s = min(2 * back_off_s, LONGEST_BACK_OFF_S)
                else:
                    if not more:
                        self._wake.wait(EVERY_S)
        self._done.set()

    def _nothing_left(self) -> bool:
        if self._refused.is_set():
            return True
        if self._final is None:
            return False
        waited = time.monotonic() - max(self._finished_asked_at, self._taken_at)
        return not any(self._unsent(rank) for rank in self._final) or waited > GIVE_UP_S

    def _unsent(self, rank: int) -> bool:
        """Whether a stream of the rank holds bytes beyond those that were taken."""
        if self._final is not None:
            sizes = self._final.get(rank, {})
        else:
            status = self._hosts[rank].status
            sizes = status.sizes if status is not None and status.attempt_id == self.attempt_id else {}
        return any(size > self._offsets[rank][stream] for stream, size in sizes.items())

    def _send_once(self, client: httpx.Client) -> bool:
        """Send what is new, up to the limit; whether there is more at once.

        Raises:
            httpx.HTTPError: the server did not take it.
            RayError: an agent that has new bytes did not answer.
        """
        ranks = [rank for rank, host in enumerate(self._hosts) if host.lost is None and self._unsent(rank)]
        if not ranks:
            return False
        share = REQUEST_BYTES // len(ranks)
        chunks: list[Chunk] = []
        full = False
        for rank in ranks:
            found = self._hosts[rank].read(self.attempt_id, self._offsets[rank], share)
            full = full or sum(map(len, found.values())) >= share
            chunks.extend(
                Chunk(rank, stream, self._offsets[rank][stream], base64.b64encode(data).decode())
                for stream, data in found.items()
                if data
            )
        if chunks:
            self._post(client, tuple(chunks))
        return full

    def _post(self, client: httpx.Client, chunks: tuple[Chunk, ...]) -> None:
        body = INGEST_POST.dump_json(IngestPost(VERSION, chunks))
        url = f"{self._server()}/api/v1/ingest/{self.attempt_id}"
        response = client.post(url, content=body, headers={"Content-Type": "application/json"})
        if response.status_code in UNWANTED:
            log.warning("attempt %s is no longer wanted: HTTP %d", self.attempt_id, response.status_code)
            self._refused.set()
            return
        response.raise_for_status()
        for offset in INGEST_REPLY.validate_json(response.content).offsets:
            if offset.rank in self._offsets:
                self._offsets[offset.rank][offset.stream] = offset.offset
        self._taken_at = time.monotonic()
