"""What to do about each kind of ending, in a sentence for the job's owner. Pure."""

import signal
from collections.abc import Mapping
from typing import Final

from orchestrator.domain.endings import Reason
from orchestrator.domain.incident import Advice, RankExit

_ADVICE: Final[Mapping[Reason, tuple[Advice, str]]] = {
    Reason.PROGRAM_ERROR: (Advice.CHANGE, "read the last lines of its stderr; the same input will likely fail again"),
    Reason.HOST_OOM: (Advice.CHANGE, "use less host memory: a smaller prefetch, fewer loader processes, more hosts"),
    Reason.NAN_LOSS: (Advice.CHANGE, "lower the learning rate or clip gradients; look at the batch of that step"),
    Reason.HBM_OOM: (Advice.CHANGE, "use a smaller batch, more rematerialisation, or a larger slice"),
    Reason.INVALID_PROGRAM: (Advice.CHANGE, "mend what the sentence names; it cannot run as it is"),
    Reason.STALLED: (Advice.RETRY, "see where the odd rank stood; raise `patience` if that place may take so long"),
    Reason.INIT_TIMEOUT: (Advice.RETRY, "see what the missing rank did; raise `patience.init` if it may take so long"),
    Reason.PREEMPTED: (Advice.RETRY, "nothing to change: it goes on elsewhere from its last committed step"),
    Reason.HOST_LOST: (Advice.RETRY, "nothing to change: it goes on elsewhere from its last committed step"),
    Reason.SLICE_LOST: (Advice.RETRY, "nothing to change: it goes on elsewhere from its last committed step"),
    Reason.PORT_CLASH: (Advice.RETRY, "nothing to change: the next attempt gets another port"),
    Reason.LAUNCH_FAILED: (Advice.AVOID_HOST, "the host could not start a process: it goes on elsewhere"),
    Reason.STORAGE_UNAVAILABLE: (Advice.RETRY, "look at the bucket's permissions and quota if it happens again"),
    Reason.DISK_FULL: (Advice.AVOID_HOST, "free the host's disk, or write less to it; it goes on elsewhere"),
    Reason.NOTHING_RESTORABLE: (Advice.CHANGE, "look at the checkpoints; `checkpoint.continue_from` begins elsewhere"),
}
_NOTHING: Final = (Advice.NOTHING, "")
_BAD_HARDWARE: Final = frozenset({signal.SIGBUS, signal.SIGILL})


def advise(reason: Reason, root: RankExit | None) -> tuple[Advice, str]:
    """What to do about an attempt that ended for `reason`, `root` being the rank to blame if its exit is known."""
    if root is not None and reason is Reason.PROGRAM_ERROR:
        if root.signal in _BAD_HARDWARE:
            return Advice.AVOID_HOST, "such a signal may come from a broken host: see whether it follows the host"
        if root.signal == signal.SIGKILL:
            return Advice.RETRY, "something on its host killed it, and it was not us; no sign of a lack of memory"
    return _ADVICE.get(reason, _NOTHING)
