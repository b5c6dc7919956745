"""Why jobs wait, when they will start, what would help, and what is wished of pools: found out beside the tick.

A round works in a thread, on the world as it was read, and stops when its budget is spent: a long queue gets its first
estimates and ways out in the first round and the others in those that follow.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from orchestrator.chores.wishes import by_pool, with_pending
from orchestrator.clock import Clock
from orchestrator.domain.ids import JobId
from orchestrator.domain.outlook import Outlook, StartEstimate, Way
from orchestrator.domain.sharing import PoolLimits, PoolWish
from orchestrator.reconciler.desk import Desk
from orchestrator.reconciler.placing import snapshot_of
from orchestrator.scheduler.outlook import Survey
from orchestrator.scheduler.policy import DEFAULT, Policy
from orchestrator.scheduler.snapshot import Snapshot
from orchestrator.store.commands.outlooks import keep
from orchestrator.store.commands.pools import keep_wishes
from orchestrator.store.database import Database
from orchestrator.store.queries import pools
from orchestrator.store.queries.revision import revision
from orchestrator.store.queries.world import world as read_world

BUDGET_MS: Final = 500
"""Of computing, for estimates and again for ways out."""
AGED_MS: Final = 60_000
"""What is as old as this is found out anew although nothing has happened: time alone moves estimates."""
RESTS_TIMES: Final = 9
"""After a round it rests for so many times as long as that took: a long queue costs a tenth of a core at most."""
_SAME_MS: Final = 5_000
_SAME_SHARE: Final = 0.05
"""An estimate that moved by less than this, and by less than this share of the wait, is not written anew."""


class Forecaster:
    """Surveys the queue while its process leads."""

    def __init__(self, database: Database, clock: Clock, policy: Policy = DEFAULT, budget_ms: int = BUDGET_MS) -> None:
        self._database = database
        self._clock = clock
        self._policy = policy
        self._budget_ms = budget_ms
        self._kept: dict[JobId, Outlook] = {}
        """As they were written last."""
        self._ways: dict[JobId, tuple[int, tuple[Way, ...]]] = {}
        """The newest ways out, and when they were tried."""
        self._revision: int | None = None
        self._surveyed_at_ms = 0
        self._rests_until_ms = 0
        self._cancelled = False

    async def run_once(self) -> int:
        """Survey the queue if anything has happened since, or the last survey has aged; how many outlooks changed."""
        began_ms = self._clock.monotonic_ms()
        if began_ms < self._rests_until_ms:
            return 0
        async with self._database.read() as tx:
            seen, now_ms = await revision(tx), self._clock.now_ms()
            complete = self._kept.keys() <= self._ways.keys()
            if seen == self._revision and complete and now_ms - self._surveyed_at_ms < AGED_MS:
                return 0
            world, limits = await read_world(tx, now_ms, epoch=0), await pools.limits(tx)
        try:
            seen_now = snapshot_of(Desk(world), self._policy)
            asked = replace(seen_now, pools=with_pending(limits, world.slices, seen_now.slices))
            survey, found = await asyncio.to_thread(self._survey, asked)
        except asyncio.CancelledError:
            self._cancelled = True  # the thread ends soon: nobody waits for a long survey when the server stops
            raise
        news = [outlook for outlook in found if _is_news(outlook, self._kept.get(outlook.job_id))]
        here = {outlook.job_id for outlook in found}
        if news or here != self._kept.keys():
            async with self._database.write_beside() as tx:
                await keep(tx, news)
        await self._keep_wishes(survey, limits)
        self._kept |= {outlook.job_id: outlook for outlook in news}
        self._kept = {id: outlook for id, outlook in self._kept.items() if id in here}
        self._revision, self._surveyed_at_ms = seen, now_ms
        ended_ms = self._clock.monotonic_ms()
        self._rests_until_ms = ended_ms + RESTS_TIMES * (ended_ms - began_ms)
        return len(news)

    async def _keep_wishes(self, survey: Survey, known: Mapping[PoolLimits, PoolWish]) -> None:
        """Write what is wished of pools where that has changed."""
        snapshot = survey.snapshot
        pool_of = {offered.id: (offered.cluster_id, offered.pool) for offered in snapshot.slices}
        wished = by_pool(survey.wishes, snapshot.pools, pool_of, snapshot.now_ms)
        before = {(one.cluster_id, str(one.pool)): wish for one, wish in known.items()}
        news = {key: wish for key, wish in wished.items() if _differs(wish, before[key])}
        if news:
            async with self._database.write_beside() as tx:
                await keep_wishes(tx, news)

    def _survey(self, snapshot: Snapshot) -> tuple[Survey, list[Outlook]]:
        """Outlooks of all that wait. Ways out are tried for those first whose turn was longest ago."""
        survey = Survey(snapshot)
        until_ms = self._clock.monotonic_ms() + self._budget_ms
        for _ in survey.look_ahead():
            if self._spent(until_ms):
                break
        until_ms = self._clock.monotonic_ms() + self._budget_ms
        here = set(survey.waiting)
        ways = {id: tried for id, tried in self._ways.items() if id in here}
        for job_id in sorted(survey.waiting, key=lambda id: ways[id][0] if id in ways else 0):
            ways[job_id] = survey.snapshot.now_ms, survey.ways_out(job_id)
            if self._spent(until_ms):
                break
        self._ways = ways
        return survey, list(survey.outlooks(ways))

    def _spent(self, until_ms: int) -> bool:
        return self._cancelled or self._clock.monotonic_ms() >= until_ms


def _differs(wish: PoolWish, known: PoolWish) -> bool:
    return known.at_ms is None or (wish.ask, wish.let_go) != (known.ask, known.let_go)


def _is_news(outlook: Outlook, known: Outlook | None) -> bool:
    """Whether it says something else than what is kept, or confirms what has aged."""
    if known is None or outlook.at_ms - known.at_ms >= AGED_MS:
        return True
    if known.ways_at_ms is None and outlook.ways_at_ms is not None:
        return True
    same = replace(known, at_ms=outlook.at_ms, start=outlook.start, not_before_ms=outlook.not_before_ms)
    if replace(same, ways_at_ms=outlook.ways_at_ms) != outlook:
        return True
    return _moved(outlook.start, known.start, outlook.at_ms)


def _moved(start: StartEstimate | None, known: StartEstimate | None, now_ms: int) -> bool:
    if start is None or known is None:
        return start is not known
    return abs(start.at_ms - known.at_ms) > max(_SAME_MS, _SAME_SHARE * (start.at_ms - now_ms))
