"""Places where a test can kill this process: `PODWRIGHT_FAILPOINT=<name>[:n]` ends it by SIGKILL there, the n-th time.
Without the variable they do nothing."""

from __future__ import annotations

import os
import signal
from typing import Final

VARIABLE: Final = "PODWRIGHT_FAILPOINT"

POINTS: Final = (
    "claim.before", "claim.after", "rewind.after", "quarantine.after", "restore.before", "restore.after",
    "save.before", "save.taken", "data.final", "manifest.before", "manifest.after", "latest.after", "report.after",
    "discard.unmarked", "discard.after",
)  # fmt: skip
"""All of them, in the order of an attempt's life. From `latest.after` on the step being saved is committed."""

_passed: dict[str, int] = {}


def reach(name: str) -> None:
    """The process is at `name`."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    assert name in POINTS, name
    at, _, times = wanted.partition(":")
    if at != name:
        return
    _passed[name] = _passed.get(name, 0) + 1
    if _passed[name] == int(times or 1):
        os.kill(os.getpid(), signal.SIGKILL)
