"""The detached actor on host 0 of each slice. Takes orders, leads one gang at a time or lends its agents to another
supervisor that does, keeps facts until acknowledged.

Its methods only note what is wanted and answer at once; one thread does the work. It outlives the cluster process and
the control plane; it ends with its raylet, and its agents with it.
"""

import logging
import os
import threading
import time
from typing import Final

from ray.exceptions import RayError

from orchestrator.domain.ids import AttemptId, SliceId
from orchestrator.protocol import GangEnded, RunOrder, SliceDown, SliceUp, StopOrder
from workers.host.ports import free_port
from workers.host.raylet import exit_with_raylet
from workers.slice.code import Code
from workers.slice.gang import Gang, GangPhase
from workers.slice.hosts import Host
from workers.slice.lending import Lent, Muster, NotGathered, SliceLoan
from workers.slice.messages import (
    LOAN_REPLY,
    RUN_ORDER,
    SLICE_PLAN,
    SUPERVISOR_STATE,
    LoanReply,
    Phase,
    SupervisorState,
    facts_json,
)
from workers.slice.outbox import Outbox
from workers.slice.outputs import Outputs
from workers.slice.reports import Reports
from workers.slice.reservation import dead_nodes, reserve
from workers.slice.upload import Uploader

LEADING_EVERY_S: Final = 0.3
IDLE_EVERY_S: Final = 1.0

log = logging.getLogger(__name__)


class Supervisor:
    """One reservation of one slice. Arguments and results are JSON: see `workers.slice.messages`."""

    def __init__(self, plan_json: str) -> None:
        self._plan = SLICE_PLAN.validate_json(plan_json)
        self._server = self._plan.server
        self._outbox = Outbox(f"{self._plan.slice_id}/{self._plan.incarnation}")
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._phase = Phase.RESERVING
        self._hosts: tuple[Host, ...] = ()
        self._gang: Gang | None = None
        self._gang_hosts: tuple[Host, ...] = ()
        """Of all its slices."""
        self._muster: Muster | None = None
        """Of an attempt on several slices: gathers their hosts, and holds the loans until its gang has ended."""
        self._lent: Lent | None = None
        self._reports: list[Reports] = []
        self._ended: list[str] = []
        self._newest: dict[str, tuple[int, int]] = {}
        """For each job the highest leader epoch and the highest attempt number that were accepted."""
        exit_with_raylet(lambda: None)
        threading.Thread(target=self._run, name="leader", daemon=True).start()

    def start(self, order_json: str, server: str) -> str:
        """Run the attempt; once, however often it is asked. Answers what was done, in words for the log."""
        order = RUN_ORDER.validate_json(order_json)
        with self._lock:
            self._server = server
            if order.attempt_id in self._ended:
                return "ended already"
            if self._led == order.attempt_id:
                return "running"
            if (why := self._refusal(order)) is not None:
                return f"refused: {why}"
            self._newest[order.job_id] = (order.epoch, order.number)
            if order.impossible is not None:
                self._end_unstarted(order.attempt_id, "invalid_program", order.impossible)
                return "refused: impossible"
            if len(order.slices) > 1:
                loans = [SliceLoan(slice_id, order) for slice_id in order.slices[1:]]
                self._muster = Muster(order, self._hosts, loans, ticks_ms=_ticks_ms)
                self._wake.set()
                return "gathering its slices"
            return self._begin(order, self._hosts)

    def stop(self, attempt_id: str, reason: str, grace_ms: int) -> None:
        """End the attempt: see `Gang.stop`. One that was never started here is reported as ended."""
        with self._lock:
            if self._gang is not None and self._gang.order.attempt_id == attempt_id:
                self._gang.stop(StopOrder(reason, grace_ms))
            elif self._muster is not None and self._muster.order.attempt_id == attempt_id:
                self._dismiss(NotGathered(reason, f"stopped before it started: {reason}"))
            elif attempt_id not in self._ended:
                self._end_unstarted(attempt_id, reason, f"stopped before it started: {reason}")
        self._wake.set()

    def lend(self, order_json: str) -> str:
        """Lend the slice's agents to the supervisor that leads the attempt; as often as it asks. A LoanReply."""
        order = RUN_ORDER.validate_json(order_json)
        with self._lock:
            same = self._lent is not None and self._lent.attempt_id == order.attempt_id and not self._lent.recalled
            why = None if same else self._refusal(order)
            if why is None and not same:
                self._newest[order.job_id] = (order.epoch, order.number)
                self._lent = Lent(order.attempt_id)
            hosts = tuple(host.info for host in self._hosts)
        self._wake.set()
        return LOAN_REPLY.dump_json(LoanReply(why, self._plan.incarnation, hosts)).decode()

    def take_back(self, attempt_id: str) -> None:
        """The slice is lent to the attempt no longer; what of it still runs here is ended."""
        with self._lock:
            if self._lent is not None and self._lent.attempt_id == attempt_id:
                self._lent.recalled = True
        self._wake.set()

    def announce(self) -> None:
        """Say again that the slice is up: to a cluster process, and perhaps a control plane, that has not heard it."""
        with self._lock:
            if self._phase is Phase.UP:
                plan = self._plan
                self._outbox.add(
                    SliceUp(
                        kind="slice_up",
                        slice_id=SliceId(plan.slice_id),
                        incarnation=plan.incarnation,
                        pool=plan.pool,
                        shape=plan.shape,
                        capacity=plan.capacity,
                        hosts=tuple(host.info for host in self._hosts),
                        at_ms=_now_ms(),
                    )
                )

    def facts(self, acknowledged: int, server: str) -> str:
        """Forget what is acknowledged; all that is not, as a FactsPost. `server` is where streams go from now on."""
        self._server = server
        self._outbox.acknowledge(acknowledged)
        return facts_json(self._outbox.pending())

    def state(self) -> str:
        """A SupervisorState."""
        with self._lock:
            free = self._led is None and self._lent is None
            settled = free and not self._outbox.pending() and all(r.settled() for r in self._reports)
            plan, lent = self._plan, self._lent.attempt_id if self._lent is not None else None
            state = SupervisorState(
                plan.incarnation, plan.build, self._phase, self._led, tuple(self._ended), settled, lent
            )
        return SUPERVISOR_STATE.dump_json(state).decode()

    # ------------------------------------------------------------------------------------------------ the leader thread

    def _run(self) -> None:
        try:
            self._reserve()
            self._lead()
        except Exception:
            log.exception("the supervisor of slice %s cannot go on", self._plan.slice_id)
        finally:
            # A supervisor that answers but does not lead would hold its slice for ever; a dead one is seen.
            logging.shutdown()
            os._exit(1)

    def _lead(self) -> None:
        looked_at = 0.0
        dead: frozenset[str] = frozenset()
        while True:
            if time.monotonic() - looked_at > IDLE_EVERY_S:
                dead, looked_at = dead_nodes(), time.monotonic()
            with self._lock:
                self._step(dead)
                busy = self._led is not None or self._lent is not None
            self._wake.wait(LEADING_EVERY_S if busy else IDLE_EVERY_S)
            self._wake.clear()

    def _reserve(self) -> None:
        try:
            self._hosts = reserve(self._plan)
        except RayError as error:
            log.warning("slice %s was not reserved: %s", self._plan.slice_id, error)
            self._phase = Phase.LOST
        else:
            self._phase = Phase.UP
            self.announce()

    def _step(self, dead: frozenset[str]) -> None:
        lent = self._lent.attempt_id if self._lent is not None else None
        attempt_id = self._gang.order.attempt_id if self._gang is not None else lent
        for host in self._gang_hosts or self._hosts:
            host.observe(attempt_id, dead, renews=lent is None)
        if self._muster is not None and self._gang is None:
            self._gather(self._muster)
        if self._gang is not None:
            self._gang.step()
            if self._gang.phase is GangPhase.ENDED:
                self._ended.append(self._gang.order.attempt_id)
                self._gang, self._gang_hosts = None, ()
                if self._muster is not None:
                    self._muster.give_back()
                    self._muster = None
        if self._lent is not None and self._lent.ended(self._hosts):
            self._lent = None
        lost = [host for host in self._hosts if host.lost is not None or host.notice is not None]
        if lost and self._led is None and self._lent is None and self._phase is Phase.UP:
            # After the gang's own report, so that the slice is not offered, nor called lost, before its ranks are gone.
            words = "; ".join(f"host {host.info.host}: {host.lost or host.notice}" for host in lost)
            slice_id = SliceId(self._plan.slice_id)
            self._outbox.add(SliceDown("slice_down", slice_id, self._plan.incarnation, words, _now_ms()))
            self._phase = Phase.LOST

    @property
    def _led(self) -> str | None:
        """The attempt that this supervisor leads, from its order to the report of its end."""
        if self._gang is not None:
            return self._gang.order.attempt_id
        return self._muster.order.attempt_id if self._muster is not None else None

    def _refusal(self, order: RunOrder) -> str | None:
        """Why the slice cannot serve the order now."""
        epoch, number = self._newest.get(order.job_id, (0, 0))
        if order.epoch < epoch or order.number < number:
            return f"epoch {order.epoch}, number {order.number} are older than {epoch}, {number}"
        if (other := self._led) is not None:
            return f"attempt {other} still runs"
        if self._lent is not None:
            return f"it is lent to attempt {self._lent.attempt_id}"
        return None if self._phase is Phase.UP else f"the slice is {self._phase}"

    def _gather(self, muster: Muster) -> None:
        found = muster.step()
        if isinstance(found, NotGathered):
            self._dismiss(found)
        elif found is not None:
            log.info("attempt %s on its slices: %s", muster.order.attempt_id, self._begin(muster.order, found))
            if self._gang is None:
                muster.give_back()
                self._muster = None

    def _dismiss(self, why: NotGathered) -> None:
        """The attempt on several slices ends before it began."""
        muster, self._muster = self._muster, None
        assert muster is not None
        muster.give_back()
        self._end_unstarted(muster.order.attempt_id, why.trouble, why.message)

    def _begin(self, order: RunOrder, hosts: tuple[Host, ...]) -> str:
        try:
            # This is host 0, where rank 0 will be.
            coordinator = f"{hosts[0].info.address}:{free_port()}"
        except OSError as error:
            self._end_unstarted(order.attempt_id, "launch_failed", str(error))
            return f"refused: {error}"
        reports = Reports(
            Uploader(order.attempt_id, order.token, hosts, lambda: self._server),
            Outputs(order.attempt_id, order.token, hosts, lambda: self._server),
        )
        self._forget_uploaded()
        self._reports.append(reports)
        code = self._code_for(order, hosts)
        gang = Gang(order, hosts, reports, self._outbox.add, now_ms=_now_ms, ticks_ms=_ticks_ms, code=code)
        gang.launch(coordinator)
        reports.start()
        self._gang, self._gang_hosts = gang, hosts
        self._wake.set()
        return "started"

    def _code_for(self, order: RunOrder, hosts: tuple[Host, ...]) -> Code | None:
        if order.program.code is None:
            return None
        code = Code(order.program.code, order.attempt_id, order.token, hosts, lambda: self._server)
        code.start()
        return code

    def _forget_uploaded(self) -> None:
        """Files of earlier attempts go once all their bytes are stored elsewhere and the slice has another use."""
        for reports in self._reports:
            for host in reports.hosts if reports.settled() else ():
                if host.lost is None:
                    host.forget((reports.attempt_id,))
        self._reports = [reports for reports in self._reports if not reports.settled()]

    def _end_unstarted(self, attempt_id: str, trouble: str, message: str) -> None:
        now_ms = _now_ms()
        self._outbox.add(GangEnded("gang_ended", AttemptId(attempt_id), trouble, message, (), now_ms, now_ms))
        self._ended.append(attempt_id)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _ticks_ms() -> int:
    return time.monotonic_ns() // 1_000_000
