"""A notice for a rank: until when it may run. Written before its SIGTERM, and read by `workers.rank.preemption`."""

import json
import time
from pathlib import Path
from typing import Final

FILE: Final = "notice.json"


def write(folder: Path, grace_ms: int) -> None:
    """The rank of this folder is killed `grace_ms` from now. By the monotonic clock, which all processes of a host
    share and nobody sets. A disk that takes no more leaves the rank without a time, not without its SIGTERM."""
    until_s = time.monotonic() + grace_ms / 1000
    try:
        (folder / FILE).write_text(json.dumps({"until_monotonic_s": until_s}))
    except OSError:
        (folder / FILE).unlink(missing_ok=True)
