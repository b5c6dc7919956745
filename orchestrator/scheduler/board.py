"""The board on which one plan works: slices that are alike in groups, and until when each may be used.

Mutable, but local to one call of `plan`. A free slice carries one number, *open until*: the start of its next
reservation or maintenance window. A gang that ends before may have it; that is all that backfill has to know.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from orchestrator.domain.capacity import Capacity
from orchestrator.domain.ids import ClusterId, SliceId
from orchestrator.domain.sharing import Health, Window
from orchestrator.domain.topology import SliceRequest, SliceShape
from orchestrator.scheduler.snapshot import OfferedSlice, RunningGang, Snapshot, WaitingJob

FOREVER: Final = 1 << 62
_GUESS_SHARE: Final = 4
"""A gang that has outrun its estimate is given a quarter of its age more: the longer it ran, the longer it may yet."""


@dataclass(slots=True)
class Group:
    """Interchangeable slices: one pool of one cluster, one shape, one kind of capacity."""

    cluster_id: ClusterId
    pool: str
    shape: SliceShape
    capacity: str
    sound: list[tuple[int, SliceId]] = field(default_factory=list)
    """(open until, id) of the free ones, ascending."""
    suspect: list[tuple[int, SliceId]] = field(default_factory=list)
    from_ms: dict[SliceId, int] = field(default_factory=dict)
    """When each usable slice is next free for a reservation."""
    windows: dict[SliceId, tuple[Window, ...]] = field(default_factory=dict)
    suspects: set[SliceId] = field(default_factory=set)
    gangs: list[RunningGang] = field(default_factory=list)
    free: int = 0
    """Free when the plan began or still: started ones are taken off."""
    kept: int = 0
    """Free, but reserved."""
    maintained: int = 0
    quarantined: int = 0
    reservations: int = 0
    wanted: bool = False
    """A blocked job waits for it."""

    @property
    def up(self) -> int:
        return len(self.from_ms) + self.maintained + self.quarantined

    def fits(self, count: int, end_ms: int) -> bool:
        """Whether `count` free slices are open until `end_ms`."""
        have = len(self.sound) - bisect_left(self.sound, (end_ms,))
        return have >= count or have + len(self.suspect) - bisect_left(self.suspect, (end_ms,)) >= count

    def take(self, count: int, end_ms: int, expected_ms: int) -> tuple[SliceId, ...]:
        """Use `count` slices that are open until `end_ms`, probably until `expected_ms`. `fits` must hold.

        Those that close soonest are taken, suspect ones last.
        """
        first = bisect_left(self.sound, (end_ms,))
        taken = self.sound[first : first + count]
        del self.sound[first : first + count]
        if missing := count - len(taken):
            first = bisect_left(self.suspect, (end_ms,))
            taken += self.suspect[first : first + missing]
            del self.suspect[first : first + missing]
        for _, slice_id in taken:
            self.from_ms[slice_id] = max(expected_ms, self.from_ms[slice_id])
        self.free -= count
        return tuple(slice_id for _, slice_id in taken)

    def earliest(self, count: int, runtime_ms: int) -> tuple[int, tuple[SliceId, ...]] | None:
        """When `count` slices are first free together for that long, and which; None if there are not as many.

        Of those that are free by then the last to become free are named: the others stay open for longer jobs.
        """
        if len(self.from_ms) < count:
            return None
        by_time = sorted((self._clear(id, at, runtime_ms), id) for id, at in self.from_ms.items())
        at_ms = by_time[count - 1][0]
        last = bisect_left(by_time, (at_ms + 1,))
        return at_ms, tuple(id for _, id in by_time[last - count : last])

    def keep(self, slices: Iterable[SliceId], at_ms: int, runtime_ms: int) -> None:
        """Reserve the slices from `at_ms` on; until then a gang that ends in time may have them."""
        chosen = frozenset(slices)
        for slice_id in chosen:
            self.from_ms[slice_id] = at_ms + runtime_ms
        self.kept += sum(id in chosen for _, id in (*self.sound, *self.suspect))
        self.sound = sorted((min(until, at_ms) if id in chosen else until, id) for until, id in self.sound)
        self.suspect = sorted((min(until, at_ms) if id in chosen else until, id) for until, id in self.suspect)

    def close(self) -> None:
        """Nothing starts here any more in this plan."""
        self.sound.clear()
        self.suspect.clear()

    def _clear(self, slice_id: SliceId, from_ms: int, runtime_ms: int) -> int:
        for window in self.windows.get(slice_id, ()):
            if from_ms < window.until_ms and window.since_ms < from_ms + runtime_ms:
                from_ms = window.until_ms
        return from_ms


_Key = tuple[ClusterId, str, SliceShape, str]
Option = tuple[SliceRequest, tuple[Group, ...]]
"""One acceptable choice of a job and the groups that offer it, those of the preferred capacity first."""


class Board:
    """All groups, and the options of each kind of job."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.now_ms = snapshot.now_ms
        self._unknown_ms = snapshot.policy.unknown_runtime_ms
        self._groups: dict[_Key, Group] = {}
        self._last: tuple[_Key, Group] | None = None
        self._by_shape: defaultdict[SliceShape, list[Group]] = defaultdict(list)
        self._options: dict[tuple[int, Capacity, tuple[Capacity, ...]], tuple[Option, ...]] = {}
        self._home: dict[SliceId, Group] = {}
        frees_ms = {id: self.expected_end_ms(gang) for gang in snapshot.running for id in gang.slices}
        for offered in snapshot.slices:
            self._put(offered, self._group_of(offered), frees_ms)
        for group in self._groups.values():
            group.sound.sort()
            group.suspect.sort()
        for gang in snapshot.running:
            if home := self._home.get(gang.slices[0]):
                home.gangs.append(gang)

    def groups(self) -> Iterable[Group]:
        return self._groups.values()

    def home(self, slice_id: SliceId) -> Group | None:
        """The group of a slice; None if it is not offered."""
        return self._home.get(slice_id)

    def runtime_ms(self, job: WaitingJob) -> int:
        return self._unknown_ms if job.runtime_ms is None else job.runtime_ms

    def end_ms(self, job: WaitingJob) -> int:
        """Until when slices must be open if the job starts now. Where nobody knows, twice the assumption: a job
        without an estimate must not pass another one that is blocked behind a third."""
        return self.now_ms + (2 * self._unknown_ms if job.runtime_ms is None else job.runtime_ms)

    def expected_end_ms(self, gang: RunningGang) -> int:
        """When its slices are free: its own estimate, or a guess once that has passed."""
        ends = gang.ends_at_ms if gang.ends_at_ms is not None else gang.started_at_ms + self._unknown_ms
        if ends > self.now_ms:
            return ends
        return self.now_ms + 1 + (self.now_ms - gang.started_at_ms) // _GUESS_SHARE

    def options(self, job: WaitingJob) -> tuple[Option, ...]:
        """The choices of a job with the groups that offer each. Jobs that share a `choices` tuple share the answer."""
        key = (id(job.choices), job.capacity, job.fallback)
        if (found := self._options.get(key)) is None:
            kinds = (job.capacity, *job.fallback)
            found = tuple((wants, tuple(self._offering(wants.shape, kinds))) for wants in job.choices)
            self._options[key] = found
        return found

    def _offering(self, shape: SliceShape, kinds: tuple[Capacity, ...]) -> Iterator[Group]:
        for kind in dict.fromkeys(kinds):
            for group in self._by_shape.get(shape, ()):
                if kind is Capacity.ANY or kind == group.capacity:
                    yield group

    def _group_of(self, offered: OfferedSlice) -> Group:
        key = (offered.cluster_id, offered.pool, offered.shape, offered.capacity)
        if self._last is not None and key == self._last[0]:
            return self._last[1]  # slices of a pool come together, and hashing each one's key would cost more
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(*key)
            self._by_shape[offered.shape].append(group)
        self._last = key, group
        return group

    def _put(self, offered: OfferedSlice, group: Group, frees_ms: dict[SliceId, int]) -> None:
        id, now = offered.id, self.now_ms
        self._home[id] = group
        if offered.health is Health.QUARANTINED:
            group.quarantined += 1
            return
        windows = tuple(sorted(w for w in offered.windows if w.until_ms > now)) if offered.windows else ()
        if windows:
            group.windows[id] = windows
        if windows and windows[0].since_ms <= now:
            group.maintained += 1
            return
        if offered.health is Health.SUSPECT:
            group.suspects.add(id)
        if not offered.free:
            group.from_ms[id] = frees_ms.get(id, now + self._unknown_ms)
            return
        group.free += 1
        group.from_ms[id] = now
        until = windows[0].since_ms if windows else FOREVER
        (group.suspect if offered.health is Health.SUSPECT else group.sound).append((until, id))
