"""Attempts on both slices of a real Ray cluster: ranks over slices, one report, a lost slice, and slices given back."""

import json
import sys

import pytest

from orchestrator.domain.endings import Reason
from orchestrator.incidents.verdict import judge
from orchestrator.protocol import GangReady
from tests.emulated import until
from tests.workers.cluster.rig import Rig, an_order
from tests.workers.cluster.test_gangs_on_ray import FIRST, SECOND, SLEEP, ended, pids, ranks_of
from workers.host.drill import kill_host

pytestmark = pytest.mark.ray

BOTH = (SECOND, FIRST)
WHO = (
    "import json, os; names = [name for name in os.environ if name.startswith(('PODWRIGHT_SL', 'MEGASCALE'))]\n"
    "print(json.dumps({name: os.environ[name] for name in (*names, 'PODWRIGHT_HOST', 'PODWRIGHT_COORDINATOR')}))"
)


def test_ranks_are_numbered_over_the_slices_and_both_slices_are_free_again(rig: Rig) -> None:
    for slice_id in BOTH:
        rig.wait_for_slice(slice_id)
    rig.plane.order(an_order("two", BOTH, sys.executable, "-c", WHO))
    found = ended(rig, "two")
    assert (found.trouble, [rank.ok for rank in found.exits]) == (None, [True] * 4)
    ready = [fact.body for fact in rig.plane.facts if isinstance(fact.body, GangReady)][-1]
    where = [(rank.slice_id, rank.host) for rank in ready.ranks]
    assert where == [(slice_id, host) for slice_id in BOTH for host in range(2)]
    told = [json.loads(rig.plane.stream("two", rank, "stdout")) for rank in range(4)]
    assert [(one["PODWRIGHT_SLICE"], int(one["PODWRIGHT_HOST"])) for one in told] == where
    assert [one["PODWRIGHT_SLICE_INDEX"] for one in told] == [one["MEGASCALE_SLICE_ID"] for one in told] == [*"0011"]
    assert {(one["PODWRIGHT_SLICE_COUNT"], one["MEGASCALE_NUM_SLICES"]) for one in told} == {("2", "2")}
    (coordinator,) = {one["PODWRIGHT_COORDINATOR"] for one in told}
    assert {one["MEGASCALE_COORDINATOR_ADDRESS"] for one in told} == {coordinator.rpartition(":")[0]}
    for slice_id in BOTH:
        rig.plane.order(an_order(f"after-{slice_id}", slice_id, "true"))
    assert all(rank.ok for slice_id in BOTH for rank in ended(rig, f"after-{slice_id}").exits)


def test_a_slice_that_is_lost_ends_the_attempt_on_both_and_is_named(rig: Rig) -> None:
    up = rig.wait_for_slice(FIRST)
    rig.wait_for_slice(SECOND)
    rig.plane.order(an_order("torn", BOTH, *SLEEP))
    pids(rig, "torn")
    kill_host(rig.host(FIRST, 0)["raylet_pid"])  # the lender's, with its supervisor
    found = ended(rig, "torn")
    cause = judge(found.trouble, found.message, found.exits, None, launched=True)
    assert (cause.reason, cause.slice_id) == (Reason.SLICE_LOST, FIRST)
    until(lambda: not ranks_of("torn") or None, "all its ranks are gone")
    rig.plane.order(an_order("after", SECOND, "true"))
    assert all(rank.ok for rank in ended(rig, "after").exits)
    assert rig.wait_for_slice(FIRST).incarnation != up.incarnation


@pytest.mark.long
def test_a_lost_leader_takes_the_ranks_of_the_lent_slice_with_it(rig: Rig) -> None:
    for slice_id in BOTH:
        rig.wait_for_slice(slice_id)
    rig.plane.order(an_order("headless-two", BOTH, *SLEEP))
    pids(rig, "headless-two")
    kill_host(rig.host(SECOND, 0)["raylet_pid"])
    found = ended(rig, "headless-two")
    assert judge(found.trouble, found.message, found.exits, None, launched=True).reason is Reason.SLICE_LOST
    rig.plane.order(an_order("next", FIRST, "true"))  # once it is taken back and nothing of the attempt runs there
    assert all(rank.ok for rank in ended(rig, "next").exits)
    assert not ranks_of("headless-two")
    rig.wait_for_slice(SECOND)
