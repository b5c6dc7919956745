"""The simulated cluster: gangs start, work, save, end and are lost, and it tells facts as a real one does."""

import heapq
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.domain.incident import RankExit
from orchestrator.domain.job import Attempt, Progress, Slice
from orchestrator.protocol import FactBody, GangEnded, GangReady, SliceDown, SliceUp
from orchestrator.simulator.faults import FaultModel, Loss
from orchestrator.simulator.gang import Costs, SimGang

_FAILED: Final = Reason.PROGRAM_ERROR.value


@dataclass(slots=True)
class Work:
    """What a job has to do, and what of it is committed."""

    total_ms: int
    slices: int
    """On which `total_ms` is measured."""
    done_ms: int = 0


@dataclass(slots=True)
class SimCluster:
    """All slices and what runs on them."""

    work: dict[JobId, Work]
    costs: Costs
    faults: FaultModel
    slices: Mapping[SliceId, Slice]
    lost_chip_ms: int = 0
    gangs: dict[AttemptId, SimGang] = field(default_factory=dict)
    _left: dict[AttemptId, Progress] = field(default_factory=dict)
    """What the gangs that ended at this moment had reported: their ends are judged by it."""
    _on: dict[SliceId, AttemptId] = field(default_factory=dict)
    _ends: list[tuple[int, int, AttemptId, str | None]] = field(default_factory=list)
    """(when, tie, attempt, why it does not run to its end); entries of gangs that ended otherwise are skipped."""
    _told: dict[AttemptId, int] = field(default_factory=dict)
    """When each gang that is stopping was told to."""
    _ready: list[tuple[int, int, FactBody]] = field(default_factory=list)
    _faults: list[tuple[int, int, Loss, Iterator[Loss]]] = field(default_factory=list)
    _returns: list[tuple[int, int, SliceId]] = field(default_factory=list)
    _incarnations: dict[SliceId, int] = field(default_factory=dict)
    _tie: Iterator[int] = field(default_factory=count)

    def expect(self, losses: Iterator[Loss]) -> None:
        """Faults of one slice, in order."""
        if (loss := next(losses, None)) is not None:
            heapq.heappush(self._faults, (loss.at_ms, next(self._tie), loss, losses))

    def next_ms(self) -> int | None:
        """When something happens next."""
        while self._ends and self._ends[0][2] not in self.gangs:
            heapq.heappop(self._ends)
        heads = (
            self._ends[0][0] if self._ends else None,
            self._returns[0][0] if self._returns else None,
            self._faults[0][0] if self._faults else None,
        )
        return min((at for at in heads if at is not None), default=None)

    def start(self, attempt: Attempt) -> None:
        work = self.work[attempt.job_id]
        speed = len(attempt.slices) / work.slices
        gang = SimGang(attempt, work.done_ms, work.total_ms, speed, self.costs)
        self.gangs[attempt.id] = gang
        self._on |= dict.fromkeys(attempt.slices, attempt.id)
        heapq.heappush(self._ends, (gang.ends_at_ms, next(self._tie), attempt.id, None))
        if (part := self.faults.fails_after(attempt)) is not None:
            at_ms = gang.ready_at_ms + int(part * (gang.ends_at_ms - gang.ready_at_ms))
            heapq.heappush(self._ends, (at_ms, next(self._tie), attempt.id, _FAILED))
        ready = GangReady("gang_ready", attempt.id, (), gang.ready_at_ms)
        heapq.heappush(self._ready, (gang.ready_at_ms, next(self._tie), ready))

    def stop(self, attempt: Attempt, now_ms: int) -> None:
        """Told to end: it saves and goes."""
        if attempt.stop is not None and attempt.id in self.gangs and attempt.id not in self._told:
            self._told[attempt.id] = now_ms
            at_ms = now_ms + min(self.costs.save_ms, attempt.stop.grace_ms)
            heapq.heappush(self._ends, (at_ms, next(self._tie), attempt.id, attempt.stop.reason.value))

    def facts(self, now_ms: int) -> Iterator[FactBody]:
        """All that was seen until now, in order."""
        self._left.clear()
        while self._ready and self._ready[0][0] <= now_ms:
            _, _, ready = heapq.heappop(self._ready)
            if isinstance(ready, GangReady) and ready.attempt_id in self.gangs:
                yield ready
        while self._returns and self._returns[0][0] <= now_ms:
            _, _, slice_id = heapq.heappop(self._returns)
            yield self._come_back(slice_id, now_ms)
        while self._ends and self._ends[0][0] <= now_ms:
            _, _, attempt_id, why = heapq.heappop(self._ends)
            if (gang := self.gangs.get(attempt_id)) is not None:
                yield self._fail(gang, now_ms) if why == _FAILED else self._end(gang, now_ms, why)
        while self._faults and self._faults[0][0] <= now_ms:
            _, _, loss, more = heapq.heappop(self._faults)
            yield from self._lose(loss, now_ms)
            self.expect(more)

    def progress(self, attempt_id: AttemptId, now_ms: int) -> Progress | None:
        gang = self.gangs.get(attempt_id)
        return self._left.get(attempt_id) if gang is None else gang.progress(now_ms)

    # ------------------------------------------------------------------------------------------------------ inside

    def _end(self, gang: SimGang, now_ms: int, told: str | None) -> FactBody:
        """A gang is over because all is done, or because it was told to and has saved."""
        told_at_ms = self._told.get(gang.attempt.id, now_ms)
        done = gang.total_ms if told is None else gang.worked_ms(told_at_ms)
        self._leave(gang, now_ms, done, finished=told is None)
        stopped = signal.SIGTERM if told is not None and done < gang.total_ms else None
        exit = _exit(gang, None if stopped else 0, stopped, lost=None)
        return GangEnded("gang_ended", gang.attempt.id, told if stopped else None, "", (exit,), now_ms, now_ms)

    def _fail(self, gang: SimGang, now_ms: int) -> FactBody:
        self._leave(gang, now_ms, gang.committed_ms(now_ms), finished=False)
        exit = _exit(gang, 1, None, lost=None)
        return GangEnded("gang_ended", gang.attempt.id, None, "", (exit,), now_ms, now_ms)

    def _lose(self, loss: Loss, now_ms: int) -> Iterator[FactBody]:
        id = loss.slice_id
        incarnation = str(self._incarnations.setdefault(id, 1))
        if (attempt_id := self._on.get(id)) is not None:
            gang = self.gangs[attempt_id]
            self._leave(gang, now_ms, gang.committed_ms(now_ms), finished=False)
            host = 0 if loss.spot or self.slices[id].shape.hosts == 1 else 1
            exit = _exit(gang, None, None, lost=(id, host))
            yield GangEnded("gang_ended", attempt_id, None, "", (exit,), now_ms, now_ms)
        why = "the provider took it" if loss.spot else "a host died"
        yield SliceDown("slice_down", id, incarnation, why, now_ms)
        heapq.heappush(self._returns, (loss.back_at_ms, next(self._tie), id))

    def _come_back(self, id: SliceId, now_ms: int) -> FactBody:
        self._incarnations[id] = self._incarnations.get(id, 1) + 1
        known = self.slices[id]
        name = str(self._incarnations[id])
        return SliceUp("slice_up", id, name, known.pool, str(known.shape), known.capacity, (), now_ms)

    def _leave(self, gang: SimGang, now_ms: int, done_ms: int, finished: bool) -> None:
        attempt = gang.attempt
        del self.gangs[attempt.id]
        self._left[attempt.id] = gang.progress(now_ms, done_ms)
        self._told.pop(attempt.id, None)
        for slice_id in attempt.slices:
            del self._on[slice_id]
        self.work[attempt.job_id].done_ms = done_ms
        if not finished:
            again = (gang.worked_ms(now_ms) - done_ms) / gang.speed
            start = min(self.costs.start_ms, now_ms - attempt.ordered_at_ms)
            self.lost_chip_ms += attempt.chips * round(again + start)


def _exit(gang: SimGang, code: int | None, stopped: int | None, lost: tuple[SliceId, int] | None) -> RankExit:
    """How the rank that says it for all of them ended."""
    slice_id, host = lost or (gang.attempt.slices[0], 0)
    return RankExit(
        rank=0,
        slice_id=slice_id,
        host=host,
        exit_code=code,
        signal=stopped,
        lost=lost is not None,
        ordered=stopped is not None,
        exited_at_ms=None,
        last_step=None,
        stderr_tail=(),
        claim=None,
    )
