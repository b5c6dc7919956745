"""What lies in a job's folder and is nobody's: left-overs of saves that were never committed, and foreign objects.

Pure. A left-over is collected only when its attempt is dead and it is old: a frozen process may still be writing, and a
clock may be wrong. What is not in our layout is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from workers.storage import Stored

_IN_STEP = re.compile(r"(\d+)/\d+(\.[^/]+)?/.+")
"""An object in `<attempt>/<step>`, or in one of Orbax's temporary names for it."""
_MARK = re.compile(r"\d+/\d+(\.manifest\.json|\.quarantined\.json)")
_AT_ROOT = re.compile(r"LATEST|\.[^/]*")


@dataclass(frozen=True, slots=True)
class Found:
    """`orphans` are `<attempt>/<name>` folders to delete; `young` will be, later; `foreign` objects are only told."""

    orphans: tuple[str, ...]
    young: tuple[str, ...]
    foreign: tuple[str, ...]
    orphan_bytes: int


def find(stored: Iterable[Stored], newest_attempt: int, now_ms: int, age_limit_ms: int) -> Found:
    """Sort the objects of a job's folder. Attempts from `newest_attempt` on may be alive and are spared."""
    objects = list(stored)
    kept = {one.path.removesuffix(mark[1]) for one in objects if (mark := _MARK.fullmatch(one.path))}
    folders: dict[str, list[Stored]] = {}
    foreign: list[str] = []
    for one in objects:
        if _AT_ROOT.fullmatch(one.path) or _MARK.fullmatch(one.path):
            continue
        match = _IN_STEP.fullmatch(one.path)
        if match is None:
            foreign.append(one.path)
            continue
        folder = "/".join(one.path.split("/")[:2])
        if folder not in kept and int(match[1]) < newest_attempt:
            folders.setdefault(folder, []).append(one)
    # The newest object of a folder tells its age; one without a time is young for ever.
    old = {
        folder
        for folder, parts in folders.items()
        if all(part.updated_ms is not None and now_ms - part.updated_ms > age_limit_ms for part in parts)
    }
    size = sum(part.size for folder in old for part in folders[folder])
    return Found(tuple(sorted(old)), tuple(sorted(folders.keys() - old)), tuple(sorted(foreign)), size)
