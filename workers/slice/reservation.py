"""Reserves a slice: one placement group with a bundle per host, and in each bundle an agent. Ray calls only."""

from typing import Any, Final

import ray
from ray.util.placement_group import PlacementGroup, placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from orchestrator.domain.ids import SliceId
from orchestrator.protocol import HostInfo
from workers.host import labels
from workers.host.agent import Agent
from workers.host.messages import HostOrder
from workers.slice.hosts import Host
from workers.slice.messages import SlicePlan

TIMEOUT_S: Final = 60.0


def reserve(plan: SlicePlan) -> tuple[Host, ...]:
    """The hosts of the slice in order of worker id, each with an agent that answers.

    Group and agents belong to the calling actor and end with it.

    Raises:
        RayError: a host of the slice is not there, is taken, or its agent does not start in time.
    """
    group = placement_group(
        bundles=[{"TPU": plan.chips_per_host}] * plan.hosts,
        strategy="STRICT_SPREAD",
        bundle_label_selector=[{labels.SLICE: plan.slice_id, labels.HOST: str(host)} for host in range(plan.hosts)],
    )
    ray.get(group.ready(), timeout=TIMEOUT_S)
    agents = [_agent(plan, host, group) for host in range(plan.hosts)]
    infos: list[HostInfo] = ray.get([agent.info.remote() for agent in agents], timeout=TIMEOUT_S)
    return tuple(Host(agent, info, SliceId(plan.slice_id)) for agent, info in zip(agents, infos, strict=True))


def supervisor_name(slice_id: str) -> str:
    """The name of a slice's supervisor in Ray."""
    return f"supervisor/{slice_id}"


def agent_name(incarnation: str, host: int) -> str:
    """The name under which whoever cleans up after a dead supervisor finds its agents."""
    return f"agent/{incarnation}/{host}"


def dead_nodes() -> frozenset[str]:
    """The ids of the nodes that Ray declared dead."""
    return frozenset(node["NodeID"] for node in ray.nodes() if not node["Alive"])


def _agent(plan: SlicePlan, host: int, group: PlacementGroup) -> Any:
    order = HostOrder(plan.slice_id, host, plan.chips_per_host, plan.emulated, plan.work_dir)
    return (
        ray.remote(Agent)
        .options(
            name=agent_name(plan.incarnation, host),
            num_cpus=0,
            resources={"TPU": plan.chips_per_host},
            max_restarts=0,
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=host),
        )
        .remote(order)
    )
