"""Ctrl-C and SIGTERM as a flag that is looked at between steps, so that no step is torn in two."""

import signal
import time
from types import FrameType
from typing import Final

_SLICE_S: Final = 0.1


class Interrupted(Exception):
    """Ctrl-C or SIGTERM: end everything and leave."""


class Interrupt:
    """Once installed, the first signal sets the flag; further ones change nothing, the way out is already taken."""

    def __init__(self) -> None:
        # A plain flag: setting a threading.Event in a handler can deadlock with a wait on it in the same thread.
        self._seen = False

    def install(self) -> None:
        """Take over both signals. Only the main thread may do this."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def check(self) -> None:
        """Raise `Interrupted` if a signal came."""
        if self._seen:
            raise Interrupted

    def pause(self, seconds: float) -> None:
        """Sleep, and raise `Interrupted` soon after a signal came."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, _SLICE_S))
        self.check()

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._seen = True
