"""The slices of the cluster through Ray: looks at nodes and supervisors, makes and ends them, passes orders on."""

import logging
import uuid
from collections.abc import Mapping
from typing import Any, Final

import ray
from ray.exceptions import ActorDiedError, RayError

from orchestrator.protocol import Fact, RunOrder, StopOrder
from workers.cluster.converge import Presence, SliceSeen
from workers.cluster.nodes import SliceNodes, slices_of
from workers.host import labels
from workers.slice.messages import FACTS, RUN_ORDER, SLICE_PLAN, SUPERVISOR_STATE, SlicePlan, SupervisorState
from workers.slice.reservation import agent_name, supervisor_name
from workers.slice.supervisor import Supervisor

ANSWER_TIMEOUT_S: Final = 1.0

log = logging.getLogger(__name__)


class Slices:
    """All slices that Ray knows. Supervisors are found by name, so those of an earlier process are simply there."""

    def __init__(self, build: str, server: str, work_dir: str) -> None:
        self._build = build
        self._server = server
        self._work_dir = work_dir
        self._nodes: dict[str, SliceNodes] = {}
        self._supervisors: dict[str, Any] = {}
        self._silent: set[str] = set()

    def look(self) -> tuple[SliceSeen, ...]:
        """Every slice with its supervisor's state, as far as it answers within a second."""
        self._nodes = {found.slice_id: found for found in slices_of(ray.nodes())}
        asked = {}
        for slice_id in self._nodes:
            if (supervisor := self._find(slice_id)) is not None:
                asked[slice_id] = supervisor.state.remote()
        answered = self._gather(asked)
        return tuple(self._seen(found, found.slice_id in asked, answered) for found in self._nodes.values())

    def facts(self, slices: Mapping[str, SupervisorState], acknowledged: Mapping[str, int]) -> tuple[Fact, ...]:
        """What these slices' supervisors have to tell, after dropping what is acknowledged."""
        asked = {}
        for slice_id, state in slices.items():
            sequence = acknowledged.get(f"{slice_id}/{state.incarnation}", 0)
            if slice_id in self._supervisors:
                asked[slice_id] = self._supervisors[slice_id].facts.remote(sequence, self._server)
        return tuple(fact for post in self._gather(asked).values() for fact in FACTS.validate_json(post).facts)

    def reserve(self, slice_id: str) -> None:
        """Make the slice's supervisor; it reserves the hosts by itself."""
        nodes = self._nodes[slice_id]
        plan = SlicePlan(
            slice_id=slice_id,
            incarnation=uuid.uuid4().hex[:12],
            build=self._build,
            pool=nodes.pool,
            shape=str(nodes.shape),
            capacity=nodes.capacity,
            hosts=nodes.shape.hosts,
            chips_per_host=nodes.shape.chips_per_host,
            emulated=nodes.emulated,
            work_dir=self._work_dir,
            server=self._server,
        )
        options = {
            "name": supervisor_name(slice_id),
            "lifetime": "detached",
            "num_cpus": 0,
            "max_restarts": 0,
            "label_selector": {labels.SLICE: slice_id, labels.HOST: "0"},
        }
        try:
            supervisor = ray.remote(Supervisor).options(**options).remote(SLICE_PLAN.dump_json(plan).decode())
        except ValueError:  # the name is still taken: next round
            return
        self._supervisors[slice_id] = supervisor
        log.info("slice %s is being reserved, incarnation %s", slice_id, plan.incarnation)

    def release(self, slice_id: str) -> None:
        """End the slice's supervisor; its placement group and agents end with it."""
        if (supervisor := self._supervisors.pop(slice_id, None)) is not None:
            ray.kill(supervisor)

    def start(self, slice_id: str, order: RunOrder) -> None:
        """Pass the order to run on. What comes of it shows in the supervisor's state and facts."""
        if (supervisor := self._supervisors.get(slice_id)) is not None:
            answer = supervisor.start.remote(RUN_ORDER.dump_json(order).decode(), self._server)
            words = self._gather({slice_id: answer}).get(slice_id, "no answer yet")
            log.info("attempt %s on %s: %s", order.attempt_id, slice_id, words)

    def stop(self, slice_id: str, attempt_id: str, stop: StopOrder) -> None:
        """Pass the order to stop on."""
        if (supervisor := self._supervisors.get(slice_id)) is not None:
            supervisor.stop.remote(attempt_id, stop.reason, stop.grace_ms)

    def take_back(self, slice_id: str, attempt_id: str) -> None:
        """Tell a slice that its loan to the attempt is over."""
        if (supervisor := self._supervisors.get(slice_id)) is not None:
            supervisor.take_back.remote(attempt_id)

    def end_agents(self, slice_id: str, incarnation: str) -> bool:
        """End the agents that a dead supervisor left; whether none is left. Ray ends them too, in its own time."""
        left = False
        for host in self._nodes[slice_id].hosts if slice_id in self._nodes else ():
            try:
                ray.kill(ray.get_actor(agent_name(incarnation, host)))
                left = True
            except ValueError:
                continue
        return not left

    def host_0_lost(self, slice_id: str) -> bool:
        """Whether host 0 of the slice is not among the nodes that are alive."""
        return slice_id not in self._nodes or 0 not in self._nodes[slice_id].hosts

    def _find(self, slice_id: str) -> Any:
        if slice_id not in self._supervisors:
            try:
                supervisor = ray.get_actor(supervisor_name(slice_id))
            except ValueError:
                return None
            self._supervisors[slice_id] = supervisor
            supervisor.announce.remote()
            log.info("slice %s has a supervisor already", slice_id)
        return self._supervisors[slice_id]

    def _gather(self, asked: Mapping[str, Any]) -> dict[str, str]:
        """The answers that came in time. Supervisors that died are forgotten."""
        answers = {}
        if asked:
            ready, _ = ray.wait(list(asked.values()), num_returns=len(asked), timeout=ANSWER_TIMEOUT_S)
            for slice_id, reference in asked.items():
                if reference in ready:
                    try:
                        answers[slice_id] = ray.get(reference)
                    except ActorDiedError as error:
                        log.warning("the supervisor of %s died: %s", slice_id, str(error).strip().splitlines()[-1])
                        self._supervisors.pop(slice_id, None)
                    except RayError as error:
                        log.warning("the supervisor of %s cannot be reached: %s", slice_id, type(error).__name__)
        return answers

    def _seen(self, nodes: SliceNodes, asked: bool, answered: Mapping[str, str]) -> SliceSeen:
        slice_id = nodes.slice_id
        if slice_id in answered:
            self._silent.discard(slice_id)
            state = SUPERVISOR_STATE.validate_json(answered[slice_id])
            return SliceSeen(slice_id, nodes.whole, Presence.ANSWERS, state)
        if not asked or slice_id not in self._supervisors:
            return SliceSeen(slice_id, nodes.whole, Presence.GONE)
        if slice_id not in self._silent:
            self._silent.add(slice_id)
            log.warning("the supervisor of %s is alive but silent; waiting", slice_id)
        return SliceSeen(slice_id, nodes.whole, Presence.SILENT)
