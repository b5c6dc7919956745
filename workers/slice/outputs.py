"""Sends what the ranks of one attempt left in their output folders: whole files, version by version, at least once.

While the attempt runs, a file is sent once it has been the same for two looks; when its processes are gone, all that is
there is. Like the streams it is kept and offered for as long as the control plane may still want it.
"""

import base64
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import httpx
from ray.exceptions import RayError

from orchestrator.protocol import (
    ARTIFACTS_POST,
    ARTIFACTS_REPLY,
    VERSION,
    ArtifactChunk,
    ArtifactSkipped,
    ArtifactsPost,
)
from workers.host.output import OutputFile
from workers.slice.upload import GIVE_UP_S, LONGEST_BACK_OFF_S, REQUEST_BYTES, REQUEST_TIMEOUT_S, UNWANTED

LOOK_S: Final = 5.0

_HOPELESS: Final = frozenset({httpx.codes.REQUEST_ENTITY_TOO_LARGE, httpx.codes.UNPROCESSABLE_ENTITY})

log = logging.getLogger(__name__)


class OutputHost(Protocol):
    """What is asked of a host; `workers.slice.hosts.Host` is one. Both raise RayError."""

    lost: str | None

    def output(self, attempt_id: str) -> tuple[OutputFile, ...]: ...
    def read_output(self, attempt_id: str, path: str, offset: int, limit: int) -> bytes: ...


class Outputs:
    """The output folders of one attempt. Runs in a thread of its own until all was taken, refused or given up."""

    def __init__(
        self,
        attempt_id: str,
        token: str,
        hosts: Sequence[OutputHost],
        server: Callable[[], str],
        *,
        look_s: float = LOOK_S,
    ) -> None:
        self._attempt_id = attempt_id
        self._token = token
        self._hosts = tuple(hosts)
        self._server = server
        self._look_s = look_s
        self._seen: dict[int, frozenset[OutputFile]] = {}
        self._done: dict[int, frozenset[OutputFile]] = {}
        """Of each rank what was taken, or told."""
        self._finished_at: float | None = None
        self._wake = threading.Event()
        self._over = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"output-{self._attempt_id}", daemon=True).start()

    def finish(self) -> None:
        """Nothing writes to the folders any more."""
        self._finished_at = time.monotonic()
        self._wake.set()

    def finished(self) -> bool:
        """Whether nothing is left to send: taken, refused, or given up."""
        return self._over.is_set()

    def _run(self) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            with httpx.Client(timeout=REQUEST_TIMEOUT_S, headers=headers, trust_env=False) as client:
                self._send_all(client)
        except _Unwanted:
            log.warning("the output of %s is no longer wanted", self._attempt_id)
        finally:
            self._over.set()

    def _send_all(self, client: httpx.Client) -> None:
        back_off_s = 0.1
        while True:
            ended = self._finished_at  # before the look: what is there then is all that there will be
            try:
                self._send_round(client, final=ended is not None)
                back_off_s = 0.1
            except (httpx.HTTPError, httpx.InvalidURL, RayError, ValueError) as error:
                log.info("output of %s is kept: %s", self._attempt_id, error)
                if ended is not None and time.monotonic() - ended > GIVE_UP_S:
                    return
                self._pause(back_off_s)
                back_off_s = min(2 * back_off_s, LONGEST_BACK_OFF_S)
                continue
            if ended is not None:
                return
            self._pause(self._look_s)

    def _pause(self, span_s: float) -> None:
        self._wake.wait(span_s)
        self._wake.clear()

    def _send_round(self, client: httpx.Client, final: bool) -> None:
        """Send what is due of every rank; a host that does not answer keeps back its own files only.

        Raises:
            RayError: a host did not answer; the others' files were sent.
            httpx.HTTPError: the control plane did not take them.
        """
        silent: list[RayError] = []
        for rank, host in enumerate(self._hosts):
            if host.lost is None:
                try:
                    self._send_rank(client, rank, host, final)
                except RayError as error:
                    silent.append(error)
        if silent:
            raise silent[0]

    def _send_rank(self, client: httpx.Client, rank: int, host: OutputHost, final: bool) -> None:
        there = frozenset(host.output(self._attempt_id))
        before, self._seen[rank] = self._seen.get(rank, frozenset()), there
        done = self._done.setdefault(rank, frozenset())
        due = sorted((there if final else there & before) - done, key=lambda file: file.path)
        refused = [file for file in due if file.refused is not None]
        if refused:
            self._post(client, [], [ArtifactSkipped(rank, file.path, file.refused or "") for file in refused])
            self._done[rank] |= frozenset(refused)
        for file in due:
            if file.refused is None and self._send_or_leave(client, rank, host, file):
                self._done[rank] |= {file}

    def _send_or_leave(self, client: httpx.Client, rank: int, host: OutputHost, file: OutputFile) -> bool:
        """As `_send`; a file that the control plane cannot take, whoever asks, must not keep back the others."""
        try:
            return self._send(client, rank, host, file)
        except httpx.HTTPStatusError as error:
            if error.response.status_code not in _HOPELESS:
                raise
            log.warning("%s of %s is not taken: %s", file.path, self._attempt_id, error)
            return True

    def _send(self, client: httpx.Client, rank: int, host: OutputHost, file: OutputFile) -> bool:
        """Whether the file was taken whole; not if it changed meanwhile, which the next look sees."""
        offset = 0
        while True:
            data = host.read_output(self._attempt_id, file.path, offset, min(REQUEST_BYTES, file.size - offset))
            if not data and file.size:
                return False
            encoded = base64.b64encode(data).decode()
            chunk = ArtifactChunk(rank, file.path, file.size, file.modified_ns, offset, encoded)
            wanted = self._post(client, [chunk], [])
            if wanted >= file.size:
                return True
            if wanted == offset:
                raise ValueError(f"{file.path} is not taken further than byte {offset}")
            offset = wanted

    def _post(self, client: httpx.Client, chunks: list[ArtifactChunk], skipped: list[ArtifactSkipped]) -> int:
        """The next byte that is wanted of the one chunk's file."""
        body = ARTIFACTS_POST.dump_json(ArtifactsPost(VERSION, tuple(chunks), tuple(skipped)))
        url = f"{self._server()}/api/v1/ingest/{self._attempt_id}/artifacts"
        response = client.post(url, content=body, headers={"Content-Type": "application/json"})
        if response.status_code in UNWANTED:
            raise _Unwanted
        response.raise_for_status()
        offsets = ARTIFACTS_REPLY.validate_json(response.content).offsets
        return offsets[0].offset if offsets else 0


class _Unwanted(Exception):
    """The control plane wants nothing more of this attempt."""
