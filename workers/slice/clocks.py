"""By how much a host's wall clock differs from ours, as far as that is certain. Pure.

An answer that was asked for at `sent` and was there at `received`, by our clock, and says `theirs`, holds the offset
between `theirs - received` and `theirs - sent`; several answers narrow that down (Marzullo's intersection).
"""

from dataclasses import dataclass

_WIDEST = 2**62


@dataclass(slots=True)
class ClockOffset:
    """One host's clock."""

    least_ms: int = -_WIDEST
    most_ms: int = _WIDEST

    def take(self, sent_ms: int, received_ms: int, theirs_ms: int) -> None:
        """Take in one answer."""
        least, most = theirs_ms - received_ms, theirs_ms - sent_ms
        if least > self.most_ms or most < self.least_ms:  # the clock was set meanwhile
            self.least_ms, self.most_ms = least, most
        else:
            self.least_ms, self.most_ms = max(self.least_ms, least), min(self.most_ms, most)

    @property
    def ahead_ms(self) -> int:
        """Theirs minus ours; 0 as long as the clocks may agree."""
        if self.least_ms <= 0 <= self.most_ms:
            return 0
        return (self.least_ms + self.most_ms) // 2
