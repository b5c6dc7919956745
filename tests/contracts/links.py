"""A cluster at the other end of the link, fake or on Ray: orders go in, facts come out, hosts can be taken away."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from orchestrator.domain.ids import SliceId
from orchestrator.protocol import VERSION, Fact, FactBody, FactsReply, Orders, RunOrder
from tests.fakes.cluster import FakeCluster
from tests.workers.cluster.rig import Rig
from workers.host.drill import kill_host

T = TypeVar("T")


class Link(Protocol):
    """What the contract needs of a cluster. `facts` has each fact once, in order of arrival."""

    slices: tuple[str, str]

    def order(self, *runs: RunOrder) -> None: ...
    def withdraw(self, *attempt_ids: str) -> None: ...
    def wait_for(self, look: Callable[[FactBody], T | None], what: str) -> T: ...
    def facts(self) -> list[Fact]: ...
    def lose_host_1(self, slice_id: str) -> None: ...


class FakeLink:
    """The fake cluster; waiting lets virtual time pass."""

    slices = ("emulated-v5e-0", "emulated-v5e-1")

    def __init__(self) -> None:
        self._now = 1_000_000
        self._cluster = FakeCluster(dict.fromkeys(self.slices, "v5e:2x4"), self._now)
        self._runs: dict[str, RunOrder] = {}
        self._revision = 0
        self._facts: dict[tuple[str, int], Fact] = {}

    def order(self, *runs: RunOrder) -> None:
        self._runs |= {run.attempt_id: run for run in runs}
        self._revision += 1

    def withdraw(self, *attempt_ids: str) -> None:
        self._runs = {name: run for name, run in self._runs.items() if name not in attempt_ids}
        self._revision += 1

    def wait_for(self, look: Callable[[FactBody], T | None], what: str) -> T:
        for _ in range(600):
            self._pass_time()
            for fact in self.facts():
                if (found := look(fact.body)) is not None:
                    return found
        raise AssertionError(f"never: {what}")

    def facts(self) -> list[Fact]:
        return list(self._facts.values())

    def lose_host_1(self, slice_id: str) -> None:
        self._cluster.lose_host(SliceId(slice_id), 1, self._now)

    def _pass_time(self) -> None:
        self._now += 100
        self._cluster.obey(Orders(VERSION, self._revision, 1, tuple(self._runs.values())), self._now)
        self._cluster.advance(self._now)
        acknowledged: dict[str, int] = {}
        for fact in self._cluster.facts().facts:
            self._facts.setdefault((fact.source, fact.sequence), fact)
            acknowledged[fact.source] = fact.sequence
        self._cluster.acknowledge(FactsReply(acknowledged))


class RayLink:
    """The session's emulated Ray cluster with its own process; the rig plays the control plane."""

    slices = ("emulated-v5e-0", "emulated-v5e-1")

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        for slice_id in self.slices:
            rig.wait_for_slice(slice_id)

    def order(self, *runs: RunOrder) -> None:
        self._rig.plane.order(*runs)

    def withdraw(self, *attempt_ids: str) -> None:
        self._rig.plane.withdraw(*attempt_ids)

    def wait_for(self, look: Callable[[FactBody], T | None], what: str) -> T:
        return self._rig.plane.wait_for(look, what)

    def facts(self) -> list[Fact]:
        return list(self._rig.plane.facts)

    def lose_host_1(self, slice_id: str) -> None:
        kill_host(self._rig.host(slice_id, 1)["raylet_pid"])
