"""What lies in a job's folder and is nobody's: left-overs of saves that were never committed, and foreign objects.

Pure. A left-over is collected only when its attempt is dead and it is old: a frozen process may still be writing, and a
clock may be wrong. What is not in our layout is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from workers.storage import Stored

_OURS = re.compile(r"(\d+)/(\d+)(?:\.[^/]*)?(/.*|\.manifest\.json|\.quarantined\.json)?")
"""`<attempt>/<step>…`: a step's folder, Orbax's temporary names for it, its manifest."""
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
    kept = {
        one.path.removesuffix(suffix)
        for one in objects
        for suffix in (".manifest.json", ".quarantined.json")
        if one.path.endswith(suffix)
    }
    folders: dict[str, list[Stored]] = {}
    foreign: list[str] = []
    for one in objects:
        if _AT_ROOT.fullmatch(one.path):
            continue
        match = _OURS.fullmatch(one.path)
        if match is None:
            foreign.append(one.path)
        elif match[3] is None or match[3].startswith("/"):
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
