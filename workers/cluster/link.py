"""The link to the control plane, always opened from here: orders by long poll in a thread, facts by POST."""

import logging
import threading
import time
from typing import Final

import httpx

from orchestrator.domain.ids import AttemptId
from orchestrator.protocol import (
    ERRANDS_POST,
    FACTS_POST,
    FACTS_REPLY,
    ORDERS,
    STORAGE_POST,
    VERSION,
    WATCHED_POST,
    ErrandDone,
    ErrandsPost,
    Fact,
    FactsPost,
    Orders,
    StoragePost,
    WatchedCommit,
    WatchedPost,
)

POLL_TIMEOUT_S: Final = 40.0
"""The server answers within about 25 s, with or without news."""
POST_TIMEOUT_S: Final = 5.0
LONGEST_BACK_OFF_S: Final = 2.0
DENIED: Final = frozenset({httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN})

log = logging.getLogger(__name__)


class Link:
    """One control plane. Orders arrive on a thread of their own; `wake` is set when they do, and when we are denied."""

    def __init__(self, server: str, token: str, wake: threading.Event) -> None:
        self.orders: Orders | None = None
        """The newest orders; None until the first came."""
        self.denied = False
        """The control plane does not accept our token: nothing that we do can change that."""
        self._wake = wake
        self._unheard = False
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        # One client per thread: the poll must not hold up the facts.
        self._polling = httpx.Client(
            base_url=f"{server}/api/v1/link", headers=headers, timeout=POLL_TIMEOUT_S, trust_env=False
        )
        self._posting = httpx.Client(
            base_url=f"{server}/api/v1/link", headers=headers, timeout=POST_TIMEOUT_S, trust_env=False
        )

        self._probing, self._watching = (
            httpx.Client(base_url=f"{server}/api/v1/link", headers=headers, timeout=POST_TIMEOUT_S, trust_env=False)
            for _ in range(2)
        )

    def start(self) -> None:
        """Begin to fetch orders."""
        threading.Thread(target=self._poll_for_ever, name="orders", daemon=True).start()

    def send(self, facts: tuple[Fact, ...]) -> dict[str, int]:
        """Post facts; for each source the highest sequence that is stored. Empty when nobody took them: try again."""
        try:
            response = self._posting.post("/facts", content=FACTS_POST.dump_json(FactsPost(VERSION, facts)))
            self._check(response)
            self._unheard = False
            return FACTS_REPLY.validate_json(response.content).acknowledged
        except (httpx.HTTPError, ValueError) as error:
            if not self._unheard:
                self._unheard = True
                log.warning("%d facts are kept until the control plane takes them: %s", len(facts), _in_words(error))
            return {}

    def send_errands(self, done: tuple[ErrandDone, ...]) -> bool:
        """Post what became of errands; whether the control plane has it now."""
        try:
            self._check(self._posting.post("/errands", content=ERRANDS_POST.dump_json(ErrandsPost(VERSION, done))))
        except httpx.HTTPError as error:
            log.warning("%d errands are kept until the control plane takes them: %s", len(done), _in_words(error))
            return False
        return True

    def send_storage(self, root: str, fault: str | None) -> bool:
        """Post whether checkpoints can be written; whether the control plane has it now. For a thread of its own."""
        try:
            post = STORAGE_POST.dump_json(StoragePost(VERSION, root, fault))
            self._check(self._probing.post("/storage", content=post))
        except httpx.HTTPError as error:
            log.warning("the control plane was not told of the storage: %s", _in_words(error))
            return False
        return True

    def send_watched(self, attempt_id: AttemptId, commits: tuple[WatchedCommit, ...]) -> bool:
        """Post commits that were seen; whether the control plane has them now, or will never want them."""
        try:
            post = WATCHED_POST.dump_json(WatchedPost(VERSION, attempt_id, commits))
            response = self._watching.post("/watched", content=post)
            if response.status_code == httpx.codes.NOT_FOUND:
                return True
            self._check(response)
        except httpx.HTTPError as error:
            log.warning("the control plane was not told of %d commits: %s", len(commits), _in_words(error))
            return False
        return True

    def _poll_for_ever(self) -> None:
        back_off_s = 0.1
        while not self.denied:
            try:
                self._poll_once()
                back_off_s = 0.1
            except (httpx.HTTPError, ValueError) as error:
                log.warning("no orders, next try in %.1f s: %s", back_off_s, _in_words(error))
                time.sleep(back_off_s)
                back_off_s = min(2 * back_off_s, LONGEST_BACK_OFF_S)

    def _poll_once(self) -> None:
        revision = self.orders.revision if self.orders is not None else -1
        response = self._polling.get("/orders", params={"revision": revision})
        self._check(response)
        if response.status_code == httpx.codes.OK:
            orders = ORDERS.validate_json(response.content)
            if orders.version != VERSION:
                raise ValueError(f"the control plane speaks version {orders.version}, this process {VERSION}")
            self.orders = orders
            self._wake.set()

    def _check(self, response: httpx.Response) -> None:
        if response.status_code in DENIED:
            self.denied = True
            self._wake.set()
        response.raise_for_status()


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
