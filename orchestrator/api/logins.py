"""Failed logins, counted by address. Tokens cannot be guessed; this keeps those who try from costing anything."""

from collections import OrderedDict, deque
from typing import Final

from orchestrator.domain.errors import TooManyFailures

ALLOWED: Final = 30
WINDOW_MS: Final = 60_000
_ADDRESSES: Final = 10_000
_KNOWN: Final = 10_000


class Logins:
    """In the memory of one process. A token that was good before is let in even from an address with many failures:
    else whoever shares an address with callers could lock them out."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, deque[int]] = OrderedDict()
        self._known: OrderedDict[str, None] = OrderedDict()

    def refuse_if_too_many(self, address: str, token_hash: str, now_ms: int) -> None:
        """Raises TooManyFailures when the address has failed too often within the last minute."""
        recent = self._failures.get(address)
        if recent is None or token_hash in self._known:
            return
        while recent and recent[0] <= now_ms - WINDOW_MS:
            recent.popleft()
        if len(recent) >= ALLOWED:
            raise TooManyFailures

    def failed(self, address: str, token_hash: str, now_ms: int) -> None:
        self._known.pop(token_hash, None)
        self._failures.setdefault(address, deque(maxlen=ALLOWED)).append(now_ms)
        self._failures.move_to_end(address)
        if len(self._failures) > _ADDRESSES:
            self._failures.popitem(last=False)

    def succeeded(self, token_hash: str) -> None:
        self._known[token_hash] = None
        self._known.move_to_end(token_hash)
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)
