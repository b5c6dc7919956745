"""`judge`: why a gang ended, from how its ranks ended. A verdict needs positive evidence; echoes are never blamed."""

import signal
from collections.abc import Sequence
from typing import Final

from orchestrator.domain.endings import Reason, ending
from orchestrator.domain.incident import Cause, RankExit

_ECHOES: Final = (
    "Connection closed by peer",
    "Connection reset by peer",
    "coordination service",
    "CoordinationService",
    "Gloo",
    "heartbeat timeout",
    "Shutdown barrier",
)
"""What jax.distributed and gloo print in the ranks that lost a sibling."""

_TROUBLES: Final = frozenset(
    {Reason.SLICE_LOST, Reason.HOST_LOST, Reason.LAUNCH_FAILED, Reason.PORT_CLASH, Reason.INVALID_PROGRAM}
)
"""What only the supervisor sees, or was told with the order; it tells it by the reason's name."""

_SIDE_CLAIMS: Final = frozenset({"superseded"})


def judge(trouble: str | None, message: str, exits: Sequence[RankExit], stop: Reason | None, launched: bool) -> Cause:
    """The cause of a gang's end.

    `trouble` and `message` are the supervisor's (see `protocol.GangEnded`); `stop` is the reason of a stop that we had
    ordered, if any; `launched` says whether every rank had a process: one that never ran has no exit, and has not
    succeeded. Order of weight: success of every rank; a lost host; trouble that the supervisor saw; the first rank that
    failed by itself; our own order.
    """
    whole = trouble is None or (launched and trouble not in _TROUBLES)
    if exits and whole and all(exit.ok for exit in exits):
        return Cause(Reason.COMPLETED, ending(Reason.COMPLETED).says)
    if lost := [exit for exit in exits if exit.lost]:
        return _lost(lost)
    if trouble in _TROUBLES:
        return Cause(Reason(trouble), message or ending(Reason(trouble)).says)
    failed = [exit for exit in exits if not exit.ok and not exit.ordered]
    if stop is not None and not [exit for exit in failed if not _ended_by_notice(exit)]:
        return Cause(stop, ending(stop).says)
    if failed and all(_ended_by_notice(exit) for exit in failed):
        return _noticed(failed[0])
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
    root = min(failed, key=lambda exit: (_is_echo(exit), exit.exited_at_ms or 0, exit.rank))
    at = f" at step {root.last_step:,}" if root.last_step is not None else ""
    who = f"rank {root.rank} on {root.slice_id}/{root.host}"
    reason = Reason.PROGRAM_ERROR
    said = _last_line(root.stderr_tail)
    if root.claim is not None:
        said = root.claim.message
        reason = Reason(root.claim.reason) if root.claim.reason in set(Reason) else reason
    sentence = f"{who} {root.says}{at}" + (f": {said}" if said else "")
    return Cause(reason, sentence, root.rank, root.slice_id, root.host, root.stderr_tail)


def _is_echo(exit: RankExit) -> bool:
    """An abort, or an error about a lost sibling, follows another rank's failure."""
    if exit.claim is not None:
        told = exit.claim.message
        return exit.claim.reason in _SIDE_CLAIMS or any(echo in told for echo in _ECHOES)
    if exit.signal is not None:
        return exit.signal == signal.SIGABRT and any(echo in line for line in exit.stderr_tail for echo in _ECHOES)
    return any(echo in line for line in exit.stderr_tail[-5:] for echo in _ECHOES)


def _last_line(lines: Sequence[str]) -> str:
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:300]
