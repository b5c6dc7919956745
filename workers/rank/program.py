"""Running a built-in program as a rank: its phases, its failure, its exit code."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Mapping
from typing import NoReturn

from workers.rank import distributed
from workers.rank.context import RankContext
from workers.rank.failure import EXIT_PREEMPTED, InvalidProgram, end_failed
from workers.rank.progress import Reporter, Spool

_NAME = re.compile(r"[a-z][a-z_]*")


def run_builtin(name: str, environment: Mapping[str, str]) -> NoReturn:
    """Run `jobs.<name>.run(context, reporter) -> bool` and end the process.

    It returns True when the program is complete and False when it saved and left early because of a notice. Exit codes:
    0 complete, 143 left early, 1 failed (the reason is in the spool). Raises ValueError when `environment` does not
    describe a rank: then there is no spool to write to.
    """
    context = RankContext.from_environment(environment)
    reporter = Reporter(Spool(context.spool), context.rank)
    reporter.phase("init")
    try:
        complete = _entry(name)(context, reporter)
        distributed.leave()
    except BaseException as error:  # noqa: BLE001  # whatever it is, the orchestrator must be told
        end_failed(error, reporter)
    sys.stdout.flush()
    sys.stderr.flush()
    # Nothing is left to do, and an exit handler that hangs would turn a complete rank into a stalled one.
    os._exit(0 if complete else EXIT_PREEMPTED)


def _entry(name: str):  # type: ignore[no-untyped-def]  # `jobs` is imported by name: it may import workers.rank, not the reverse
    if not _NAME.fullmatch(name):
        raise InvalidProgram(f"{name!r} is not the name of a built-in program")
    try:
        return importlib.import_module(f"jobs.{name}").run
    except ModuleNotFoundError as error:
        if error.name not in {"jobs", f"jobs.{name}"}:
            raise  # the program exists and lacks a package
        raise InvalidProgram(f"there is no built-in program {name!r}") from error
