"""Errands on checkpoint objects, one after the other on a thread of their own: a slow one holds up no round.

Each may be done again: after a restart of this process, or when its answer was lost.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from orchestrator.protocol import ErrandDone, ErrandOrder
from workers.rank import latest, manifest, orphans
from workers.rank.failure import RankFailure
from workers.rank.manifest import Commit
from workers.storage import StorageError, open_storage

ORPHAN_AGE_MS: Final = 24 * 3_600_000
"""What a dead attempt left is deleted a day later: by then nobody can be writing it or looking into it."""

log = logging.getLogger(__name__)


class Errands:
    """Takes orders, keeps results until they were told."""

    def __init__(self, wake: threading.Event, now_ms: Callable[[], int]) -> None:
        self._wake, self._now_ms = wake, now_ms
        self._taken: set[str] = set()
        self._orders: queue.Queue[ErrandOrder] = queue.Queue()
        self._done: dict[str, ErrandDone] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def take(self, orders: tuple[ErrandOrder, ...]) -> None:
        """Do those that are new. Results of errands that are not ordered any more are forgotten."""
        wanted = {order.id for order in orders}
        with self._lock:
            self._done = {errand: done for errand, done in self._done.items() if errand in wanted}
            self._taken &= wanted
        for order in orders:
            if order.id not in self._taken:
                self._taken.add(order.id)
                self._orders.put(order)
        if orders and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="errands", daemon=True)
            self._thread.start()

    def done(self) -> tuple[ErrandDone, ...]:
        """Results that nobody has acknowledged."""
        with self._lock:
            return tuple(self._done.values())

    def told(self, results: tuple[ErrandDone, ...]) -> None:
        """The control plane has these results."""
        with self._lock:
            for one in results:
                self._done.pop(one.id, None)

    def _run(self) -> None:
        while True:
            order = self._orders.get()
            result = perform(order, self._now_ms())
            log.info("%s of %s/%s: %s", order.kind, order.root, order.path, result.message or "done")
            with self._lock:
                self._done[order.id] = result
            self._wake.set()


def perform(order: ErrandOrder, now_ms: int) -> ErrandDone:
    """Do one errand; whatever goes wrong is its result."""
    try:
        return _KINDS[order.kind](order, now_ms)
    except (StorageError, RankFailure, ValueError) as error:
        return ErrandDone(order.id, False, str(error))
    except Exception as error:  # an errand must not end the others
        log.exception("an errand failed: %s", order)
        return ErrandDone(order.id, False, f"{type(error).__name__}: {error}")


def _verify(order: ErrandOrder, _now_ms: int) -> ErrandDone:
    root, commit = open_storage(order.root), Commit.at(order.path)
    begin = time.monotonic()
    damage = manifest.verify(root, commit)
    if damage is not None:
        # The next attempt passes over a step without a manifest, also when LATEST names it.
        manifest.quarantine(root, commit)
        return ErrandDone(order.id, False, damage.message, "damaged")
    size = sum(one.size for one in root.tree(commit.path))
    return ErrandDone(order.id, True, f"intact: {size:,} bytes read in {time.monotonic() - begin:.1f} s")


def _delete(order: ErrandOrder, _now_ms: int) -> ErrandDone:
    root, commit = open_storage(order.root), Commit.at(order.path)
    newest = latest.read(root)
    # The registry may be behind: what LATEST names is what the next attempt restores.
    if newest is not None and newest.path == commit.path:
        return ErrandDone(order.id, False, "it is the newest commit, and stays", "newest")
    manifest.discard(root, commit)
    return ErrandDone(order.id, True, "")


def _export(order: ErrandOrder, _now_ms: int) -> ErrandDone:
    """Copy a step, block by block, and write it a manifest of its own, last: generations are the bucket's, and half a
    copy is none."""
    assert order.target is not None
    source, target, commit = open_storage(order.root), open_storage(order.target), Commit.at(order.path)
    damage = manifest.damage_of(source, commit)
    if damage is not None:
        return ErrandDone(order.id, False, damage.message)
    for stored in source.tree(commit.path):
        target.write_blocks(stored.path, stored.size, partial(source.blocks, stored.path))
    size = manifest.write(target, commit)
    return ErrandDone(order.id, True, f"{size:,} bytes copied to {target.address}/{commit.path}")


def _collect_orphans(order: ErrandOrder, now_ms: int) -> ErrandDone:
    root = open_storage(order.root)
    newest = latest.read(root)
    found = orphans.find(root.tree(""), Commit.at(order.path).attempt, now_ms, ORPHAN_AGE_MS)
    # What LATEST names and has no manifest is a damaged commit: that is for the next attempt to find.
    gone = [folder for folder in found.orphans if newest is None or folder != newest.path]
    for folder in gone:
        root.delete_tree(folder)
    told = [f"{len(gone)} orphans deleted, {found.orphan_bytes if gone else 0:,} bytes"]
    if found.young:
        told.append(f"{len(found.young)} are too young")
    if found.foreign:
        told.append(f"not ours and left alone: {', '.join(found.foreign[:10])}")
    nothing = not gone and not found.young and not found.foreign
    return ErrandDone(order.id, True, "; ".join(told), "nothing" if nothing else None)


_KINDS: Final = {"verify": _verify, "delete": _delete, "export": _export, "orphans": _collect_orphans}
