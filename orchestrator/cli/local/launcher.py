"""Starts the three siblings, adopts those that still run, replaces dead ones, and ends them all.

Only this process's own end, asked for with Ctrl-C or SIGTERM, ends the siblings. Killed outright, it leaves them
running for the next launcher to adopt.
"""

import fcntl
import os
import subprocess
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeVar

from orchestrator.cli.local import health, processes, siblings
from orchestrator.cli.local.interrupt import Interrupt
from orchestrator.cli.local.processes import Identity, identify
from orchestrator.cli.local.record import Entry, ProcessRecord
from orchestrator.cli.local.siblings import LocalPlan, Sibling

Found = TypeVar("Found")

LAUNCHER: Final = "launcher"
RECORD: Final = "processes.json"
_HEALTHY_WITHIN_S: Final = 240.0
"""Two busy cores have needed 90 s for four emulated hosts."""
_LONGEST_BACK_OFF_S: Final = 30.0
_STEADY_S: Final = 60.0
"""A sibling that lived this long is taken to have started well."""


class StartFailed(Exception):
    """A sibling ended, or was not well in time, while everything was being started; the message says which and why."""


class AlreadyRunning(Exception):
    """Another launcher looks after this state directory; `pid` is its process, or None if it has not said."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(f"podwright up already runs here (process {pid})")
        self.pid = pid


@dataclass(slots=True)
class _Try:
    """When a sibling was last started and how long to wait before the next time."""

    started_s: float
    failures: int = 0
    not_before_s: float = 0.0


class Launcher:
    """Looks after one state directory. `say` gets a line for each thing that a person should know."""

    def __init__(self, plan: LocalPlan, interrupt: Interrupt, say: Callable[[str], None]) -> None:
        self.plan = plan
        self.url = ""
        self._interrupt = interrupt
        self._say = say
        self._tries: dict[Sibling, _Try] = {}
        # `_children` keeps the handles of our own children, so that `Popen` reaps them when they end.
        self._children: dict[Sibling, subprocess.Popen[bytes]] = {}
        (plan.state_dir / "logs").mkdir(parents=True, exist_ok=True)
        self._lock = _lock(plan.state_dir / "up.lock")
        self._record = ProcessRecord.load(plan.state_dir / RECORD)
        self._put(LAUNCHER, os.getpid(), mark="", command=())

    def start(self) -> None:
        """Adopt or start each sibling and wait until all are well.

        Raises:
            StartFailed: what was started is left as it is; call `stop`.
            Interrupted: likewise.
        """
        deadline = time.monotonic() + _HEALTHY_WITHIN_S
        self._adopt_or_launch(Sibling.SERVER)
        fresh = self._adopt_or_launch(Sibling.CLUSTER)
        self.url = self._until(deadline, Sibling.SERVER, lambda pid: health.server_url(self.plan, pid))
        self._until(deadline, Sibling.CLUSTER, lambda pid: health.cluster_hosts(self.plan, pid))
        self._adopt_or_launch(Sibling.WORKERS)
        if fresh:  # an adopted cluster may have lost slices long ago: they would never come up
            enough = self.plan.count
            self._until(deadline, Sibling.WORKERS, lambda _pid: health.slices_up(self.plan, self.url) >= enough or None)

    def supervise(self) -> None:
        """Replace siblings that die, until `Interrupted`."""
        while True:
            self._interrupt.pause(1.0)
            self.mend()

    def mend(self) -> None:
        """Start again what died and whose back-off is over."""
        for sibling in siblings.START_ORDER:
            if self._alive(sibling) or not self._due(sibling):
                continue
            if sibling is Sibling.WORKERS and not self._ready_for_workers():
                continue
            self._launch(sibling)

    def stop(self) -> None:
        """End all siblings and all that they started, in order, and give the state directory free."""
        for sibling in siblings.END_ORDER:
            self._end(sibling)
        self._record.drop(LAUNCHER)
        self._lock.close()

    def host_process(self, slice_id: str, host: int) -> Identity | None:
        """The process that stands for one emulated host (its raylet), if it runs."""
        entry = self._record.alive(Sibling.CLUSTER)
        for row in (health.cluster_hosts(self.plan, entry.process.pid) or []) if entry else []:
            if (row["slice"], row["host"]) == (slice_id, host):
                return identify(row["raylet_pid"])
        return None

    # ------------------------------------------------------------------------------------------------- one sibling

    def _adopt_or_launch(self, sibling: Sibling) -> bool:
        """Whether it was launched."""
        entry = self._record.alive(sibling)
        as_wanted = entry is not None and entry.command == self._command(sibling)
        if entry is None or (sibling is Sibling.WORKERS and not as_wanted):  # the server may have another address now
            self._launch(sibling)
            return True
        self._say(f"adopted the {siblings.SAYS[sibling]} that still runs (process {entry.process.pid})")
        if not as_wanted:
            self._say("  it was started with other options; `podwright down` first to change them")
        return False

    def _launch(self, sibling: Sibling) -> None:
        self._end(sibling)  # a dead one may have left offspring
        if sibling is Sibling.CLUSTER:
            # The driver of the cluster that died would wait for it for ever.
            self._end(Sibling.WORKERS)
        command, mark = self._command(sibling), uuid.uuid4().hex
        # Titles that Ray gives its processes would overwrite the environment that the mark is read from.
        environment = os.environ | {processes.MARK: mark, "SPT_NOENV": "1"}
        with self.plan.log(sibling).open("ab") as log:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        self._children[sibling] = child
        self._put(sibling, child.pid, mark, command)
        attempt = self._tries.setdefault(sibling, _Try(started_s=0.0))
        attempt.started_s = time.monotonic()

    def _end(self, sibling: Sibling) -> None:
        entry = self._record.entries.get(sibling)
        if entry is None:
            return
        end_entry(entry, siblings.GRACE_S[sibling])
        if child := self._children.pop(sibling, None):
            child.wait()
        self._record.drop(sibling)

    def _command(self, sibling: Sibling) -> tuple[str, ...]:
        match sibling:
            case Sibling.SERVER:
                return siblings.server_command(self.plan)
            case Sibling.CLUSTER:
                return siblings.cluster_command(self.plan)
            case Sibling.WORKERS:
                return siblings.workers_command(self.plan, self.url)

    def _put(self, name: str, pid: int, mark: str, command: tuple[str, ...]) -> None:
        # A child that ended at once has no identity left; a number of ticks that no process has stands for it.
        process = identify(pid) or Identity(pid, started_ticks=-1, boot_id="")
        self._record.put(name, Entry(process, mark, command))

    # ------------------------------------------------------------------------------------------------ life and death

    def _until(self, deadline: float, sibling: Sibling, look: Callable[[int], Found | None]) -> Found:
        while True:
            self._interrupt.check()
            for each in siblings.START_ORDER:
                if each in self._record.entries and not self._alive(each):
                    raise StartFailed(self._death(each, "ended while it was starting"))
            if (found := look(self._record.entries[sibling].process.pid)) is not None:
                return found
            if time.monotonic() > deadline:
                raise StartFailed(self._death(sibling, f"was not well within {_HEALTHY_WITHIN_S:.0f} s"))
            self._interrupt.pause(0.3)

    def _death(self, sibling: Sibling, what: str) -> str:
        log = self.plan.log(sibling)
        return f"the {siblings.SAYS[sibling]} {what}; the end of {log}:\n{health.log_tail(log)}"

    def _alive(self, sibling: Sibling) -> bool:
        if child := self._children.get(sibling):
            child.poll()
        return self._record.alive(sibling) is not None

    def _due(self, sibling: Sibling) -> bool:
        """Whether the back-off of a dead sibling is over; begins one when its death is new."""
        now = time.monotonic()
        attempt = self._tries.setdefault(sibling, _Try(started_s=now - _STEADY_S))
        if attempt.not_before_s <= attempt.started_s:
            attempt.failures = 0 if now - attempt.started_s >= _STEADY_S else attempt.failures + 1
            wait_s = back_off_s(attempt.failures)
            attempt.not_before_s = now + wait_s
            name, log = siblings.SAYS[sibling], self.plan.log(sibling)
            when = f" in {wait_s:.0f} s" if wait_s else ""
            self._say(f"the {name} ended; starting it again{when} (log: {log})")
        return now >= attempt.not_before_s

    def _ready_for_workers(self) -> bool:
        server, cluster = self._record.alive(Sibling.SERVER), self._record.alive(Sibling.CLUSTER)
        if not server or not cluster or health.cluster_hosts(self.plan, cluster.process.pid) is None:
            return False
        self.url = health.server_url(self.plan, server.process.pid) or self.url
        return True


def back_off_s(failures: int) -> float:
    """How long to wait before the next start after so many failures in a row."""
    return 0.0 if failures == 0 else min(_LONGEST_BACK_OFF_S, 2.0 ** (failures - 1))


def end_entry(entry: Entry, grace_s: float) -> None:
    """End a recorded process, its descendants, and every orphan that carries its mark."""
    processes.end_tree(entry.process, grace_s)
    if entry.mark:
        orphans = processes.marked(entry.mark)
        processes.kill_all(orphans)
        processes.wait_gone(orphans, grace_s=5)


def end_recorded(state_dir: Path) -> tuple[str, ...]:
    """`podwright down`: end the launcher, if one runs, and whatever it left. The names of what was ended."""
    record = ProcessRecord.load(state_dir / RECORD)
    ended = tuple(name for name in (LAUNCHER, *siblings.END_ORDER) if record.alive(name))
    if launcher := record.alive(LAUNCHER):
        processes.end_tree(launcher.process, grace_s=sum(siblings.GRACE_S.values()) + 10)
    for sibling in siblings.END_ORDER:
        if entry := record.entries.get(sibling):
            end_entry(entry, siblings.GRACE_S[sibling])
            record.drop(sibling)
    with suppress(FileNotFoundError):
        record.path.unlink()
    return ended


def _lock(path: Path) -> IO[bytes]:
    """Hold the state directory for one launcher; the kernel gives it free when the process ends, however it ends."""
    handle = path.open("ab")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        launcher = ProcessRecord.load(path.with_name(RECORD)).alive(LAUNCHER)
        raise AlreadyRunning(launcher.process.pid if launcher else None) from None
    return handle
