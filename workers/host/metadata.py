"""Notices that a host will be taken away, from GCE's metadata server, which answers a long poll when it is decided."""

import logging
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Final

WAIT_S: Final = 60
RETRY_S: Final = 2.0
LONGEST_RETRY_S: Final = 60.0
METADATA_HOST: Final = "metadata.google.internal"
SIGNS: Final = {"preempted": ("TRUE",), "maintenance-event": ("TERMINATE_ON_HOST_MAINTENANCE",)}
"""What a value of `instance/…` says that means the end: https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys"""

log = logging.getLogger(__name__)


class NoticeWatch:
    """Asks for each sign in a thread of its own until one is there; then calls `noticed`, once per sign, in words."""

    def __init__(self, noticed: Callable[[str], None], host: str | None = None, retry_s: float = RETRY_S) -> None:
        self._noticed = noticed
        self._base = f"http://{host or os.environ.get('GCE_METADATA_HOST', METADATA_HOST)}/computeMetadata/v1/instance"
        self._retry_s = retry_s

    def start(self) -> None:
        for sign, values in SIGNS.items():
            threading.Thread(target=self._watch, args=(sign, values), name=f"notice-{sign}", daemon=True).start()

    def _watch(self, sign: str, values: tuple[str, ...]) -> None:
        etag, wait_s = "0", self._retry_s  # with an etag of 0 the first answer comes at once
        while True:
            try:
                value, etag = self._ask(sign, etag)
            except (OSError, ValueError) as error:
                log.info("the metadata server does not say %s: %s", sign, error)
                time.sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_RETRY_S)
                continue
            wait_s = self._retry_s
            if value in values:
                self._noticed(f"GCE says {sign}={value}")
                return

    def _ask(self, sign: str, etag: str) -> tuple[str, str]:
        url = f"{self._base}/{sign}?wait_for_change=true&timeout_sec={WAIT_S}&last_etag={etag}"
        request = urllib.request.Request(url, headers={"Metadata-Flavor": "Google"})
        # Never through a proxy: the server is link-local.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=WAIT_S + 10) as answer:
            return answer.read(100).decode("ascii", errors="replace").strip(), answer.headers.get("ETag", "0")
