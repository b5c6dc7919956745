"""What a supervisor and its agents say to each other. Both run the same build, so these are plain values."""

from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.incident import RankExit
from orchestrator.protocol import ProgramOrder

Stream = Literal["spool", "stdout", "stderr"]

STREAMS: tuple[Stream, ...] = ("spool", "stdout", "stderr")


@dataclass(frozen=True, slots=True)
class HostOrder:
    """What an agent is told once: which host it is, and where its files go."""

    slice_id: str
    host: int
    chips: int
    emulated: bool
    work_dir: str


@dataclass(frozen=True, slots=True)
class RankOrder:
    """One rank of one attempt, for the agent of its host."""

    job_id: str
    attempt_id: str
    number: int
    rank: int
    rank_count: int
    coordinator: str
    program: ProgramOrder
    env_vars: dict[str, str]
    checkpoint_root: str
    checkpoint_every_steps: int | None
    committed_step: int | None = None
    checkpoint_origin: str | None = None
    save_deadline_ms: int | None = None
    slice_index: int = 0
    """Of the attempt's slices, in the order of their ranks."""
    slice_count: int = 1


@dataclass(frozen=True, slots=True)
class Launched:
    """The rank has a process."""

    pid: int
    started_at_ms: int


@dataclass(frozen=True, slots=True)
class Pulse:
    """How a rank gets on, by its spool and its sockets. Ages are by the agent's own steady clock, as of the answer."""

    age_ms: int
    """Since its launch."""
    joined: bool
    """Whether it is past the barrier, or at it: it said so, or has a connection with the coordinator."""
    phase: str | None = None
    phase_ms: int = 0
    """Since it entered the phase."""
    step: int | None = None
    total_steps: int | None = None
    step_ms: int = 0
    """Since it last reported a step, or entered the phase `train`."""
    gaps: int = 0
    """How many gaps between two reports of steps are known, up to a few dozen."""
    median_ms: int = 0
    slowest_ms: int = 0


@dataclass(frozen=True, slots=True)
class HostStatus:
    """What an agent answers to a poll about one attempt.

    `exit` is set once the rank's process ended, `drained` once nothing that it started runs any more; `sizes` are final
    from then on. An attempt that the agent never launched is drained and has no exit.
    """

    attempt_id: str | None
    exit: RankExit | None
    drained: bool
    sizes: dict[Stream, int]
    pulse: Pulse | None = None
    """Of a rank that runs."""
    inspected: bool = False
    """Whether the stacks that were asked for are there."""
    notice: str | None = None
    """Who told this host that it will be taken away, in words."""
    now_ms: int | None = None
    """The host's wall clock when it answered."""
