"""Why a rank fails: exceptions that carry their ending's reason, and the way a failed process ends."""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
from typing import ClassVar, NoReturn

from workers.rank.progress import Reporter

EXIT_FAILED = 1
EXIT_PREEMPTED = 128 + signal.SIGTERM
"""A rank that saved and left because of a notice; not 0, which would say that the program is complete."""

# What XLA, gloo and the coordination service say when *another* process of the gang is gone (JAX 0.10.2).
_PEER_LOST = (
    "gloo",
    "connection closed by peer",
    "connection reset by peer",
    "coordination service",
)


class RankFailure(Exception):  # named for what happened, like the endings
    """A failure whose reason is known where it is raised. The message is one sentence for the job's owner."""

    reason: ClassVar[str] = "program_error"


class NanLoss(RankFailure):
    """The loss or the gradient is not finite any more."""

    reason = "nan_loss"


class NothingRestorable(RankFailure):
    """Steps were committed and none of them can be restored."""

    reason = "nothing_restorable"


class StorageUnavailable(RankFailure):
    """The checkpoint folder cannot be read or written."""

    reason = "storage_unavailable"


class InvalidProgram(RankFailure):
    """The program cannot run as it is configured."""

    reason = "invalid_program"


class Superseded(RankFailure):
    """A newer attempt owns this job's checkpoints: this process is a left-over."""

    reason = "superseded"


class PerhapsCommitted(Superseded):
    """Superseded while it was not answered whether the last commit happened: that step's data must stay."""


def reason_of(error: BaseException) -> str:
    """The ending's reason that `error` stands for."""
    if isinstance(error, RankFailure):
        return error.reason
    if "RESOURCE_EXHAUSTED" in str(error) and type(error).__module__.startswith("jax"):
        return "hbm_oom"
    return "program_error"


def is_echo(error: BaseException) -> bool:
    """Whether `error` only says that another rank is gone. Such a rank is collateral and must not name a reason."""
    text = str(error).lower()
    return not isinstance(error, RankFailure) and any(words in text for words in _PEER_LOST)


def end_failed(error: BaseException, reporter: Reporter) -> NoReturn:
    """Print the traceback, spool the failure and end the process at once, from any thread.

    `os._exit`, since jax.distributed's exit handler waits for the siblings (up to 100 s) and a collective may be
    blocked in another thread. Collateral ends by SIGABRT, as JAX ends survivors itself, and spools no failure.
    """
    traceback.print_exception(error, file=sys.stderr)
    sys.stderr.flush()
    sys.stdout.flush()
    if is_echo(error):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.abort()
    reporter.failure(reason_of(error), _sentence(error))
    os._exit(EXIT_FAILED)


def _sentence(error: BaseException) -> str:
    first_line = next(iter(str(error).strip().splitlines()), "")
    return first_line if isinstance(error, RankFailure) else f"{type(error).__name__}: {first_line}"
