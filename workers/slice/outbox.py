"""One source's facts: numbered from 1, kept until they are acknowledged. Used from several threads."""

import threading

from orchestrator.protocol import Fact, FactBody


class Outbox:
    """The facts of one source that nobody has acknowledged yet, oldest first."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lock = threading.Lock()
        self._sequence = 0
        self._facts: list[Fact] = []

    def add(self, body: FactBody) -> None:
        """Number the fact and keep it."""
        with self._lock:
            self._sequence += 1
            self._facts.append(Fact(self.source, self._sequence, body))

    def acknowledge(self, sequence: int) -> None:
        """Forget everything up to and with `sequence`."""
        with self._lock:
            self._facts = [fact for fact in self._facts if fact.sequence > sequence]

    def pending(self) -> tuple[Fact, ...]:
        """What has to be sent, again if need be."""
        with self._lock:
            return tuple(self._facts)
