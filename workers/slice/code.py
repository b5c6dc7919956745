"""Brings an attempt's code to the hosts of its slice: fetched once, with the attempt's token, and only if one lacks it.

The control plane may be away for a while, which ends no attempt: the fetch waits for it. Only its no is final.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

import httpx
from ray.exceptions import RayError, RayTaskError

from orchestrator.domain.bundles import MAX_ARCHIVE_BYTES

TIMEOUT_S: Final = 30.0
LONGEST_BACK_OFF_S: Final = 2.0

T = TypeVar("T")

log = logging.getLogger(__name__)


class CodeHost(Protocol):
    """What is asked of a host; `workers.slice.hosts.Host` is one. Both raise RayError."""

    lost: str | None

    def has_code(self, digest: str) -> bool: ...
    def take_code(self, digest: str, archive: bytes) -> None: ...


class Code:
    """One attempt's code on its way. Runs in a thread of its own from `start` until it is there or cannot be."""

    def __init__(
        self, digest: str, attempt_id: str, token: str, hosts: Sequence[CodeHost], server: Callable[[], str]
    ) -> None:
        self.trouble: str | None = None
        """Why it cannot be there, once that is known."""
        self._digest = digest
        self._attempt_id = attempt_id
        self._token = token
        self._hosts = tuple(hosts)
        self._server = server
        self._there = threading.Event()
        self._given_up = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"code-{self._attempt_id}", daemon=True).start()

    def ready(self) -> bool:
        """Whether every host has it."""
        return self._there.is_set()

    def give_up(self) -> None:
        """It is not wanted any more."""
        self._given_up.set()

    def _run(self) -> None:
        try:
            self._bring()
        except Exception as error:  # noqa: BLE001  # a thread that ends without a word would leave the gang waiting
            cause = getattr(error, "cause", None) or error
            self.trouble = f"its code could not be brought: {cause}"[:500]

    def _bring(self) -> None:
        lacking = [host for host in self._hosts if self._ask(host, lambda host: host.has_code(self._digest)) is False]
        archive = self._fetch() if lacking else b""
        if archive is None:
            return
        for host in lacking:
            self._ask(host, lambda host: host.take_code(self._digest, archive))
        if not self._given_up.is_set():
            self._there.set()

    def _ask(self, host: CodeHost, what: Callable[[CodeHost], T]) -> T | None:
        """What the host answers; None if it was lost, which the gang sees by itself.

        Raises:
            RayTaskError: it could not do it.
        """
        while host.lost is None and not self._given_up.is_set():
            try:
                return what(host)
            except RayTaskError:
                raise
            except RayError as error:
                log.info("a host does not answer about the code of %s: %s", self._attempt_id, error)
                self._given_up.wait(LONGEST_BACK_OFF_S)
        return None

    def _fetch(self) -> bytes | None:
        """The archive; None once it is not wanted any more.

        Raises:
            httpx.HTTPStatusError: the control plane will not give it.
        """
        back_off_s = 0.1
        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx.Client(timeout=TIMEOUT_S, headers=headers, trust_env=False) as client:
            while not self._given_up.is_set():
                try:
                    return self._fetch_once(client)
                except (httpx.TransportError, httpx.InvalidURL, _Unavailable) as error:
                    log.info("code of %s is waited for: %s", self._attempt_id, error)
                self._given_up.wait(back_off_s)
                back_off_s = min(2 * back_off_s, LONGEST_BACK_OFF_S)
        return None

    def _fetch_once(self, client: httpx.Client) -> bytes:
        found = bytearray()
        with client.stream("GET", f"{self._server()}/api/v1/ingest/{self._attempt_id}/code") as response:
            if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
                raise _Unavailable(f"HTTP {response.status_code}")
            response.raise_for_status()
            for part in response.iter_bytes():
                found += part
                if len(found) > MAX_ARCHIVE_BYTES:
                    raise ValueError("more came than a bundle may have")
        return bytes(found)


class _Unavailable(Exception):
    """The control plane cannot answer now."""
