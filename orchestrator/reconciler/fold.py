"""Folding facts into the desk: each moves at most one job or one slice, and only if it speaks of what is current."""

from dataclasses import replace

from orchestrator.domain.endings import Reason
from orchestrator.domain.job import Slice, SliceState
from orchestrator.domain.lifecycle import JobEvent, JobState
from orchestrator.domain.topology import SliceShape
from orchestrator.incidents.card import with_card
from orchestrator.incidents.verdict import judge
from orchestrator.protocol import GangEnded, GangReady, SliceDown, SliceUp
from orchestrator.reconciler.desk import Desk, JobDraft
from orchestrator.reconciler.settle import settle
from orchestrator.world import StoredFact


def slice_up(desk: Desk, fact: StoredFact, up: SliceUp) -> None:
    """A slice joined, or joined anew. One of a shape that this version does not know cannot be offered."""
    try:
        shape = SliceShape.parse(up.shape)
    except ValueError:
        desk.ignore(fact.row_id)
        return
    now = desk.world.now_ms
    said = f"{up.slice_id} is up: {shape}, {len(up.hosts)} hosts, pool {up.pool}"
    joined = Slice(up.slice_id, fact.cluster_id, up.pool, shape, up.capacity, up.incarnation, SliceState.UP, "", now)
    desk.put_slice(joined, said, fact.row_id)


def slice_down(desk: Desk, fact: StoredFact, down: SliceDown) -> None:
    """A slice left. A report about an older incarnation says nothing about the present one."""
    known = desk.slice(down.slice_id)
    if known is None or known.incarnation != down.incarnation:
        desk.ignore(fact.row_id)
        return
    gone = replace(known, state=SliceState.DOWN, message=down.message, updated_at_ms=desk.world.now_ms)
    desk.put_slice(gone, f"{down.slice_id} is down: {down.message}", fact.row_id)


def gang_fact(desk: Desk, draft: JobDraft, row_id: int, body: GangReady | GangEnded) -> None:
    """News of the job's live attempt."""
    match body:
        case GangReady() as ready:
            _gang_ready(desk, draft, row_id, ready)
        case GangEnded() as ended:
            _gang_ended(desk, draft, row_id, ended)


def _gang_ready(desk: Desk, draft: JobDraft, row_id: int, ready: GangReady) -> None:
    """Every rank has a process: the job runs."""
    if draft.attempt is None or draft.attempt.ready_at_ms is not None:
        desk.ignore(row_id)
        return
    draft.attempt = replace(draft.attempt, ready_at_ms=ready.at_ms)
    draft.ranks.extend(ready.ranks)
    draft.facts.append(row_id)
    if draft.job.state is JobState.STARTING:
        desk.move(draft, JobEvent.GANG_READY, f"all {len(ready.ranks)} ranks of attempt {draft.attempt.number} run")


def _gang_ended(desk: Desk, draft: JobDraft, row_id: int, ended: GangEnded) -> None:
    """An attempt is over."""
    attempt = draft.attempt
    if attempt is None:
        return
    stop = attempt.stop.reason if attempt.stop else None
    launched = attempt.ready_at_ms is not None
    cause = judge(ended.trouble, ended.message, ended.exits, stop, launched, ended.overdue)
    cause = with_card(cause, ended.exits, ended.detected_at_ms, ended.last_sign_at_ms, ended.overdue)
    draft.facts.append(row_id)
    draft.attempt = replace(
        attempt,
        detected_at_ms=ended.detected_at_ms,
        last_sign_at_ms=ended.last_sign_at_ms,
        ended_at_ms=max(ended.drained_at_ms, attempt.ordered_at_ms),
        reason=cause.reason,
        cause=cause,
    )
    if cause.reason in (Reason.HOST_LOST, Reason.SLICE_LOST):
        _lose_slices(desk, draft.attempt.slices if cause.slice_id is None else (cause.slice_id,), cause.sentence)
    root = next((exit for exit in ended.exits if exit.rank == cause.rank and not exit.ordered and not exit.lost), None)
    settle(desk, draft, cause, root)


def _lose_slices(desk: Desk, slices: tuple[str, ...], why: str) -> None:
    """A slice is lost as a whole with one host: it must not be offered in the moment before its own report comes."""
    for known in tuple(desk.slices()):
        if known.id in slices and known.state is SliceState.UP:
            gone = replace(known, state=SliceState.DOWN, message=why, updated_at_ms=desk.world.now_ms)
            desk.put_slice(gone, f"{known.id} is down: {why}")
