"""Orders and what is seen, to actions: one table."""

from dataclasses import replace

import pytest

from orchestrator.domain.ids import SliceId
from orchestrator.protocol import VERSION, Orders, RunOrder, StopOrder
from tests.workers.cluster.rig import an_order
from workers.cluster.converge import (
    Action,
    End,
    Presence,
    Release,
    ReportLost,
    Reserve,
    SliceSeen,
    Start,
    Stop,
    TakeBack,
    converge,
)
from workers.slice.messages import Phase, SupervisorState

BUILD = "build-2"
A, B = an_order("a", "s"), an_order("b", "s")
STOP = StopOrder("cancelled", 5_000)
STOPPING = an_order("a", "s", stop=STOP)
TWO_SLICES = replace(A, slices=(SliceId("s"), SliceId("t")))
T_FIRST = replace(A, slices=(SliceId("t"), SliceId("s")))
LOST_T = ReportLost("t", T_FIRST)  # nobody knows t here


def up(
    running: str | None = None,
    ended: tuple[str, ...] = (),
    *,
    phase: Phase = Phase.UP,
    settled: bool = True,
    build: str = BUILD,
    slice_id: str = "s",
    lent: str | None = None,
) -> SliceSeen:
    state = SupervisorState("i", build, phase, running, ended, settled, lent)
    return SliceSeen(slice_id, whole=True, presence=Presence.ANSWERS, state=state)


def without(presence: Presence, *, whole: bool = True) -> SliceSeen:
    return SliceSeen("s", whole, presence)


CASES: dict[str, tuple[tuple[RunOrder, ...], SliceSeen | None, tuple[Action, ...]]] = {
    "a whole slice without a supervisor is reserved": ((), without(Presence.GONE), (Reserve("s"),)),
    "half a slice is not": ((), without(Presence.GONE, whole=False), ()),
    "an order is started": ((A,), up(), (Start("s", A),)),
    "an order that runs needs nothing": ((A,), up("a"), ()),
    "an order that ended is not started again": ((A,), up(ended=("a",)), ()),
    "what runs and is not ordered is ended": ((), up("a"), (End("s", "a"),)),
    "another attempt is ended before its successor starts": ((B,), up("a"), (End("s", "a"),)),
    "a stop goes to what runs": ((STOPPING,), up("a"), (Stop("s", "a", STOP),)),
    "a stop of what never started is passed on, not started": ((STOPPING,), up(), (Stop("s", "a", STOP),)),
    "an order for a slice whose supervisor is gone is reported, and the slice not reserved": (
        (A,),
        without(Presence.GONE),
        (ReportLost("s", A),),
    ),
    "an order for a slice that nobody knows is reported": ((A,), None, (ReportLost("s", A),)),
    "a silent supervisor is waited for": ((A,), without(Presence.SILENT), ()),
    "one that still reserves gets no order": ((A,), up(phase=Phase.RESERVING), ()),
    "a lost slice is kept while it has something to tell": ((A,), up(phase=Phase.LOST, settled=False), ()),
    "a lost slice that told all is released": ((), up(phase=Phase.LOST), (Release("s", "it was lost"),)),
    "an idle supervisor of another build is released": ((), up(build="1"), (Release("s", "it runs another build"),)),
    "a busy one of another build goes on": ((A,), up("a", build="1"), ()),
    "one of another build that still has something to tell is kept": ((), up(build="1", settled=False), ()),
    "the first slice is given an attempt on several": ((TWO_SLICES,), up(), (Start("s", TWO_SLICES),)),
    "another slice of it is not, nor is it released for a new build": (
        (T_FIRST,),
        up(build="1"),
        (ReportLost("t", T_FIRST),),
    ),
    "the loss of another slice of it is for the first to report": (
        (T_FIRST,),
        without(Presence.GONE),
        (LOST_T,),
    ),
    "a slice that is lent to what is ordered is left alone": (
        (T_FIRST,),
        up(lent="a", settled=False),
        (LOST_T,),
    ),
    "one that is lent to what is not wanted any more is taken back": ((), up(lent="a"), (TakeBack("s", "a"),)),
    "one that is lent starts nothing until it was taken back": ((B,), up(lent="a"), (TakeBack("s", "a"),)),
    "the first slice of several is lost without a supervisor": (
        (TWO_SLICES,),
        up(slice_id="t"),
        (ReportLost("s", TWO_SLICES),),
    ),
}


@pytest.mark.parametrize(("orders", "seen", "actions"), CASES.values(), ids=CASES.keys())
def test_converge(orders: tuple[RunOrder, ...], seen: SliceSeen | None, actions: tuple[Action, ...]) -> None:
    found = converge(Orders(VERSION, 1, 1, orders), () if seen is None else (seen,), BUILD)
    assert found == actions


def test_nothing_is_done_before_the_first_orders_came() -> None:
    assert converge(None, (up("a"), without(Presence.GONE)), BUILD) == ()
