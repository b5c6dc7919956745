"""The loop around `tick`, and the lease that says whose loop it is. A tick that goes wrong never ends the server."""

import asyncio
from dataclasses import dataclass
from typing import Final

import structlog

from orchestrator.clock import Clock
from orchestrator.domain.errors import Unavailable
from orchestrator.domain.ids import NewId
from orchestrator.reconciler.tick import Decide, TickReport, tick
from orchestrator.store import lease
from orchestrator.store.database import Database
from orchestrator.store.lease import Lease, LeaseLost
from orchestrator.store.queries.revision import revision

BEAT_MS: Final = 1_000
POLL_MS: Final = 500
"""How soon a write of another process is noticed; those of our own ring."""
_LONGEST_BACK_OFF_MS: Final = 30_000
_REST: Final = 3
"""After a tick the loop rests for so many times as long as it took: it shares a core with whoever asks and reports."""
_LONGEST_REST_MS: Final = 1_000

log = structlog.get_logger()


class Leadership:
    """Keeps or takes the lease. A leader is dead when its row stands still for too long on *our* monotonic clock."""

    def __init__(self, database: Database, clock: Clock, holder: str, lapse_ms: int) -> None:
        self._database = database
        self._clock = clock
        self._holder = holder
        self._lapse_ms = lapse_ms
        self._seen: Lease | None = None
        self._seen_since_ms = 0
        self.held: Lease | None = None

    async def beat(self) -> None:
        """Renew our lease, or take one that is free or has lapsed."""
        held = self.held  # a tick may find it lost while we wait for our turn to write
        if held is not None:
            async with self._database.write() as tx:
                renewed = await lease.renew(tx, held)
            if renewed is None:
                self.lose()
            else:
                self.held = renewed
            return
        # Without the write lock: a leader that was paused while it held it must not hide that it stands still.
        async with self._database.read() as tx:
            row = await lease.read(tx)
        if row is None or row.free or self._lapsed(row):
            async with self._database.write() as tx:
                taken = await lease.take(tx, self._holder, row)
            if taken is not None:
                self.held = taken
                log.info("this server leads", holder=taken.holder, epoch=taken.epoch)

    def lose(self) -> None:
        """Take note that another process leads."""
        if self.held is not None:
            log.warning("another server leads", epoch_lost=self.held.epoch)
        self.held = None

    async def leave(self) -> None:
        """Give the lease back, so that a successor need not wait for it to lapse."""
        if self.held is not None:
            async with self._database.write() as tx:
                await lease.release(tx, self.held)
            self.held = None

    def _lapsed(self, row: Lease) -> bool:
        now = self._clock.monotonic_ms()
        if row != self._seen:
            self._seen, self._seen_since_ms = row, now
        return now - self._seen_since_ms >= self._lapse_ms


@dataclass(slots=True)
class _Agenda:
    """When to tick next: at once after a failure's back-off, when the revision moved, or when time makes it due."""

    revision: int | None = None
    due_monotonic_ms: int | None = None
    failures: int = 0

    def after(self, report: TickReport, now_ms: int, monotonic_ms: int) -> None:
        self.failures = 0
        self.revision = report.revision
        # On the monotonic clock: a jump of the wall clock must neither lose nor advance it.
        self.due_monotonic_ms = None if report.due_at_ms is None else monotonic_ms + max(0, report.due_at_ms - now_ms)

    @property
    def back_off_ms(self) -> int:
        return min(_LONGEST_BACK_OFF_MS, 100 * 2**self.failures) if self.failures else 0


class Loop:
    """Ticks while we lead and there is something to decide; otherwise it only looks at one number."""

    def __init__(self, database: Database, clock: Clock, decide: Decide, new_id: NewId, leading: Leadership) -> None:
        self._database = database
        self._clock = clock
        self._decide = decide
        self._new_id = new_id
        self._leading = leading
        self._agenda = _Agenda()

    async def run(self, stopping: asyncio.Event) -> None:
        """Until `stopping` is set and the bell rung. Not by cancelling: a tick that began is finished."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_lease(stopping))
            tasks.create_task(self._keep_ticking(stopping))

    async def step(self) -> TickReport | None:
        """Tick if we lead and something or the time asks for it."""
        held = self._leading.held
        if held is None:
            self._agenda = _Agenda()
            return None
        async with self._database.read() as tx:
            seen = await revision(tx)
        due = self._agenda.due_monotonic_ms
        if seen == self._agenda.revision and (due is None or self._clock.monotonic_ms() < due):
            return None
        now_ms = self._clock.now_ms()
        report = await tick(self._database, self._decide, held, self._new_id, now_ms)
        self._agenda.after(report, now_ms, self._clock.monotonic_ms())
        return report

    async def _keep_lease(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            try:
                await self._leading.beat()
            except Unavailable as error:
                log.warning("the lease could not be renewed", why=error.why)
            await self._clock.wait(stopping, BEAT_MS)

    async def _keep_ticking(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            ring, began = self._database.commits.next_ring(), self._clock.monotonic_ms()
            await self._step_or_log()
            if self._agenda.failures:
                await self._clock.wait(stopping, self._agenda.back_off_ms)
                continue
            rest_ms = min(_LONGEST_REST_MS, _REST * (self._clock.monotonic_ms() - began))
            if rest_ms:
                await self._clock.wait(stopping, rest_ms)
            await self._clock.wait(ring, self._span_ms())

    async def _step_or_log(self) -> None:
        try:
            report = await self.step()
        except LeaseLost:
            self._leading.lose()
        except Unavailable as error:
            self._agenda.failures += 1
            log.warning("a tick found no database", why=error.why, again_in_ms=self._agenda.back_off_ms)
        except Exception:  # a defect in one decision must not take the server and every other job's API with it
            self._agenda.failures += 1
            log.exception("a tick failed", failures=self._agenda.failures, again_in_ms=self._agenda.back_off_ms)
        else:
            if report is not None and report.dropped:
                log.info("changes were dropped", jobs=report.dropped)
            for defect in report.defects if report is not None else ():
                log.error("a job could not be decided; it stays as it is", why=defect)

    def _span_ms(self) -> int:
        due = self._agenda.due_monotonic_ms
        return POLL_MS if due is None else min(POLL_MS, max(1, due - self._clock.monotonic_ms()))
