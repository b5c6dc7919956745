"""From the stacks of all ranks of a gang that hangs to the rank that is unlike the others. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.incident import RankExit, StackGroup

_THREAD: Final = re.compile(r'^Thread \S+ \((?P<how>[^)]*)\)(: "(?P<name>[^"]*)")?$')
_FRAME: Final = re.compile(r"^\s+(?P<function>.+) \((?P<file>[^()]*):(?P<line>\d+)\)$")
_WAITS: Final = ("jax/", "jaxlib/", "multihost_utils.py", "distributed.py", "preemption.py")
"""In these files a rank waits for its siblings: their innermost frame says nothing against it."""
_LINES_KEPT: Final = 60


@dataclass(frozen=True, slots=True)
class Frame:
    """One call of a stack."""

    function: str
    file: str
    line: str

    def __str__(self) -> str:
        return f"{self.function} ({self.file.rpartition('/')[2]}:{self.line})"


def main_thread(lines: Sequence[str]) -> tuple[Frame, ...]:
    """The frames of the main thread, innermost first, from what `py-spy dump` prints; empty where it printed none."""
    threads: list[tuple[str, list[Frame]]] = []
    for line in lines:
        if thread := _THREAD.match(line):
            threads.append((thread["name"] or "", []))
        elif threads and (frame := _FRAME.match(line)):
            threads[-1][1].append(Frame(frame["function"], frame["file"], frame["line"]))
    if not threads:
        return ()
    return tuple(next((frames for name, frames in threads if name == "MainThread"), threads[0][1]))


def group(exits: Sequence[RankExit]) -> tuple[StackGroup, ...]:
    """Ranks by where they stood, largest group first; `odd` marks those that do not do what the others do.

    Most ranks doing one thing make the others odd. Where no place has the most, ranks that wait for their siblings
    inside JAX are in order, and the others odd, if there are both. A stopped rank is always odd.
    """
    seen = [exit for exit in exits if exit.stack or exit.stopped]
    places: dict[tuple[bool, tuple[Frame, ...]], list[RankExit]] = {}
    for exit in seen:
        places.setdefault((exit.stopped, main_thread(exit.stack)), []).append(exit)
    ordered = sorted(places.items(), key=lambda item: (-len(item[1]), item[1][0].rank))
    usual = _usual([(key, len(found)) for key, found in ordered], len(seen))
    return tuple(
        StackGroup(
            tuple(exit.rank for exit in found),
            tuple(found[0].stack[:_LINES_KEPT]),
            odd=key[0] or (bool(usual) and key not in usual),
        )
        for key, found in ordered
    )


def odd_rank(groups: Sequence[StackGroup]) -> int | None:
    """The lowest rank of the smallest odd group; None when no group is odd."""
    odd = [found for found in groups if found.odd]
    return min(odd, key=lambda found: (len(found.ranks), found.ranks)).ranks[0] if odd else None


def _usual(
    places: Sequence[tuple[tuple[bool, tuple[Frame, ...]], int]], ranks: int
) -> set[tuple[bool, tuple[Frame, ...]]]:
    running = [(key, count) for key, count in places if not key[0]]
    if len(places) < 2 or not running:
        return set()
    if running[0][1] * 2 > ranks:
        return {running[0][0]}
    waiting = {key for key, _ in running if key[1] and any(part in key[1][0].file for part in _WAITS)}
    return waiting if len(waiting) < len(running) else set()
