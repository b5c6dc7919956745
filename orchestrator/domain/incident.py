"""Evidence of how a gang ended, as it was seen on the hosts. `orchestrator.incidents` makes a verdict of it."""

import signal
from dataclasses import dataclass

from orchestrator.domain.endings import Reason


@dataclass(frozen=True, slots=True)
class Claim:
    """What a built-in program said about its own end, in its spool, just before it exited."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class RankExit:
    """How one rank ended, or that its host was lost and nobody saw.

    Exactly one of `exit_code`, `signal` and `lost` is set. `ordered` marks the ranks that we ended ourselves after the
    first failure or on an order: they are collateral whatever their code.
    """

    rank: int
    slice_id: str
    host: int
    exit_code: int | None
    signal: int | None
    lost: bool
    ordered: bool
    exited_at_ms: int | None
    """Wall clock of the rank's own host."""
    last_step: int | None
    stderr_tail: tuple[str, ...]
    """At most 50 lines, newest last; bytes that are not UTF-8 come as replacement characters."""
    claim: Claim | None

    @classmethod
    def lost_with_host(cls, rank: int, slice_id: str, host: int) -> "RankExit":
        """Nobody saw how the rank ended."""
        return cls(
            rank=rank,
            slice_id=slice_id,
            host=host,
            exit_code=None,
            signal=None,
            lost=True,
            ordered=False,
            exited_at_ms=None,
            last_step=None,
            stderr_tail=(),
            claim=None,
        )

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def says(self) -> str:
        """The exit in words: `exited with code 1`, `was killed by SIGSEGV (segmentation fault)`."""
        if self.lost:
            return "was lost with its host"
        if self.signal is not None:
            return f"was killed by {signal_in_words(self.signal)}"
        return f"exited with code {self.exit_code}"


@dataclass(frozen=True, slots=True)
class Cause:
    """The verdict on an ended attempt: the reason, the rank to blame if there is one, in one sentence."""

    reason: Reason
    sentence: str
    rank: int | None = None
    slice_id: str | None = None
    host: int | None = None
    evidence: tuple[str, ...] = ()
    """The lines that the verdict rests on, as the host saw them."""


_WORDS = {
    signal.SIGSEGV: "segmentation fault",
    signal.SIGABRT: "abort",
    signal.SIGKILL: "killed",
    signal.SIGBUS: "bus error",
    signal.SIGFPE: "arithmetic error",
    signal.SIGILL: "illegal instruction",
    signal.SIGTERM: "terminated",
}


def signal_in_words(number: int) -> str:
    """`11 -> SIGSEGV (segmentation fault)`; a number without a name stays a number."""
    try:
        known = signal.Signals(number)
    except ValueError:
        return f"signal {number}"
    return f"{known.name} ({_WORDS[known]})" if known in _WORDS else known.name
