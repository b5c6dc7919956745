"""A cluster that speaks the real protocol on a virtual clock: slices, gangs, spools and checkpoints, without processes.

Its programs are commands: `true`, `false`, `sleep N`. A sleeping rank makes a step every `STEP_MS` and commits every
tenth; checkpoints live in `storage`, outside any slice, behind the fence that real ones have. Faults are methods.
"""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.domain.incident import RankExit
from orchestrator.domain.job import RankStarted
from orchestrator.domain.topology import SliceShape
from orchestrator.protocol import (
    VERSION,
    Chunk,
    FactsPost,
    FactsReply,
    GangEnded,
    GangReady,
    HostInfo,
    IngestPost,
    IngestReply,
    Orders,
    RunOrder,
    SliceDown,
    SliceUp,
)
from tests.fakes.faults import Evidence, Scene, port_clash, stalled
from tests.fakes.gang import FakeGang, Latest, Outbox

STEP_MS = 1_000
COMMIT_EVERY = 10
LAUNCH_MS = 300


@dataclass(slots=True)
class FakeSlice:
    """One reservation of a slice: a supervisor with its outbox, and its hosts."""

    id: SliceId
    shape: SliceShape
    outbox: Outbox
    incarnation: int = 1
    up: bool = True
    """Its supervisor lives and may be given gangs."""
    whole: bool = True
    """All its hosts are there."""
    gangs: dict[AttemptId, FakeGang] = field(default_factory=dict)
    seen: dict[JobId, tuple[int, int]] = field(default_factory=dict)
    """Highest (epoch, attempt number) per job: lower orders are refused."""

    @property
    def running(self) -> FakeGang | None:
        return next((gang for gang in self.gangs.values() if not gang.ended), None)


class FakeCluster:
    """The cluster process and all that is below it."""

    def __init__(self, shapes: dict[str, str], now_ms: int, pool: str = "pool") -> None:
        self.pool = pool
        self.storage: dict[JobId, Latest] = {}
        self.starts: list[tuple[JobId, AttemptId]] = []
        """Every gang that was ever launched: an attempt must be here once at most."""
        self.truth: dict[AttemptId, tuple[Reason, int | None]] = {}
        """Of attempts that met a fault: the ending and the rank that are right."""
        self._boots = 0
        self._revision = 0
        self._rng = Random(0)
        self._own = Outbox("cluster/0")
        self._departed: list[FakeSlice] = []
        """Reservations that are over, whose supervisors still have facts to tell."""
        self.slices: dict[SliceId, FakeSlice] = {}
        for id, shape in shapes.items():
            self._join(SliceId(id), SliceShape.parse(shape), 1, now_ms)

    # ------------------------------------------------------------------------------------------------------ the link

    def obey(self, orders: Orders, now_ms: int) -> None:
        """Converge to the whole order set: start what is new, stop what is told to or absent."""
        if orders.revision < self._revision:
            return  # a late answer, overtaken by a newer one
        self._revision = orders.revision
        wanted = {run.attempt_id: run for run in orders.runs}
        for on in self.slices.values():
            for attempt_id, gang in tuple(on.gangs.items()):
                order = wanted.get(attempt_id)
                if gang.ended:
                    continue
                if order is None:
                    self._end(on, gang, now_ms, trouble="cancelled", signal=9)
                elif order.stop is not None:
                    self._end(on, gang, now_ms, trouble=order.stop.reason, signal=15)
        self._reserve_anew({slice_id for run in orders.runs for slice_id in run.slices}, now_ms)
        for run in wanted.values():
            if self._is_lost(run):
                said = "the slice was lost with its supervisor"
                self._own.tell(GangEnded("gang_ended", run.attempt_id, "slice_lost", said, (), now_ms, now_ms))
            else:
                self._start(run, now_ms)

    def facts(self) -> FactsPost:
        """All that is not acknowledged, each source in its order."""
        return FactsPost(VERSION, tuple(fact for outbox in self._outboxes() for fact in outbox.facts))

    def acknowledge(self, reply: FactsReply) -> None:
        for outbox in self._outboxes():
            outbox.acknowledge(reply)

    def restart(self) -> None:
        """The cluster process dies and comes back: what it alone knew is gone, the supervisors are not."""
        self._boots += 1
        self._revision = 0
        self._own = Outbox(f"cluster/{self._boots}")
        for known in self.slices.values():
            if not known.up:
                self._own.tell(SliceDown("slice_down", known.id, str(known.incarnation), "its host died", 0))

    # ------------------------------------------------------------------------------------------------------ the spools

    def unsent(self) -> Iterator[tuple[FakeGang, IngestPost]]:
        """What supervisors that live have to post; a lost slice takes its unsent lines with it."""
        for on in self.slices.values():
            for gang in on.gangs.values():
                if gang.sent < len(gang.spool):
                    data = base64.b64encode(gang.spool[gang.sent :]).decode()
                    yield gang, IngestPost(VERSION, (Chunk(0, "spool", gang.sent, data),))

    @staticmethod
    def stored(gang: FakeGang, reply: IngestReply) -> None:
        for offset in reply.offsets:
            gang.sent = offset.offset

    # ------------------------------------------------------------------------------------------------------ time

    def advance(self, now_ms: int) -> None:
        """Let processes do what they would have done by now."""
        for on in self.slices.values():
            gang = on.running
            if on.up and gang is not None:
                self._work(on, gang, now_ms)

    def _work(self, on: FakeSlice, gang: FakeGang, now_ms: int) -> None:
        if gang.ready_at_ms is None:
            if now_ms < gang.started_at_ms + LAUNCH_MS:
                return
            gang.ready_at_ms = gang.started_at_ms + LAUNCH_MS
            self._ready(on, gang)
        if gang.frozen_at_ms is not None:
            self._look_at_hang(on, gang, now_ms)
            return
        command = gang.order.program.command[0]
        if command == "false":
            self._end(on, gang, now_ms, code=1)
        elif command == "true":
            self._end(on, gang, now_ms, code=0)
        else:
            self._train(on, gang, now_ms)

    def _train(self, on: FakeSlice, gang: FakeGang, now_ms: int) -> None:
        assert gang.ready_at_ms is not None
        total = int(gang.seconds * 1000 / STEP_MS)
        while gang.step < total and gang.ready_at_ms + (gang.step - gang.first_step + 1) * STEP_MS <= now_ms:
            gang.step += 1
            at_ms = gang.ready_at_ms + (gang.step - gang.first_step) * STEP_MS
            gang.write(at_ms, type="progress", step=gang.step, total_steps=total)
            gang.write(at_ms, type="metrics", step=gang.step, values={"loss": 1 / gang.step})
            if gang.step % COMMIT_EVERY == 0 or gang.step == total:
                self._commit(gang, at_ms)
        if gang.step >= total:
            self._end(on, gang, now_ms, code=0)

    def _commit(self, gang: FakeGang, at_ms: int) -> None:
        latest = self.storage[gang.order.job_id]
        if latest.attempt != gang.order.number:
            return  # fenced: a newer attempt has claimed it
        latest.step = gang.step
        path = f"{gang.order.number}/{gang.step}"
        gang.write(
            at_ms,
            type="checkpoint",
            event="committed",
            step=gang.step,
            step_at_ms=at_ms,
            path=path,
            bytes=1,
            save_ms=1,
            blocked_ms=0,
        )

    # ------------------------------------------------------------------------------------------------------ faults

    def lose_host(self, slice_id: SliceId, host: int, now_ms: int) -> None:
        """A host dies with all that ran on it, and the slice with it."""
        on = self.slices[slice_id]
        if not on.up:
            return
        on.up = on.whole = False
        gang = on.running
        if gang is not None and host > 0:
            self.truth[gang.order.attempt_id] = (Reason.HOST_LOST, host)
            self._end(on, gang, now_ms, lost=host)
        elif gang is not None:
            gang.ended = True
            self.truth[gang.order.attempt_id] = (Reason.SLICE_LOST, None)
            on.outbox.facts.clear()  # the supervisor died with host 0; the next orders show that its gang is missing
        self._own.tell(SliceDown("slice_down", on.id, str(on.incarnation), f"host {host} died", now_ms))

    def replace_slice(self, slice_id: SliceId) -> None:
        """The provider brings the slice back on new hosts; it is reserved anew once no order names it."""
        self.slices[slice_id].whole = True

    def fail_rank(self, slice_id: SliceId, now_ms: int) -> None:
        """The program of a running gang exits with an error."""
        gang = self.slices[slice_id].running
        if gang is not None and gang.ready_at_ms is not None:
            self._end(self.slices[slice_id], gang, now_ms, code=1)

    def strike(
        self, slice_id: SliceId, fault: Callable[[Scene], Evidence], now_ms: int, rng: Random, *, leaves: bool = False
    ) -> bool:
        """Something goes wrong in the slice's gang and ends it; whether there was one. `leaves`: the slice goes too."""
        on = self.slices[slice_id]
        gang = on.running
        if gang is None or gang.ready_at_ms is None or not on.up:
            return False
        if gang.step == gang.first_step and rng.random() < 0.3 and fault.__name__ == "program_error":
            fault = port_clash
        self._end_with(on, gang, fault(self._scene(on, gang, now_ms, rng)), now_ms)
        if leaves:
            on.up = on.whole = False
            on.outbox.tell(SliceDown("slice_down", on.id, str(on.incarnation), "it will be taken away", now_ms))
        return True

    def freeze(self, slice_id: SliceId, now_ms: int, rng: Random) -> bool:
        """The slice's gang makes no step any more; its supervisor finds out by the limits of its order."""
        gang = self.slices[slice_id].running
        if gang is None or gang.ready_at_ms is None or gang.frozen_at_ms is not None or not gang.seconds:
            return False
        gang.frozen_at_ms, self._rng = now_ms, rng
        return True

    # ------------------------------------------------------------------------------------------------------ inside

    def _look_at_hang(self, on: FakeSlice, gang: FakeGang, now_ms: int) -> None:
        assert gang.frozen_at_ms is not None
        limit_ms = gang.order.limits.of_step(gaps=10, median_ms=STEP_MS, slowest_ms=STEP_MS)
        waited_ms = now_ms - gang.frozen_at_ms
        if limit_ms is not None and waited_ms > limit_ms:
            scene = self._scene(on, gang, now_ms, self._rng)
            self._end_with(on, gang, stalled(scene, waited_ms, limit_ms), now_ms)

    @staticmethod
    def _scene(on: FakeSlice, gang: FakeGang, now_ms: int, rng: Random) -> Scene:
        return Scene(on.id, on.shape.hosts, now_ms, gang.step or None, rng)

    def _end_with(self, on: FakeSlice, gang: FakeGang, found: Evidence, now_ms: int) -> None:
        gang.ended = True
        attempt = gang.order.attempt_id
        self.truth[attempt] = (found.reason, found.rank)
        on.outbox.tell(
            GangEnded(
                kind="gang_ended",
                attempt_id=attempt,
                trouble=found.trouble,
                message=found.message,
                exits=found.exits,
                detected_at_ms=now_ms,
                drained_at_ms=now_ms,
                overdue=found.overdue,
            )
        )

    def _outboxes(self) -> tuple[Outbox, ...]:
        return (self._own, *(gone.outbox for gone in self._departed), *(on.outbox for on in self.slices.values()))

    def _join(self, id: SliceId, shape: SliceShape, incarnation: int, now_ms: int) -> None:
        outbox = Outbox(f"{id}/{incarnation}")
        self.slices[id] = FakeSlice(id, shape, outbox, incarnation)
        hosts = tuple(HostInfo(h, f"{outbox.source}/{h}", "127.0.0.1", 4) for h in range(shape.hosts))
        outbox.tell(SliceUp("slice_up", id, str(incarnation), self.pool, str(shape), "spot", hosts, now_ms))

    def _reserve_anew(self, named: set[SliceId], now_ms: int) -> None:
        """Not while an order names the slice: an attempt that ran there could start twice."""
        for on in tuple(self.slices.values()):
            if not on.up and on.whole and on.id not in named:
                self._departed.append(on)
                self._join(on.id, on.shape, on.incarnation + 1, now_ms)

    def _is_lost(self, run: RunOrder) -> bool:
        """Whether an order names a slice that is gone, and nobody is left who would report its gang's end."""
        telling = {fact.body.attempt_id for o in self._outboxes() for fact in o.facts if fact.body.kind == "gang_ended"}
        return not self.slices[run.slices[0]].up and run.attempt_id not in telling

    def _start(self, run: RunOrder, now_ms: int) -> None:
        on = self.slices[run.slices[0]]
        fence = (run.epoch, run.number)
        if not on.up or run.attempt_id in on.gangs or fence < on.seen.get(run.job_id, (0, 0)):
            return
        if run.stop is not None:
            on.gangs[run.attempt_id] = never_began = FakeGang(run, now_ms)
            self._end(on, never_began, now_ms, trouble=run.stop.reason, signal=15)
            return
        if on.running is not None:
            return  # the drain gate: the one before it ends first
        on.seen[run.job_id] = fence
        on.gangs[run.attempt_id] = FakeGang(run, now_ms)
        self.starts.append((run.job_id, run.attempt_id))

    def _ready(self, on: FakeSlice, gang: FakeGang) -> None:
        assert gang.ready_at_ms is not None
        latest = self.storage.setdefault(gang.order.job_id, Latest())
        assert latest.attempt < gang.order.number, "an older attempt started after a newer one"
        latest.attempt = gang.order.number
        gang.first_step = gang.step = latest.step
        at_ms = gang.ready_at_ms
        gang.write(at_ms, type="phase", phase="init")
        gang.write(at_ms, type="checkpoint", event="restored" if latest.step else "fresh", step=latest.step, path="")
        gang.write(at_ms, type="phase", phase="train")
        hosts = range(on.shape.hosts)
        ranks = tuple(RankStarted(h, on.id, h, 1000 + h, at_ms) for h in hosts)
        on.outbox.tell(GangReady("gang_ready", gang.order.attempt_id, ranks, at_ms))

    def _end(
        self,
        on: FakeSlice,
        gang: FakeGang,
        now_ms: int,
        trouble: str | None = None,
        code: int | None = None,
        signal: int | None = None,
        lost: int | None = None,
    ) -> None:
        """The gang is over: by itself (`code` of rank 0), by an order (`signal`), or with a lost host."""
        gang.ended = True
        exits = []
        for host in range(on.shape.hosts):
            ordered = signal is not None or lost is not None or (bool(code) and host > 0)
            is_lost = host == lost
            dead = None if is_lost or not ordered else (signal or 9)
            exits.append(
                RankExit(
                    rank=host,
                    slice_id=on.id,
                    host=host,
                    exit_code=None if is_lost or ordered else code,
                    signal=dead,
                    lost=is_lost,
                    ordered=ordered and not is_lost,
                    exited_at_ms=None if is_lost else now_ms,
                    last_step=gang.step or None,
                    stderr_tail=(),
                    claim=None,
                )
            )
        attempt = gang.order.attempt_id
        on.outbox.tell(GangEnded("gang_ended", attempt, trouble, "", tuple(exits), now_ms, now_ms))
