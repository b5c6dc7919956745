"""Quotas and gates: limits at every level, borrowing up to them, arrays and dependencies. A start counts at once."""

import pytest

from orchestrator.domain.sharing import Project, Quota
from orchestrator.scheduler.gates import ArrayFull, Unfinished
from orchestrator.scheduler.snapshot import Array
from tests.scheduling import NOW, offer, placed, planned, runs, wants

NESTED = Project("mine", parents=("team", "acme"))
SLICES = [offer(f"s{i}") for i in range(4)]


@pytest.mark.parametrize("owner", ["mine", "team", "acme"])
def test_a_limit_of_the_project_or_of_any_group_above_it_holds(owner):
    jobs = [wants(f"j{i}", project="mine", at=i) for i in range(3)]
    decided = planned(*jobs, *SLICES, NESTED, quotas=(Quota(owner, limit_chips=16),))
    assert list(placed(decided)) == ["j0", "j1"]
    assert decided.waits[0].says.startswith(
        f"{owner} uses 16 of its limit of 16 chips in all pools; 8 more would exceed it"
    )


def test_what_other_projects_of_the_team_hold_counts():
    sibling = runs("r", "s0", project="sibling")
    things = Project("sibling", parents=("team", "acme")), NESTED, wants("a", project="mine")
    decided = planned(*things, *SLICES, sibling, quotas=(Quota("team", limit_chips=8),))
    assert placed(decided) == {}


def test_idle_guarantees_of_others_may_be_borrowed():
    quotas = (Quota("other", guarantee_chips=32), Quota("mine", guarantee_chips=8))
    jobs = [wants(f"j{i}", project="mine", at=i) for i in range(4)]
    assert len(placed(planned(*jobs, *SLICES, quotas=quotas))) == 4


def test_a_limit_of_one_pool_leaves_the_others():
    quotas = (Quota("default", limit_chips=0, pool="p"),)
    assert placed(planned(wants(), offer("s0"), offer("t0", pool="q"), quotas=quotas)) == {"a": ("t0",)}


def test_a_job_that_its_quota_keeps_out_reserves_nothing_and_blocks_nobody():
    over, next_one = wants("over", project="mine", at=1), wants("next", project="other", at=2)
    decided = planned(over, next_one, offer("s0"), quotas=(Quota("mine", limit_chips=4),))
    assert placed(decided) == {"next": ("s0",)}
    assert decided.reservations == ()


def test_an_array_runs_as_many_at_once_as_it_says():
    array = Array("sweep", 2)
    jobs = [wants(f"j{i}", at=i, array=array) for i in range(3)]
    decided = planned(*jobs, *SLICES, runs("r", "s0", array=array))
    assert list(placed(decided)) == ["j0"]
    assert decided.waits[0].reasons[0] == ArrayFull("sweep", 2)


def test_a_job_waits_for_those_it_comes_after_and_blocks_nobody():
    later = wants("later", at=1, after=("first",))
    decided = planned(later, wants("other", at=2), offer("s0"))
    assert placed(decided) == {"other": ("s0",)}
    assert decided.waits[0].reasons[0] == Unfinished(("first",))


def test_all_causes_are_said_together():
    job = wants("a", "v5e:4x4", after=("first",), at=NOW)
    says = planned(job, offer("s0")).waits[0].says
    assert says.startswith("waits for the end of first; wants v5e:4x4")
