"""The actor on each host of a slice, kept warm: runs one rank at a time, tells how it is, ends all of it.

Methods run one after the other on the actor's main thread, so the shims that they start live as long as the agent does.
"""

import logging
import os
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import ray

from orchestrator.domain.incident import RankExit
from orchestrator.protocol import HostInfo
from workers.host import notice, output, streams
from workers.host.code import CodeCache
from workers.host.environment import argv, contract_variables, rank_environment
from workers.host.inspection import Inspection
from workers.host.leftovers import remove_leftovers
from workers.host.messages import HostOrder, HostStatus, Launched, RankOrder, Stream
from workers.host.metadata import NoticeWatch
from workers.host.output import OutputFile
from workers.host.process import ProcessExit, RankProcess
from workers.host.pulse import PulseTaker
from workers.host.raylet import exit_with_raylet
from workers.host.shortage import MemoryWatch, full_disk

LEASE_S: Final = 10.0
"""Without a poll for so long the supervisor is gone or cut off: the rank is ended, as others may take its place."""

log = logging.getLogger(__name__)


class Agent:
    """One host of a slice."""

    def __init__(self, host: HostOrder, lease_s: float = LEASE_S) -> None:
        self._host = host
        self._lease_s = lease_s
        self._root = Path(host.work_dir) / f"{host.slice_id}-{host.host}"
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._caches = Path(host.work_dir) / "compile-cache"
        self._code = CodeCache(Path(host.work_dir) / "code")
        remove_leftovers(self._root, self._caches, self._code.root)
        self._order: RankOrder | None = None
        self._rank: RankProcess | None = None
        self._exit: RankExit | None = None
        self._pulse: PulseTaker | None = None
        self._memory: MemoryWatch | None = None
        self._inspection: Inspection | None = None
        self._notice: str | None = None
        self._renewed_at = time.monotonic()
        exit_with_raylet(self._end_at_once)
        threading.Thread(target=self._watch_lease, name="lease-watch", daemon=True).start()
        if not host.emulated:
            NoticeWatch(self._take_notice).start()
        if ray.is_initialized() and threading.current_thread() is threading.main_thread():
            # The host is being shut down. It is Python's handler: it runs with the next poll, which reports it.
            signal.signal(signal.SIGTERM, lambda *_: self._take_notice("its agent got SIGTERM"))

    def info(self) -> HostInfo:
        """Which host this is."""
        node_id = ray.get_runtime_context().get_node_id()
        return HostInfo(self._host.host, node_id, ray.util.get_node_ip_address(), self._host.chips)

    def launch(self, order: RankOrder) -> Launched:
        """Start the rank; once per attempt, whatever is asked.

        Raises:
            RuntimeError: another attempt's processes are still here, its code is not, or the shim did not start.
            OSError: the attempt's folder cannot be written.
        """
        self._renewed_at = time.monotonic()
        if self._order is not None and self._rank is not None:
            if self._order.attempt_id == order.attempt_id:
                return self._rank.launched
            if not self._rank.drained():
                raise RuntimeError(f"attempt {self._order.attempt_id} still has processes here")
        code = None if order.program.code is None else self._code.folder(order.program.code)
        folder = self._folder(order.attempt_id)
        folder.mkdir(mode=0o700)
        cache = self._caches / order.job_id
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.utime(cache)  # in use again: see remove_leftovers
        (folder / streams.FILES["spool"]).touch(mode=0o600)
        (folder / output.FOLDER).mkdir(mode=0o700)
        if order.program.builtin is not None:
            (folder / "config.json").write_text(order.program.config_json or "{}")
        environment = rank_environment(os.environ, self._host, order, folder=folder, compile_cache=cache)
        contract = contract_variables(self._host, order, folder)
        marker = {f"PODWRIGHT_{name}": contract[f"PODWRIGHT_{name}"] for name in ("ATTEMPT_ID", "RANK", "SPOOL")}
        self._order, self._exit, self._rank, self._inspection = order, None, None, None
        self._rank = RankProcess.launch(argv(order), environment, folder, marker, code)
        pid = self._rank.launched.pid
        self._pulse = PulseTaker(folder, order.coordinator, pid, reports=order.program.builtin is not None)
        self._memory = MemoryWatch(pid)
        return self._rank.launched

    def has_code(self, digest: str) -> bool:
        """Whether the bundle is here, and as it was packed."""
        return self._code.has(digest)

    def take_code(self, digest: str, archive: bytes) -> None:
        """Unpack the bundle.

        Raises:
            BadBundle: it is none, or another one.
            OSError: it cannot be written.
        """
        self._code.add(digest, archive)

    def poll(self, attempt_id: str | None, renews: bool = True) -> HostStatus:
        """How the attempt's rank is; renews the lease, unless the slice's supervisor has lent it to another one."""
        self._end_if_lapsed()  # an agent that was frozen must not take a late poll for a fresh one
        if renews:
            self._renewed_at = time.monotonic()
        if attempt_id is None or self._order is None or self._rank is None or self._order.attempt_id != attempt_id:
            return HostStatus(attempt_id, None, True, {}, notice=self._notice, now_ms=_now_ms())
        if self._memory is not None:
            self._memory.look()
        sizes, ended, drained = streams.sizes(self._folder(attempt_id)), self._rank.exit(), self._rank.drained()
        if drained:
            sizes = streams.sizes(self._folder(attempt_id))
        if ended is not None and self._exit is None:
            self._exit = self._report(self._order, ended)
        pulse = self._pulse.look() if self._pulse is not None and ended is None else None
        inspected = self._inspection is not None and self._inspection.done
        return HostStatus(attempt_id, self._exit, drained, sizes, pulse, inspected, self._notice, _now_ms())

    def inspect(self, attempt_id: str) -> None:
        """Take the rank's stacks, once; polls say when they are there, and its report holds them."""
        if (rank := self._rank_of(attempt_id)) is not None and self._inspection is None:
            self._inspection = Inspection(rank.launched.pid)

    def terminate(self, attempt_id: str, grace_ms: int) -> None:
        """SIGTERM the attempt's rank, if it is here, and let it know that it will be killed after `grace_ms`."""
        if (rank := self._rank_of(attempt_id)) is not None:
            notice.write(self._folder(attempt_id), grace_ms)
            rank.terminate()

    def end(self, attempt_id: str) -> None:
        """SIGKILL the attempt's rank and all that it started, if it is here."""
        if (rank := self._rank_of(attempt_id)) is not None:
            rank.end()

    def read(self, attempt_id: str, offsets: Mapping[Stream, int], limit: int) -> dict[Stream, bytes]:
        """New bytes of those of the attempt's streams that have an offset, from there, at most `limit` of each."""
        folder = self._folder(attempt_id)
        return {stream: streams.read(folder, stream, offset, limit) for stream, offset in offsets.items()}

    def output(self, attempt_id: str) -> tuple[OutputFile, ...]:
        """The files in the rank's output folder as they are now."""
        return output.listing(self._folder(attempt_id) / output.FOLDER)

    def read_output(self, attempt_id: str, path: str, offset: int, limit: int) -> bytes:
        """Bytes of one of them; none if it is gone, or something else by now."""
        try:
            return output.read(self._folder(attempt_id) / output.FOLDER, path, offset, limit)
        except OSError:
            return b""

    def forget(self, attempt_ids: tuple[str, ...]) -> None:
        """Remove the files of attempts whose streams are stored elsewhere."""
        for attempt_id in attempt_ids:
            if self._order is None or self._order.attempt_id != attempt_id:
                shutil.rmtree(self._folder(attempt_id), ignore_errors=True)

    def _rank_of(self, attempt_id: str) -> RankProcess | None:
        return self._rank if self._order is not None and self._order.attempt_id == attempt_id else None

    def _folder(self, attempt_id: str) -> Path:
        return self._root / attempt_id

    def _report(self, order: RankOrder, ended: ProcessExit) -> RankExit:
        folder = self._folder(order.attempt_id)
        step, claim, phase = None, None, None
        tail: tuple[str, ...] = ()
        try:
            step, claim, phase = streams.spool_evidence(folder)
            tail = streams.stderr_tail(folder)
        except Exception:  # how the rank ended is known, and must be told
            log.exception("the evidence of attempt %s cannot be read", order.attempt_id)
        unasked_kill = ended.signal == signal.SIGKILL and not ended.ordered
        return RankExit(
            rank=order.rank,
            slice_id=self._host.slice_id,
            host=self._host.host,
            exit_code=ended.exit_code,
            signal=ended.signal,
            lost=False,
            ordered=ended.ordered,
            exited_at_ms=ended.exited_at_ms,
            last_step=step,
            stderr_tail=tail,
            claim=claim,
            phase=phase,
            stack=self._inspection.stack if self._inspection is not None else (),
            stopped=self._inspection is not None and self._inspection.stopped,
            memory=self._memory.evidence() if self._memory is not None and unasked_kill else None,
            disk=full_disk(folder) if not ended.ordered and ended.exit_code != 0 else None,
        )

    def _take_notice(self, says: str) -> None:
        if self._notice is None:
            log.warning("host %s/%d will be taken away: %s", self._host.slice_id, self._host.host, says)
            self._notice = says

    def _watch_lease(self) -> None:
        while True:
            time.sleep(self._lease_s / 20)
            self._end_if_lapsed()

    def _end_if_lapsed(self) -> None:
        if self._rank is not None and time.monotonic() - self._renewed_at > self._lease_s:
            self._rank.end()

    def _end_at_once(self) -> None:
        """The raylet is gone, and so is this host for everybody else. What is left ends with this process."""
        if self._rank is not None:
            self._rank.end()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
