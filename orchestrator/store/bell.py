"""A bell that rings after every commit, so that whoever waits for a change in this process need not poll for it."""

import asyncio


class Bell:
    """Take `next_ring()` *before* reading what you wait for: a change after the reading then cannot be missed."""

    def __init__(self) -> None:
        self._ring = asyncio.Event()

    def next_ring(self) -> asyncio.Event:
        return self._ring

    def ring(self) -> None:
        ringing, self._ring = self._ring, asyncio.Event()
        ringing.set()
