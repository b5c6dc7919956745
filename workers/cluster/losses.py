"""What no supervisor can report any more: that its slice is gone, and that the attempt it led ended with it.

Derived from what is seen now, so a restart of this process loses no loss. A small file remembers which reservation each
slice had, as a dead supervisor cannot be asked. A report that is made twice has no further effect.
"""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from orchestrator.domain.ids import SliceId
from orchestrator.domain.incident import RankExit
from orchestrator.protocol import GangEnded, RunOrder, SliceDown
from workers.host.agent import LEASE_S
from workers.slice.gang import SLICE_LOST
from workers.slice.outbox import Outbox

DRAIN_MS: Final = 1_000
"""From when Ray knows no agent of a dead supervisor until their ranks are gone: each ends with its agent."""
DRAIN_BY_LEASE_MS: Final = int((LEASE_S + 2) * 1000)
"""The same when it is not known which agents there were: until their lease has lapsed."""

log = logging.getLogger(__name__)


class Losses:
    """Slices that lost their supervisor. `now_ms` is the wall clock, `ticks_ms` a monotonic one."""

    def __init__(self, file: Path, outbox: Outbox, *, now_ms: Callable[[], int], ticks_ms: Callable[[], int]) -> None:
        self._file = file
        self._outbox = outbox
        self._now_ms = now_ms
        self._ticks_ms = ticks_ms
        self._incarnations: dict[str, str] = _read(file)
        self._reported: set[str] = set()
        self._gone_since: dict[str, int] = {}

    def incarnation_of(self, slice_id: str) -> str | None:
        """The slice's last reservation that was seen."""
        return self._incarnations.get(slice_id)

    def remember(self, slice_id: str, incarnation: str) -> None:
        """The slice's supervisor answers."""
        if self._incarnations.get(slice_id) != incarnation:
            self._incarnations[slice_id] = incarnation
            partial = self._file.with_suffix(".partial")
            with partial.open("w") as file:
                json.dump(self._incarnations, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._file)

    def slice_gone(self, slice_id: str, *, host_0_lost: bool) -> None:
        """The slice has no supervisor: report it, once per reservation."""
        incarnation = self._incarnations.get(slice_id)
        if incarnation is None or incarnation in self._reported:
            return
        self._reported.add(incarnation)
        message = _why(slice_id, host_0_lost)
        log.warning("%s", message)
        self._outbox.add(SliceDown("slice_down", SliceId(slice_id), incarnation, message, self._now_ms()))

    def slice_released(self, slice_id: str, why: str) -> None:
        """We ended the slice's supervisor ourselves: it may not be offered until it is reserved anew."""
        incarnation = self._incarnations.get(slice_id)
        if incarnation is not None:
            self._reported.add(incarnation)
            message = f"slice {slice_id} is reserved anew: {why}"
            self._outbox.add(SliceDown("slice_down", SliceId(slice_id), incarnation, message, self._now_ms()))

    def attempt_gone(self, order: RunOrder, slice_id: str, *, host_0_lost: bool, agents_gone: bool) -> None:
        """An order names a slice without a supervisor: report the attempt's end, once its processes had time to end.

        `agents_gone`: Ray knows no agent of the slice's last reservation any more.
        """
        if order.attempt_id in self._reported:
            return
        since = self._gone_since.setdefault(order.attempt_id, self._ticks_ms())
        needed = DRAIN_MS if agents_gone and slice_id in self._incarnations else DRAIN_BY_LEASE_MS
        if self._ticks_ms() - since < needed:
            return
        self._reported.add(order.attempt_id)
        now_ms = self._now_ms()
        exits = (RankExit.lost_with_host(0, slice_id, host=0),) if host_0_lost and slice_id == order.slices[0] else ()
        message = _why(slice_id, host_0_lost)
        self._outbox.add(GangEnded("gang_ended", order.attempt_id, SLICE_LOST, message, exits, now_ms - needed, now_ms))


def _read(file: Path) -> dict[str, str]:
    """What was remembered. A damaged file counts as none: supervisors that answer are remembered anew."""
    try:
        found = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        log.warning("%s cannot be read and is begun anew: %s", file, error)
        return {}
    valid = isinstance(found, dict) and all(isinstance(value, str) for value in found.values())
    return found if valid else {}


def _why(slice_id: str, host_0_lost: bool) -> str:
    return f"slice {slice_id} was lost: " + ("host 0 died" if host_0_lost else "its supervisor is gone")
