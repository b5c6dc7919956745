"""A gang on a stage: hosts and streams that a test plays; no Ray, no threads, no real time."""

from dataclasses import dataclass, field

from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.domain.incident import Claim, RankExit
from orchestrator.domain.patience import NO_LIMITS, Limits
from orchestrator.protocol import (
    CheckpointOrder,
    FactBody,
    GangEnded,
    HostInfo,
    ProgramOrder,
    RunOrder,
)
from workers.host.messages import HostStatus, Launched, RankOrder, Stream
from workers.slice.gang import Gang, GangPhase

ATTEMPT = AttemptId("attempt-1")
SLICE = SliceId("s")


@dataclass
class PlayedHost:
    """A host whose agent does what the test says. Every signal that it was sent is kept."""

    info: HostInfo
    slice_id: SliceId = SLICE
    lost: str | None = None
    status: HostStatus | None = None
    last_sign_ms: int = 500
    clock_ahead_ms: int = 0
    outcome: Launched | str | None = None
    signals: list[str] = field(default_factory=list)
    order: RankOrder | None = None

    def launch(self, order: RankOrder) -> None:
        self.order = order

    def launched(self) -> Launched | str | None:
        return self.outcome

    def terminate(self, attempt_id: str, grace_ms: int) -> None:
        self.signals.append("TERM")

    def end(self, attempt_id: str) -> None:
        self.signals.append("KILL")

    def inspect(self, attempt_id: str) -> None:
        self.signals.append("INSPECT")

    def runs(self) -> None:
        self.outcome = Launched(1000 + self.info.host, 0)
        self.status = HostStatus(ATTEMPT, None, False, {"stdout": 5})

    def exits(
        self,
        code: int | None = None,
        signal: int | None = None,
        *,
        ordered: bool = False,
        at: int = 0,
        step: int | None = None,
        stderr: tuple[str, ...] = (),
        claim: Claim | None = None,
    ) -> None:
        found = RankExit(self.info.host, "s", self.info.host, code, signal, False, ordered, at, step, stderr, claim)
        self.status = HostStatus(ATTEMPT, found, True, {"stdout": 9})


@dataclass
class PlayedStreams:
    sizes: dict[int, dict[Stream, int]] | None = None
    done: bool = True
    unwanted: bool = False
    quiet: int = 0

    def finish(self, sizes: dict[int, dict[Stream, int]]) -> None:
        self.sizes = sizes

    def finished(self) -> bool:
        return self.done and self.sizes is not None

    def refused(self) -> bool:
        return self.unwanted

    def quiet_ms(self) -> int:
        return self.quiet


@dataclass
class PlayedCode:
    there: bool = False
    trouble: str | None = None
    unwanted: bool = False

    def ready(self) -> bool:
        return self.there

    def give_up(self) -> None:
        self.unwanted = True


class Play:
    """A gang of two ranks with its stage; `step` lets time pass first."""

    def __init__(self, code: PlayedCode | None = None, limits: Limits = NO_LIMITS) -> None:
        self.hosts = [PlayedHost(HostInfo(host, f"node-{host}", "127.0.0.1", 4)) for host in range(2)]
        self.streams = PlayedStreams()
        self.facts: list[FactBody] = []
        self.ms = 0
        self.gang = Gang(
            an_order(limits),
            self.hosts,
            self.streams,
            self.facts.append,
            now_ms=lambda: self.ms,
            ticks_ms=lambda: self.ms,
            code=code,
        )
        self.gang.launch("127.0.0.1:23000")

    def step(self, after_ms: int = 300) -> None:
        self.ms += after_ms
        self.gang.step()

    def running(self) -> "Play":
        for host in self.hosts:
            host.runs()
        self.step()
        assert self.gang.phase is GangPhase.RUNNING
        return self

    @property
    def end(self) -> GangEnded:
        found = self.facts[-1]
        assert isinstance(found, GangEnded)
        return found

    @property
    def ended(self) -> bool:
        return self.gang.phase is GangPhase.ENDED


def an_order(limits: Limits = NO_LIMITS) -> RunOrder:
    program = ProgramOrder(None, None, ("true",))
    checkpoint = CheckpointOrder("/ckpt", None)
    return RunOrder(1, JobId("j"), ATTEMPT, 1, (SliceId("s"),), program, {}, checkpoint, "token", limits=limits)
