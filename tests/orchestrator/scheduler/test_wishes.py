"""Wishes for capacity: asked for what waits, let go when idle, and never one against the other."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.sharing import PoolLimits
from orchestrator.domain.topology import SliceShape
from orchestrator.scheduler.policy import DEFAULT
from orchestrator.scheduler.wishes import Ask, LetGo
from tests.scheduling import HOUR, MINUTE, NOW, a_snapshot, offer, planned, runs, wants


def pool(least=0, most=4, pending=0, name="p", shape="v5e:2x4") -> PoolLimits:
    return PoolLimits("c", name, SliceShape.parse(shape), "spot", least, most, pending)


def idle(id="s0", since=NOW - HOUR):
    return offer(id)._replace(idle_since_ms=since)


def asked(*things, **fields):
    return planned(*things, **fields).wishes


def test_slices_are_asked_for_jobs_that_have_waited():
    jobs = wants("a", at=NOW - HOUR), wants("b", "2*v5e:2x4", at=NOW - HOUR)
    (wish,) = asked(*jobs, pools=(pool(),))
    assert (wish.pool, wish.count) == ("p", 3)


def test_not_before_a_job_has_waited_a_while_and_then_time_makes_it_due():
    decided = planned(wants("a", at=NOW), pools=(pool(),))
    assert decided.wishes == ()
    assert decided.due_at_ms == NOW + DEFAULT.ask_after_ms


def test_what_is_on_its_way_is_not_asked_for_again():
    assert asked(wants("a", at=0), pools=(pool(pending=1),)) == ()


def test_never_more_than_the_pool_may_have():
    jobs = [wants(f"j{i}", at=0) for i in range(9)]
    (wish,) = asked(*jobs, offer("s0"), runs("r", "s0"), pools=(pool(most=4),))
    assert wish.count == 3


def test_one_job_asks_one_pool():
    (wish,) = asked(wants("a", at=0), pools=(pool(), pool(name="q")))
    assert wish.pool == "p"


def test_a_job_that_a_quota_or_gate_keeps_out_asks_for_nothing():
    assert asked(wants("a", at=0, after=("first",)), pools=(pool(),)) == ()


def test_an_idle_slice_is_let_go_down_to_the_least():
    slices = idle("s0"), idle("s1"), idle("s2", since=NOW - MINUTE)
    assert asked(*slices, pools=(pool(least=0),)) == (LetGo("s0"), LetGo("s1"))
    assert asked(*slices, pools=(pool(least=2),)) == (LetGo("s0"),)


def test_nothing_is_let_go_while_somebody_waits_who_could_use_it():
    waiting = wants("big", "3*v5e:2x4", at=NOW - HOUR)
    wishes = asked(waiting, idle("s0"), pools=(pool(most=3),))
    assert wishes == (Ask("c", "p", SliceShape.parse("v5e:2x4"), 2),)


@given(
    counts=st.lists(st.integers(1, 3), max_size=4),
    up=st.integers(0, 4),
    pending=st.integers(0, 2),
    waited=st.integers(0, 3),
    idle_for=st.integers(0, 60),
)
def test_a_wish_that_is_granted_is_never_taken_back(counts, up, pending, waited, idle_for):
    jobs = [wants(f"j{i}", f"{n}*v5e:2x4", at=NOW - waited * MINUTE) for i, n in enumerate(counts)]
    slices = [idle(f"s{i}", NOW - idle_for * MINUTE) for i in range(up)]
    first = a_snapshot(*jobs, *slices, pools=(pool(pending=pending),))
    wishes = asked(*jobs, *slices, pools=(pool(pending=pending),))
    granted = sum(wish.count for wish in wishes if isinstance(wish, Ask))
    gone = {wish.slice_id for wish in wishes if isinstance(wish, LetGo)}
    assert not (granted and gone)
    left = [s for s in first.slices if s.id not in gone]
    after = asked(*jobs, *left, pools=(pool(pending=pending + granted),))
    assert not any(isinstance(wish, Ask) for wish in after)
    assert granted == 0 or not any(isinstance(wish, LetGo) for wish in after)
