"""A seeded day: users submit and cancel, hosts die and come back, programs fail, messages are lost, repeated and late,
and the control plane and the cluster process are killed. The store, the tick and the protocol are the real ones."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from orchestrator.domain.endings import ENDINGS, Budget, Reason
from orchestrator.domain.errors import Conflict, Superseded
from orchestrator.domain.ids import JobId, SliceId
from orchestrator.domain.job import Job
from orchestrator.domain.lifecycle import ACTIVE, TERMINAL, TRANSITIONS, JobState
from orchestrator.domain.program import Program
from orchestrator.domain.spec import RetryPolicy
from orchestrator.protocol import Orders
from orchestrator.store.queries import events as event_queries
from orchestrator.store.queries import jobs as job_queries
from orchestrator.store.queries import world as world_queries
from orchestrator.store.queries.events import Recorded
from tests.builders import NOW, a_spec
from tests.fakes.cluster import FakeCluster
from tests.simulation.control_plane import ControlPlane

PROGRAMS = (("true",), ("false",), ("sleep", "8"), ("sleep", "25"), ("sleep", "60"))
ENDS = frozenset(state.value for state in TERMINAL)
LEGAL = frozenset((of.value, to.value) for (of, _), to in TRANSITIONS.items())
SLICES = {"a-0": "v5e:2x4", "a-1": "v5e:2x4", "a-2": "v5e:2x4", "b-0": "v5e:4x4"}


class Day:
    """One seed's world. `faults` counts what was done to it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = Random(seed)
        self.folder = folder
        self.now = NOW
        self.cluster = FakeCluster(SLICES, self.now)
        self.control = ControlPlane(folder, self.rng)
        self.faults: Counter[str] = Counter()
        self.submitted: list[JobId] = []
        self._lives = 0
        self._late: Orders | None = None
        self.states: dict[JobId, str] = {}
        """Each job's state as its events tell it."""
        self._heard = 0
        self._sequences: Counter[JobId] = Counter()

    async def run(self, troubled_steps: int = 120, calm_steps: int = 1500) -> None:
        """Trouble first, then calm until all is over."""
        await self.control.begin("life-0")
        for _ in range(troubled_steps):
            await self._turn(troubled=True)
        for _ in range(calm_steps):
            await self._turn(troubled=False)
            if all(state in ENDS for state in self.states.values()):
                break
        await self.check_the_books()
        await self.control.crash()

    async def _turn(self, troubled: bool) -> None:
        self.now += self.rng.randrange(200, 2_000) if troubled else self.rng.randrange(1_000, 8_000)
        if troubled:
            await self._trouble()
        else:
            for slice_id in self.cluster.slices:
                self.cluster.replace_slice(slice_id)
        self.cluster.advance(self.now)
        await self._talk(troubled)
        await self.control.tick(self.now)
        await self.check()

    # ------------------------------------------------------------------------------------------------------ messages

    async def _talk(self, troubled: bool) -> None:
        """Orders down and facts up; in trouble any of it may be lost, repeated or late."""
        lossy = self.rng.random if troubled else lambda: 1.0
        orders = await self.control.orders(self.now)
        if self._late is not None and lossy() < 0.5:
            self.cluster.obey(self._late, self.now)  # overtaken by newer ones, which come right after
            self.faults["late orders"] += 1
        if lossy() < 0.3:
            self._late = orders
            self.faults["lost orders"] += 1
        else:
            self.cluster.obey(orders, self.now)
        await self._upload()
        reply = await self.control.take_facts(self.cluster.facts())
        if lossy() < 0.2:
            self.faults["lost acknowledgements"] += 1
        else:
            self.cluster.acknowledge(reply)

    async def _upload(self) -> None:
        for gang, post in tuple(self.cluster.unsent()):
            try:
                reply = await self.control.ingest(gang.order.attempt_id, post, self.now)
            except Superseded:
                gang.sent = len(gang.spool)
                continue
            if self.rng.random() < 0.1:
                self.faults["repeated reports"] += 1
                continue
            self.cluster.stored(gang, reply)

    # ------------------------------------------------------------------------------------------------------ trouble

    async def _trouble(self) -> None:
        for happens, likely in self._possible():
            if self.rng.random() < likely:
                done = happens()
                if done is not None:
                    await done

    def _possible(self) -> tuple[tuple[Callable[[], object], float], ...]:
        return (
            (self._submit, 0.15),
            (self._cancel, 0.04),
            (self._lose_host, 0.04),
            (self._replace_slice, 0.20),
            (self._fail_rank, 0.02),
            (self._restart_cluster_process, 0.03),
            (self._restart_control_plane, 0.03),
        )

    async def _submit(self) -> None:
        retry = RetryPolicy(failures=self.rng.randrange(3), preemptions=self.rng.choice(["unlimited", 1]))
        spec = a_spec(
            program=Program(command=self.rng.choice(PROGRAMS)),
            slices=self.rng.choice(["v5e:2x4", "v5e:4x4", ("v5e:4x4", "v5e:2x4")]),
            priority=self.rng.choice(["batch", "normal/0", "normal/5", "production"]),
            retry=retry,
        )
        self.submitted.append(await self.control.submit(spec, self.now))

    async def _cancel(self) -> None:
        if self.submitted:
            try:
                await self.control.cancel(self.rng.choice(self.submitted), self.now)
            except Conflict:
                return
            self.faults["cancels"] += 1

    def _lose_host(self) -> None:
        slice_id = self.rng.choice(sorted(self.cluster.slices))
        host = self.rng.randrange(self.cluster.slices[slice_id].shape.hosts)
        self.faults["lost supervisors" if host == 0 else "lost hosts"] += self.cluster.slices[slice_id].up
        self.cluster.lose_host(slice_id, host, self.now)

    def _replace_slice(self) -> None:
        self.cluster.replace_slice(SliceId(self.rng.choice(sorted(self.cluster.slices))))

    def _fail_rank(self) -> None:
        self.faults["program errors"] += 1
        self.cluster.fail_rank(SliceId(self.rng.choice(sorted(self.cluster.slices))), self.now)

    def _restart_cluster_process(self) -> None:
        self.faults["cluster process killed"] += 1
        self.cluster.restart()

    async def _restart_control_plane(self) -> None:
        self.faults["control plane killed"] += 1
        await self.control.crash()
        self._lives += 1
        self.control = ControlPlane(self.folder, self.rng)
        await self.control.begin(f"life-{self._lives}")

    # ------------------------------------------------------------------------------------------------------ invariants

    async def check(self) -> None:
        """What must hold after every tick, for all that is open and all that has just happened."""
        async with self.control.database.read() as tx:
            seen = await world_queries.world(tx, self.now, 0)
            news = await event_queries.since(tx, self._heard, None, 1_000_000)
        held = [slice_id for attempt in seen.attempts for slice_id in attempt.slices]
        assert len(held) == len(set(held)), f"a slice is held twice: {sorted(held)}"
        live = sorted(attempt.job_id for attempt in seen.attempts)
        assert live == sorted(job.id for job in seen.jobs if job.state in ACTIVE), (
            "live attempts and active jobs differ"
        )
        assert len(self.cluster.starts) == len(set(self.cluster.starts)), "an attempt was started twice"
        for record in news:
            self._heard = record.id
            self._hear(record)
        assert {job.id: job.state.value for job in seen.jobs} == {
            id: s for id, s in self.states.items() if s not in ENDS
        }

    def _hear(self, record: Recorded) -> None:
        """I9 and I1: a job's events have no gap, its edges are legal and meet, and nothing moves it after its end."""
        job_id = record.event.job_id
        if job_id is None:
            return
        self._sequences[job_id] += 1
        assert record.sequence == self._sequences[job_id], f"{job_id} has a gap before {record}"
        if record.event.kind == "job.submitted":
            self.states[job_id] = JobState.QUEUED.value
        if record.event.kind == "job.state":
            data = dict(record.event.data)
            assert data["from"] == self.states[job_id], f"{record} does not follow {self.states[job_id]}"
            assert (data["from"], data["to"]) in LEGAL
            self.states[job_id] = str(data["to"])

    async def check_the_books(self) -> None:
        """I7: each ended attempt of each job completed, was charged once, or ended uncharged."""
        async with self.control.database.read() as tx:
            for job_id in self.submitted:
                job = await job_queries.find(tx, job_id)
                attempts = await job_queries.attempts_of(tx, job_id)
                assert [attempt.number for attempt in attempts] == list(range(1, job.attempts + 1))
                _charges_add_up(job, [attempt.reason for attempt in attempts])


def _charges_add_up(job: Job, reasons: list[Reason | None]) -> None:
    """Only a restart is charged: an ending that was final, or came while the job was being cancelled, is not."""
    charged = Counter(ENDINGS[reason].charges for reason in reasons if reason is not None)
    for budget in Budget:
        uncharged = charged[budget] - job.charges.of(budget)
        assert uncharged == 0 or (uncharged == 1 and job.state in TERMINAL), f"{job.id}: {budget} do not add up"
