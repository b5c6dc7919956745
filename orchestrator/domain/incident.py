"""Evidence of how a gang ended, as it was seen on the hosts. `orchestrator.incidents` makes a verdict of it."""

import signal
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.endings import Reason


@dataclass(frozen=True, slots=True)
class Claim:
    """What a built-in program said about its own end, in its spool, just before it exited."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Overdue:
    """What made no progress for longer than its limit, as the supervisor saw it before it ended the gang."""

    phase: str
    """`join` for the barrier at which all ranks meet, `train` for steps, else the phase's own name."""
    ranks: tuple[int, ...]
    """Those that are overdue; at the barrier those that are missing."""
    waited_ms: int
    limit_ms: int
    step: int | None = None
    """The last one that was reported."""


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
    phase: str | None = None
    """The last phase that it reported."""
    stack: tuple[str, ...] = ()
    """Its Python stacks, taken before it was ended for making no progress."""
    stopped: bool = False
    """At that moment the kernel held it stopped (SIGSTOP), or its host could not look into it for that reason."""
    memory: str | None = None
    """Evidence that its host ran out of memory, in words."""
    disk: str | None = None
    """Evidence that its host's disk was full, in words."""
    clock_ahead_ms: int = 0
    """By how much its host's clock is ahead of the supervisor's, as far as that is certain; negative: behind."""

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
    def at_ms(self) -> int | None:
        """When it ended by the supervisor's clock, so that ends on several hosts can be put in order."""
        return None if self.exited_at_ms is None else self.exited_at_ms - self.clock_ahead_ms

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


class Advice(StrEnum):
    """What to do about an ending."""

    NOTHING = "nothing"
    RETRY = "retry"
    """It may go well the next time, as it is."""
    CHANGE = "change"
    """It will go the same way until somebody changes something."""
    AVOID_HOST = "avoid_host"
    """It may go well on another host."""


@dataclass(frozen=True, slots=True)
class Collateral:
    """A rank that ended with the gang and is not to blame."""

    rank: int
    slice_id: str
    host: int
    says: str
    """How it ended and why it does not count: `exited with code 1, as it had lost rank 2`."""


@dataclass(frozen=True, slots=True)
class StackGroup:
    """Ranks that stood at the same place when the gang was ended for making no progress."""

    ranks: tuple[int, ...]
    lines: tuple[str, ...]
    """The stacks of the first of them, as py-spy prints them."""
    odd: bool
    """Whether it differs from what most ranks did."""


@dataclass(frozen=True, slots=True)
class Card:
    """The first failure of an attempt on one card: what a person wants to see at once."""

    exit: str | None
    """Exit code or signal in words, of the rank to blame."""
    step: int | None
    phase: str | None
    began_at_ms: int | None
    """The first known of the trouble, by the supervisor's clock: the exit, the last sign of life or of progress."""
    detected_at_ms: int
    advice: Advice
    advises: str
    collateral: tuple[Collateral, ...] = ()
    stacks: tuple[StackGroup, ...] = ()
    notes: tuple[str, ...] = ()
    """What else was odd, such as a host whose clock is wrong."""

    @property
    def detect_ms(self) -> int | None:
        """How long the trouble lasted before it was known."""
        return None if self.began_at_ms is None else max(0, self.detected_at_ms - self.began_at_ms)


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
    card: Card | None = None
    """None of an ending that is no trouble, or that an older version recorded."""


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
