"""What a person may ask for: policies with settings, fleets, faults; and what is said when it makes no sense."""

import itertools
from pathlib import Path

import pytest

from orchestrator.domain.job import SliceState
from orchestrator.domain.sharing import Project, Quota, Window
from orchestrator.domain.topology import SliceRequest, SliceShape
from orchestrator.scheduler.policy import DEFAULT, Backfill, FairShare
from orchestrator.simulator.faults import FaultModel, Loss, read_losses
from orchestrator.simulator.fleet import BadFleet, counting, read_fleet, request
from orchestrator.simulator.gang import Costs
from orchestrator.simulator.reading import BadQuestion, Question, read_fleet_or_chips, read_policy, sides
from orchestrator.simulator.workload import Estimates

FLEET = """
pools:
  - {name: small, shape: v5e:2x4, slices: 2, capacity: spot}
  - {name: big, shape: v5e:4x4, slices: 1}
windows:
  - {slice: small-0, from: 14h, until: 18h}
projects:
  research: {weight: 2, parents: [team]}
quotas:
  - {owner: team, pool: small, guarantee_chips: 8, limit_chips: 16}
"""


def fleet_file(tmp_path, text=FLEET) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    return path


def test_a_fleet_file_says_pools_windows_projects_and_quotas(tmp_path):
    fleet = read_fleet(fleet_file(tmp_path))
    assert [(s.id, s.pool, str(s.shape), s.capacity) for s in fleet.slices] == [
        ("small-0", "small", "v5e:2x4", "spot"),
        ("small-1", "small", "v5e:2x4", "spot"),
        ("big-0", "big", "v5e:4x4", "reserved"),
    ]
    assert all(s.state is SliceState.UP for s in fleet.slices)
    assert fleet.windows == {"small-0": (Window(14 * 3_600_000, 18 * 3_600_000),)}
    assert fleet.projects == {"research": Project("research", 0.0, 2.0, ("team",))}
    assert fleet.quotas == (Quota("team", 8, 16, "small"),)
    assert fleet.chips == 32


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("small-0", "small-9", "the slice must exist"),
        ("until: 18h", "until: 2h", "ends after it begins"),
        ("from: 14h", "from: noon", "not a time span"),
        ("v5e:4x4", "v5e:3x3", "no topology"),
        ("slices: 1", "slices: one", "pools.1.slices"),
        ("weight", "wait", "wait"),
        ("pools:", "pools: [", "fleet.yaml"),
    ],
)
def test_a_bad_fleet_file_says_what_is_wrong(tmp_path, old, new, says):
    with pytest.raises(BadFleet, match=says):
        read_fleet(fleet_file(tmp_path, FLEET.replace(old, new)))


def test_a_number_stands_for_as_many_one_chip_slices():
    assert read_fleet_or_chips("3") == counting(3)
    assert counting(3).chips == 3


def test_a_job_gets_as_few_chips_as_will_do():
    pools = (SliceShape("v5e", "2x4"), 4), (SliceShape("v5e", "4x4"), 2)
    assert [str(request(chips, pools)) for chips in (1, 8, 9, 16, 17, 32)] == [
        "v5e:2x4",
        "v5e:2x4",
        "v5e:4x4",
        "v5e:4x4",
        "3*v5e:2x4",
        "2*v5e:4x4",
    ]
    assert request(33, pools) is None
    assert request(8, pools[:1]) == SliceRequest(1, SliceShape("v5e", "2x4"))


def test_a_policy_may_have_other_settings():
    chosen = read_policy("default,reservations=4,min_runtime=10m,evict=no,fair_share=leads,backfill=nobody")
    assert (chosen.reservations, chosen.min_runtime_ms, chosen.evict) == (4, 600_000, False)
    assert (chosen.fair_share, chosen.backfill) == (FairShare.LEADS, Backfill.NOBODY)
    assert read_policy("default") == DEFAULT


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("best", "no policy 'best'; known: default, fifo"),
        ("default,speed=9", "no setting"),
        ("default,evict=maybe", "yes or no"),
        ("default,reservations=many", "reservations"),
        ("default,min_runtime=soon", "min_runtime: .*not a time span"),
        ("default,order=random", "order"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(text, says):
    with pytest.raises(BadQuestion, match=says):
        read_policy(text)


def test_what_if_changes_one_thing_of_the_first_pair():
    question = Question((), Estimates.EXACT, Costs(), FaultModel(), {})
    found = sides(question, ["default"], ["8"], ["easy,reservations=2", "16"])
    assert [side.label for side in found] == ["default on 8", "easy,reservations=2 on 8", "default on 16"]
    assert [side.setup.fleet.chips for side in found] == [8, 8, 16]
    assert [side.setup.policy.reservations for side in found] == [1, 2, 1]


def test_losses_come_from_a_file(tmp_path):
    path = tmp_path / "losses.csv"
    path.write_text("slice,at_s,back_at_s,kind\ns1,5,9,host\ns0,1,2.5,spot\n")
    assert read_losses(path) == {"s0": (Loss("s0", 1000, 2500, True),), "s1": (Loss("s1", 5000, 9000, False),)}
    path.write_text("slice,at_s,back_at_s,kind\ns1,5,5,host\n")
    with pytest.raises(ValueError, match="line 2"):
        read_losses(path)


def test_modelled_losses_are_as_frequent_as_their_means_say():
    spot = counting(1).slices[0]
    assert list(FaultModel().losses(spot)) == []
    losses = FaultModel(host_mtbf_h=10, repair_h=1, seed=1).losses(spot)
    first = [next(losses) for _ in range(2000)]
    assert 10.3 < first[-1].back_at_ms / 3_600_000 / 2000 < 11.7
    assert all(a.back_at_ms <= b.at_ms for a, b in itertools.pairwise(first))
    again = FaultModel(host_mtbf_h=10, repair_h=1, seed=1).losses(spot)
    assert [next(again) for _ in range(5)] == first[:5]
