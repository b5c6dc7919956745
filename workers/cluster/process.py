"""The rounds of a cluster process: look, converge, tell; about twice a second. Holds no state that matters."""

import logging
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from orchestrator.protocol import StopOrder
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
from workers.cluster.errands import Errands
from workers.cluster.link import Link
from workers.cluster.losses import Losses
from workers.cluster.probing import Probing
from workers.cluster.slices import Slices
from workers.cluster.watching import Watching
from workers.slice.gang import SUPERSEDED
from workers.slice.outbox import Outbox

LOOK_EVERY_S: Final = 0.5
EXIT_DENIED: Final = 3

log = logging.getLogger(__name__)


class ClusterProcess:
    """One round after the other until the control plane denies us."""

    def __init__(self, link: Link, slices: Slices, work_dir: Path, build: str, wake: threading.Event) -> None:
        self._link = link
        self._slices = slices
        self._build = build
        self._wake = wake
        self._outbox = Outbox(f"cluster/{uuid.uuid4().hex[:12]}")
        file = work_dir / "incarnations.json"
        self._losses = Losses(file, self._outbox, now_ms=_now_ms, ticks_ms=_ticks_ms)
        self._acknowledged: dict[str, int] = {}
        self._errands = Errands(wake, now_ms=_now_ms)
        self._probing = Probing(link.send_storage)
        self._watching = Watching(link.send_watched, now_ms=_now_ms)

    def run(self) -> int:
        """Rounds until the control plane denies us; the exit code of that."""
        self._link.start()
        while True:
            self._wake.wait(LOOK_EVERY_S)
            self._wake.clear()
            if self._link.denied:
                log.error("the control plane does not accept this cluster's token; make a new one and start again")
                return EXIT_DENIED
            self.round()

    def round(self) -> None:
        """Look at the slices, act on what differs from the orders, and pass on what the supervisors have to tell."""
        seen = self._slices.look()
        for found in seen:
            if found.state is not None:
                self._losses.remember(found.slice_id, found.state.incarnation)
            elif found.presence is Presence.GONE:
                self._losses.slice_gone(found.slice_id, host_0_lost=self._slices.host_0_lost(found.slice_id))
        for action in converge(self._link.orders, seen, self._build):
            self._act(action)
        self._tell(seen)
        self._run_errands()

    def _act(self, action: Action) -> None:
        match action:
            case Reserve(slice_id):
                self._slices.reserve(slice_id)
            case Release(slice_id, why):
                log.info("slice %s is released: %s", slice_id, why)
                self._slices.release(slice_id)
                self._losses.slice_released(slice_id, why)
            case Start(slice_id, order):
                self._slices.start(slice_id, order)
            case Stop(slice_id, attempt_id, stop):
                self._slices.stop(slice_id, attempt_id, stop)
            case End(slice_id, attempt_id):
                log.info("attempt %s on %s is not wanted any more", attempt_id, slice_id)
                self._slices.stop(slice_id, attempt_id, StopOrder(SUPERSEDED, grace_ms=0))
            case TakeBack(slice_id, attempt_id):
                log.info("slice %s is taken back from attempt %s, which is not wanted any more", slice_id, attempt_id)
                self._slices.take_back(slice_id, attempt_id)
            case ReportLost(slice_id, order):
                incarnation = self._losses.incarnation_of(slice_id)
                gone = incarnation is not None and self._slices.end_agents(slice_id, incarnation)
                lost = self._slices.host_0_lost(slice_id)
                self._losses.attempt_gone(order, slice_id, host_0_lost=lost, agents_gone=gone)

    def _run_errands(self) -> None:
        if self._link.orders is not None:
            self._errands.take(self._link.orders.errands)
            self._probing.follow(self._link.orders.checkpoint_root)
            self._watching.follow(self._link.orders.runs)
        done = self._errands.done()
        if done and self._link.send_errands(done):
            self._errands.told(done)

    def _tell(self, seen: Sequence[SliceSeen]) -> None:
        states = {found.slice_id: found.state for found in seen if found.state is not None}
        facts = (*self._outbox.pending(), *self._slices.facts(states, self._acknowledged))
        if facts:
            self._acknowledged.update(self._link.send(facts))
            self._outbox.acknowledge(self._acknowledged.get(self._outbox.source, 0))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _ticks_ms() -> int:
    return time.monotonic_ns() // 1_000_000
