"""`judge`: why a gang ended, from how its ranks ended. A verdict needs positive evidence; echoes are never blamed."""

import signal
from collections.abc import Sequence
from typing import Final

from orchestrator.domain.endings import Reason, ending
from orchestrator.domain.incident import Cause, Overdue, RankExit
from orchestrator.incidents.signs import is_echo, never_met, reason_of
from orchestrator.incidents.stacks import group, main_thread, odd_rank

_TROUBLES: Final = frozenset(
    {
        Reason.SLICE_LOST,
        Reason.HOST_LOST,
        Reason.LAUNCH_FAILED,
        Reason.PORT_CLASH,
        Reason.PREEMPTED,
        Reason.INVALID_PROGRAM,
    }
)
"""What only the supervisor sees, or was told with the order; it tells it by the reason's name."""


def judge(
    trouble: str | None,
    message: str,
    exits: Sequence[RankExit],
    stop: Reason | None,
    launched: bool,
    overdue: Overdue | None = None,
) -> Cause:
    """The cause of a gang's end.

    `trouble` and `message` are the supervisor's (see `protocol.GangEnded`); `stop` is the reason of a stop that we had
    ordered, if any; `launched` says whether every rank had a process: one that never ran has no exit, and has not
    succeeded; `overdue` is what made no progress, where the gang was ended for that. Order of weight: success of every
    rank; a lost host; trouble that the supervisor saw; the first rank that failed by itself; our own order.
    """
    whole = trouble is None or (launched and trouble not in _TROUBLES - {Reason.PREEMPTED})
    if exits and whole and all(exit.ok for exit in exits):
        return Cause(Reason.COMPLETED, ending(Reason.COMPLETED).says)
    if lost := [exit for exit in exits if exit.lost]:
        return _lost(lost)
    if overdue is not None and trouble in (Reason.STALLED, Reason.INIT_TIMEOUT):
        return _made_no_progress(Reason(trouble), overdue, exits)
    if trouble in _TROUBLES:
        return Cause(Reason(trouble), message or ending(Reason(trouble)).says)
    failed = [exit for exit in exits if not exit.ok and not exit.ordered]
    if stop is not None and not [exit for exit in failed if not _ended_by_notice(exit)]:
        return Cause(stop, ending(stop).says)
    if failed and all(_ended_by_notice(exit) for exit in failed):
        return _noticed(failed[0])
    if failed and all(never_met(exit) for exit in failed) and len(failed) < len(exits):
        return _gave_up_waiting(exits, failed)
    if failed:
        return _first_failure(failed)
    return Cause(Reason.LAUNCH_FAILED, message or "the gang ended before any rank did, and nobody saw why")


def _lost(lost: Sequence[RankExit]) -> Cause:
    first = min(lost, key=lambda exit: (exit.host != 0, exit.rank))
    reason = Reason.SLICE_LOST if first.host == 0 else Reason.HOST_LOST
    at = f" at step {first.last_step:,}" if first.last_step is not None else ""
    return Cause(
        reason,
        f"host {first.host} of {first.slice_id} was lost with rank {first.rank}{at}",
        first.rank,
        first.slice_id,
        first.host,
    )


def _noticed(first: RankExit) -> Cause:
    """Nobody here asked for the end and the program did not fail: the provider told its hosts to go."""
    said = f"rank {first.rank} on {first.slice_id}/{first.host} {first.says}: its host was told to end"
    return Cause(Reason.PREEMPTED, said, first.rank, first.slice_id, first.host)


def _ended_by_notice(exit: RankExit) -> bool:
    """Whether a rank that we had told to end did so, in any of the usual ways."""
    return exit.signal == signal.SIGTERM or exit.exit_code in (0, 128 + signal.SIGTERM)


def _first_failure(failed: Sequence[RankExit]) -> Cause:
    root = min(failed, key=lambda exit: (is_echo(exit), exit.at_ms or 0, exit.rank))
    at = f" at step {root.last_step:,}" if root.last_step is not None else ""
    who = f"rank {root.rank} on {root.slice_id}/{root.host}"
    reason = reason_of(root)
    said = root.claim.message if root.claim is not None else _last_line(root.stderr_tail)
    if reason is Reason.HOST_OOM and root.memory is not None:
        said = root.memory
    sentence = f"{who} {root.says}{at}" + (f": {said}" if said else "")
    evidence = (*root.stderr_tail, *filter(None, (root.memory, root.disk)))
    return Cause(reason, sentence, root.rank, root.slice_id, root.host, evidence)


def _made_no_progress(reason: Reason, overdue: Overdue, exits: Sequence[RankExit]) -> Cause:
    """Who held the others up: at the barrier whoever is missing, elsewhere the rank that is unlike the others."""
    waited = f"{overdue.waited_ms / 1000:,.0f} s (limit {overdue.limit_ms / 1000:,.0f} s)"
    groups = group(exits)
    rank = odd_rank(groups)
    if reason is Reason.INIT_TIMEOUT:
        rank = rank if rank in overdue.ranks else next(iter(overdue.ranks), None)
        names = ", ".join(str(one) for one in overdue.ranks[:10]) + (", …" if len(overdue.ranks) > 10 else "")
        plural = len(overdue.ranks) > 1
        said = f"rank{'s' if plural else ''} {names} did not join the gang within {waited}"
    elif overdue.phase == "train":
        after = f" after step {overdue.step:,}" if overdue.step is not None else ""
        said = f"no step was made for {waited}{after}"
    else:
        said = f"phase {overdue.phase} has taken {waited}"
    rank = rank if rank is not None or len(overdue.ranks) != 1 else overdue.ranks[0]
    root = next((exit for exit in exits if exit.rank == rank), None)
    if root is None:
        return Cause(reason, said, rank)
    where = _where(root)
    sentence = f"{said}: rank {root.rank} on {root.slice_id}/{root.host} {where}" if where else said
    return Cause(reason, sentence, root.rank, root.slice_id, root.host, root.stack or root.stderr_tail)


def _gave_up_waiting(exits: Sequence[RankExit], failed: Sequence[RankExit]) -> Cause:
    """jax.distributed gave up before our own limit: the ranks that did not are the ones that were missing."""
    missing = [exit for exit in exits if exit not in failed]
    who = ", ".join(f"rank {exit.rank} on {exit.slice_id}/{exit.host}" for exit in missing[:10])
    root, waited = missing[0], min(failed, key=lambda exit: exit.at_ms or 0)
    said = f"{who} did not join the gang before jax.distributed gave up in rank {waited.rank}"
    return Cause(Reason.INIT_TIMEOUT, said, root.rank, root.slice_id, root.host, waited.stderr_tail)


def _where(root: RankExit) -> str:
    if root.stopped:
        return "was stopped, as by SIGSTOP"
    frames = main_thread(root.stack)
    return f"stood in {frames[0]}" if frames else ""


def _last_line(lines: Sequence[str]) -> str:
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:300]
