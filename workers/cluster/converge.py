"""What to do so that the slices do what the orders say. Pure: no Ray, no clock; run again after each look.

An attempt is started by the supervisor of its first slice, to which the others lend their agents; it reports when one
of these is lost, and this process only when the first is. What is absent from the orders is ended at once. A slice
whose supervisor is gone is reserved again only when no order names it: an attempt that ran there could start twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.ids import AttemptId
from orchestrator.protocol import Orders, RunOrder, StopOrder
from workers.slice.messages import Phase, SupervisorState


class Presence(StrEnum):
    """Whether a slice's supervisor is there."""

    ANSWERS = "answers"
    SILENT = "silent"
    """Alive for Ray, but it did not answer in time: wait."""
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class SliceSeen:
    """A slice at one look. `whole`: all its hosts are alive. `state` is set when the supervisor answers."""

    slice_id: str
    whole: bool
    presence: Presence
    state: SupervisorState | None = None


@dataclass(frozen=True, slots=True)
class Reserve:
    """Make a supervisor for the slice."""

    slice_id: str


@dataclass(frozen=True, slots=True)
class Release:
    """End the slice's supervisor, which has nothing left to tell; it may be reserved anew."""

    slice_id: str
    why: str


@dataclass(frozen=True, slots=True)
class Start:
    """Run the attempt."""

    slice_id: str
    order: RunOrder


@dataclass(frozen=True, slots=True)
class Stop:
    """End the attempt as ordered."""

    slice_id: str
    attempt_id: str
    stop: StopOrder


@dataclass(frozen=True, slots=True)
class End:
    """The attempt is not wanted any more: end it at once."""

    slice_id: str
    attempt_id: str


@dataclass(frozen=True, slots=True)
class TakeBack:
    """The slice is lent to an attempt that is not wanted any more: end what of it runs there."""

    slice_id: str
    attempt_id: str


@dataclass(frozen=True, slots=True)
class ReportLost:
    """The attempt's first slice has no supervisor: report the attempt as ended."""

    slice_id: str
    order: RunOrder


Action = Reserve | Release | Start | Stop | End | TakeBack | ReportLost


def converge(orders: Orders | None, slices: Sequence[SliceSeen], build: str) -> tuple[Action, ...]:
    """The actions that bring the slices closer to the orders; none before the first orders came.

    `build` is this process's own: an idle supervisor of another one is released.
    """
    if orders is None:
        return ()
    named: dict[str, list[RunOrder]] = {}
    for order in orders.runs:
        for slice_id in order.slices:
            named.setdefault(slice_id, []).append(order)
    known = {seen.slice_id for seen in slices}
    actions = [action for seen in slices for action in _for_slice(seen, named.get(seen.slice_id, []), build)]
    for unknown in sorted(named.keys() - known):
        actions += [ReportLost(unknown, order) for order in named[unknown] if order.slices[0] == unknown]
    return tuple(actions)


def _for_slice(seen: SliceSeen, orders: Sequence[RunOrder], build: str) -> Iterator[Action]:
    led = {order.attempt_id: order for order in orders if order.slices[0] == seen.slice_id}
    if seen.presence is Presence.GONE:
        yield from (ReportLost(seen.slice_id, order) for order in led.values())
        if seen.whole and not orders:
            yield Reserve(seen.slice_id)
    elif seen.state is not None:
        if seen.state.lent is not None:
            if seen.state.lent not in {order.attempt_id for order in orders}:
                yield TakeBack(seen.slice_id, seen.state.lent)
        elif seen.state.phase is Phase.LOST:
            if seen.state.settled:
                yield Release(seen.slice_id, "it was lost")
        elif seen.state.phase is Phase.UP:
            yield from _for_leader(seen.slice_id, seen.state, led)
            if not orders and seen.state.running is None and seen.state.settled and seen.state.build != build:
                yield Release(seen.slice_id, "it runs another build")


def _for_leader(slice_id: str, state: SupervisorState, led: Mapping[AttemptId, RunOrder]) -> Iterator[Action]:
    if state.running is not None:
        order = led.get(AttemptId(state.running))
        if order is None:
            yield End(slice_id, state.running)
        elif order.stop is not None:
            yield Stop(slice_id, order.attempt_id, order.stop)
        return
    waiting = [order for order in led.values() if order.attempt_id not in state.ended]
    for order in waiting:
        # One that shall stop and never started is only reported.
        yield Start(slice_id, order) if order.stop is None else Stop(slice_id, order.attempt_id, order.stop)
