"""Leads the gang of one attempt: all ranks start or none do, the first failure ends all, one report at the end.

Makes no Ray call and starts no thread: `step` is called a few times a second with hosts that were just observed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Protocol

from orchestrator.domain.ids import SliceId
from orchestrator.domain.incident import Overdue, RankExit
from orchestrator.domain.job import RankStarted
from orchestrator.protocol import FactBody, GangEnded, GangReady, HostInfo, RunOrder, StopOrder
from workers.host.messages import HostStatus, Launched, RankOrder, Stream
from workers.slice.clash import is_port_clash
from workers.slice.patience import BARRIER, overdue

LAUNCH_TIMEOUT_MS: Final = 30_000
FLUSH_TIMEOUT_MS: Final = 10_000
"""How long the report waits for the last bytes while nobody takes them."""
FLUSH_LIMIT_MS: Final = 120_000
"""How long it waits at most; what is left then follows the report."""
HURRIED_FLUSH_MS: Final = 2_000
"""The same once the attempt is not wanted any more."""
SLICE_LOST: Final = "slice_lost"
PORT_CLASH: Final = "port_clash"
SUPERSEDED: Final = "superseded"
"""The trouble of an attempt that is no longer wanted: the orders lack it, or its reports get 409 or 410."""

STALLED: Final = "stalled"
INIT_TIMEOUT: Final = "init_timeout"
PREEMPTED: Final = "preempted"
INSPECT_TIMEOUT_MS: Final = 15_000
"""How long the stacks of a gang that hangs are waited for."""
NOTICE_GRACE_MS: Final = 25_000
"""From a notice to SIGKILL: providers give 30 s."""


class GangHost(Protocol):
    """What the leader needs of a host; `workers.slice.hosts.Host` is one."""

    info: HostInfo
    slice_id: SliceId
    lost: str | None
    status: HostStatus | None
    last_sign_ms: int

    @property
    def clock_ahead_ms(self) -> int: ...
    def launch(self, order: RankOrder) -> None: ...
    def launched(self) -> Launched | str | None: ...
    def terminate(self, attempt_id: str, grace_ms: int) -> None: ...
    def end(self, attempt_id: str) -> None: ...
    def inspect(self, attempt_id: str) -> None: ...


class GangStreams(Protocol):
    """What the leader needs of the uploader."""

    def finish(self, sizes: dict[int, dict[Stream, int]]) -> None: ...
    def finished(self) -> bool: ...
    def refused(self) -> bool: ...
    def quiet_ms(self) -> int: ...


class GangCode(Protocol):
    """What the leader needs of the code on its way; `workers.slice.code.Code` is one."""

    trouble: str | None

    def ready(self) -> bool: ...
    def give_up(self) -> None: ...


class GangPhase(StrEnum):
    FETCHING = "fetching"
    """The program's code is brought to the hosts; nothing runs yet."""
    LAUNCHING = "launching"
    RUNNING = "running"
    INSPECTING = "inspecting"
    """It hangs and will be ended once all its stacks were taken."""
    ENDING = "ending"
    FLUSHING = "flushing"
    ENDED = "ended"


@dataclass(slots=True)
class _Verdict:
    """What is known of the end when it begins."""

    trouble: str | None
    message: str
    detected_at_ms: int
    overdue: Overdue | None = None


class Gang:
    """One attempt, its ranks numbered in the order of `hosts`: slice by slice.

    `now_ms` is the wall clock (for the report) and `ticks_ms` a monotonic one (for waiting); `emit` takes the facts.
    """

    def __init__(
        self,
        order: RunOrder,
        hosts: Sequence[GangHost],
        streams: GangStreams,
        emit: Callable[[FactBody], None],
        *,
        now_ms: Callable[[], int],
        ticks_ms: Callable[[], int],
        code: GangCode | None = None,
    ) -> None:
        self.order = order
        self.phase = GangPhase.LAUNCHING if code is None else GangPhase.FETCHING
        self._code = code
        self._coordinator = ""
        self._hosts = tuple(hosts)
        self._streams = streams
        self._emit = emit
        self._now_ms = now_ms
        self._ticks_ms = ticks_ms
        self._verdict: _Verdict | None = None
        self._drained_at_ms = 0
        self._flush_began = 0
        self._flush_by = 0
        self._stopped_at: int | None = None
        self._kill_at: int | None = None
        self._launch_began = ticks_ms()
        self._inspect_by = 0
        self._coordinator = ""

    def launch(self, coordinator: str) -> None:
        """Have every host start its rank, as soon as the program's code is there."""
        self._coordinator = coordinator
        if self.phase is GangPhase.LAUNCHING:
            self._launch()

    def _launch(self) -> None:
        self._launch_began = self._ticks_ms()
        for rank, host in enumerate(self._hosts):
            host.launch(
                RankOrder(
                    job_id=self.order.job_id,
                    attempt_id=self.order.attempt_id,
                    number=self.order.number,
                    rank=rank,
                    rank_count=len(self._hosts),
                    coordinator=self._coordinator,
                    program=self.order.program,
                    env_vars=self.order.env_vars,
                    checkpoint_root=self.order.checkpoint.root,
                    checkpoint_every_steps=self.order.checkpoint.every_steps,
                    committed_step=self.order.checkpoint.committed_step,
                    checkpoint_origin=self.order.checkpoint.origin,
                    save_deadline_ms=self.order.checkpoint.save_deadline_ms,
                    slice_index=self.order.slices.index(host.slice_id),
                    slice_count=len(self.order.slices),
                )
            )

    def stop(self, stop: StopOrder, says: str = "") -> None:
        """End the gang: SIGTERM, and SIGKILL `grace_ms` after the *first* stop. `says` tells why.

        Repeats change nothing; a smaller grace hurries. Has no effect on the verdict when the gang was ending already;
        where only the last bytes are awaited, it shortens that.
        """
        if self.phase is GangPhase.FLUSHING:
            self._flush_by = min(self._flush_by, self._ticks_ms() + HURRIED_FLUSH_MS)
        if self.phase in (GangPhase.FLUSHING, GangPhase.ENDED):
            return
        if self._stopped_at is None:
            self._stopped_at = self._ticks_ms()
            if self._verdict is None:
                self._begin_to_end(stop.reason, says or f"stopped: {stop.reason}")
                for host in self._hosts:
                    if stop.grace_ms > 0 and host.lost is None:
                        host.terminate(self.order.attempt_id, stop.grace_ms)
        kill_at = self._stopped_at + stop.grace_ms
        self._kill_at = kill_at if self._kill_at is None else min(self._kill_at, kill_at)

    def step(self) -> None:
        """Look at the hosts and do what follows."""
        if self._streams.refused() and self._verdict is None:
            self.stop(StopOrder(SUPERSEDED, grace_ms=0))
        if self._verdict is None and (notice := self._notice()) is not None:
            self.stop(StopOrder(PREEMPTED, NOTICE_GRACE_MS), notice)
        if self.phase is GangPhase.FETCHING:
            self._step_fetching()
        if self.phase is GangPhase.LAUNCHING:
            self._step_launching()
        if self.phase is GangPhase.RUNNING:
            self._step_running()
        if self.phase is GangPhase.INSPECTING:
            self._step_inspecting()
        if self.phase is GangPhase.ENDING:
            self._step_ending()
        if self.phase is GangPhase.FLUSHING:
            self._step_flushing()

    # ------------------------------------------------------------------------------------------------ phase by phase

    def _step_fetching(self) -> None:
        assert self._code is not None
        if (lost := self._lost_in_words()) is not None:
            self._fail(None, lost)
        elif self._code.trouble is not None:
            self._fail("launch_failed", self._code.trouble)
        elif self._code.ready():
            self.phase = GangPhase.LAUNCHING
            self._launch()

    def _step_launching(self) -> None:
        if (lost := self._lost_in_words()) is not None:
            return self._fail(None, lost)
        outcomes = [host.launched() for host in self._hosts]
        for host, outcome in zip(self._hosts, outcomes, strict=True):
            if isinstance(outcome, str):
                return self._fail("launch_failed", f"{self._name(host)} could not launch its rank: {outcome}")
        if None in outcomes:
            if self._ticks_ms() - self._launch_began > LAUNCH_TIMEOUT_MS:
                names = ", ".join(self._name(h) for h, o in zip(self._hosts, outcomes, strict=True) if o is None)
                self._fail("launch_failed", f"{names} launched no rank within {LAUNCH_TIMEOUT_MS // 1000} s")
            return None
        ranks = tuple(
            RankStarted(rank, host.slice_id, host.info.host, outcome.pid, outcome.started_at_ms)
            for rank, (host, outcome) in enumerate(zip(self._hosts, outcomes, strict=True))
            if isinstance(outcome, Launched)
        )
        self._emit(GangReady("gang_ready", self.order.attempt_id, ranks, self._now_ms()))
        self.phase = GangPhase.RUNNING
        return None

    def _step_running(self) -> None:
        if (lost := self._lost_in_words()) is not None:
            return self._fail(None, lost)
        exits = [self._exit_of(rank, host) for rank, host in enumerate(self._hosts)]
        failed = [found for found in exits if found is not None and not found.ok]
        if failed:
            first = min(failed, key=lambda found: found.at_ms or 0)
            if all(found.ordered for found in failed):
                # Not by us: agents end ranks when no poll comes, so this supervisor was frozen or cut off.
                return self._fail(SLICE_LOST, f"slice {first.slice_id} was cut off from its supervisor")
            for found in failed:
                if is_port_clash(found, self._coordinator):
                    at = f"rank 0 on {found.slice_id}/{found.host}"
                    return self._fail(PORT_CLASH, f"{at} found the coordinator's port taken")
            return self._fail(None, f"rank {first.rank} on {first.slice_id}/{first.host} {first.says}")
        if all(exits):
            self._begin_to_end(None, "every rank exited 0")
        elif (late := self._overdue()) is not None:
            self._begin_to_inspect(late)
        return None

    def _step_inspecting(self) -> None:
        """No rank is ended before all were looked at: the odd one is only seen beside the others."""
        hurry = self._kill_at is not None and self._ticks_ms() >= self._kill_at
        if hurry or self._ticks_ms() >= self._inspect_by or all(map(_looked_at, self._hosts)):
            self.phase = GangPhase.ENDING
            self._kill_at = self._ticks_ms()
            self._end_all()

    def _step_ending(self) -> None:
        hurry = self._kill_at is not None and self._ticks_ms() >= self._kill_at
        if hurry or self._lost_in_words() is not None:
            self._end_all()
        # Every surviving host answers once more before the report: a peer's network error may be the echo of a host
        # whose loss is not known yet, and only that host's silence tells.
        if all(host.lost is not None or (host.status is not None and host.status.drained) for host in self._hosts):
            self._drained_at_ms = self._now_ms()
            self._flush_began = self._ticks_ms()
            self._flush_by = self._flush_began + FLUSH_LIMIT_MS
            self._streams.finish(
                {
                    rank: host.status.sizes
                    for rank, host in enumerate(self._hosts)
                    if host.lost is None and host.status is not None
                }
            )
            self.phase = GangPhase.FLUSHING

    def _step_flushing(self) -> None:
        now = self._ticks_ms()
        waited = min(now - self._flush_began, self._streams.quiet_ms())
        if self._streams.finished() or waited > FLUSH_TIMEOUT_MS or now >= self._flush_by:
            assert self._verdict is not None
            lost = [host for host in self._hosts if host.lost is not None]
            self._emit(
                GangEnded(
                    kind="gang_ended",
                    attempt_id=self.order.attempt_id,
                    trouble=self._verdict.trouble,
                    message=self._verdict.message,
                    exits=tuple(filter(None, (self._exit_of(rank, host) for rank, host in enumerate(self._hosts)))),
                    detected_at_ms=self._verdict.detected_at_ms,
                    drained_at_ms=self._drained_at_ms,
                    last_sign_at_ms=min((host.last_sign_ms for host in lost), default=None),
                    overdue=self._verdict.overdue,
                )
            )
            self.phase = GangPhase.ENDED

    # -------------------------------------------------------------------------------------------------------- words

    def _fail(self, trouble: str | None, message: str) -> None:
        """The first failure wins: the others are killed at once, whatever they are doing."""
        self._begin_to_end(trouble, message)
        self._kill_at = self._ticks_ms()
        self._end_all()

    def _begin_to_inspect(self, late: Overdue) -> None:
        trouble = INIT_TIMEOUT if late.phase == BARRIER else STALLED
        self._verdict = _Verdict(trouble, f"no progress in phase {late.phase}", self._now_ms(), late)
        self._inspect_by = self._ticks_ms() + INSPECT_TIMEOUT_MS
        self.phase = GangPhase.INSPECTING
        for host in self._hosts:
            if host.lost is None:
                host.inspect(self.order.attempt_id)

    def _begin_to_end(self, trouble: str | None, message: str) -> None:
        self._verdict = _Verdict(trouble, message, self._now_ms())
        self.phase = GangPhase.ENDING
        if self._code is not None:
            self._code.give_up()

    def _end_all(self) -> None:
        for host in self._hosts:
            if host.lost is None and not (host.status is not None and host.status.drained and host.status.exit):
                host.end(self.order.attempt_id)

    def _exit_of(self, rank: int, host: GangHost) -> RankExit | None:
        if host.status is not None and host.status.exit is not None:  # of a lost host: it had ended before that
            return replace(host.status.exit, clock_ahead_ms=host.clock_ahead_ms)
        if host.lost is None:
            return None
        return RankExit.lost_with_host(rank, host.slice_id, host.info.host)

    def _lost_in_words(self) -> str | None:
        names = [f"{self._name(host)} was lost: {host.lost}" for host in self._hosts if host.lost is not None]
        return "; ".join(names) or None

    def _overdue(self) -> Overdue | None:
        pulses = {
            rank: host.status.pulse
            for rank, host in enumerate(self._hosts)
            if host.status is not None and host.status.pulse is not None and host.status.exit is None
        }
        return overdue(self.order.limits, pulses)

    def _notice(self) -> str | None:
        """That a host will be taken away, in words; the slice goes with it."""
        for host in self._hosts:
            if host.status is not None and host.status.notice is not None:
                return f"{self._name(host)} will be taken away: {host.status.notice}"
        return None

    def _name(self, host: GangHost) -> str:
        return f"host {host.slice_id}/{host.info.host}"


def _looked_at(host: GangHost) -> bool:
    """Whether nothing more will be learnt of the rank's stacks."""
    return host.lost is not None or (
        host.status is not None and (host.status.inspected or host.status.exit is not None)
    )
