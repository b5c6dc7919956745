"""What the hosts of a gang see when something goes wrong in it: evidence as real ranks left it, and what is true of it.

The lines are those that JAX 0.10, gloo and Python print. Times are by each host's own clock, which may be wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import SliceId
from orchestrator.domain.incident import Claim, Overdue, RankExit

GLOO = ("E0000 Gloo AllReduce failed: Connection closed by peer [127.0.0.1]",)
WAITS = ('Thread 1 (idle): "MainThread"', "    _value (jax/_src/array.py:644)")
LOADS = ('Thread 1 (idle): "MainThread"', "    load (data.py:31)")


@dataclass(frozen=True, slots=True)
class Evidence:
    """How a gang ended, and the verdict that is right."""

    trouble: str | None
    exits: tuple[RankExit, ...]
    reason: Reason
    rank: int | None
    overdue: Overdue | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """A gang at the moment of a fault."""

    slice_id: SliceId
    hosts: int
    now_ms: int
    step: int | None
    rng: Random

    def ended_by_us(self, rank: int) -> RankExit:
        return RankExit(rank, self.slice_id, rank, None, 9, False, True, self.now_ms, self.step, (), None)

    def at_fault(self, rank: int, code: int | None = None, signal: int | None = None, *words: str) -> RankExit:
        """The rank to blame; its host's clock may be wrong by minutes, which its supervisor has measured."""
        ahead = self.rng.choice((0, 0, 90_000, -90_000))
        at_ms = self.now_ms + ahead
        return RankExit(
            rank, self.slice_id, rank, code, signal, False, False, at_ms, self.step, words, None, clock_ahead_ms=ahead
        )

    def echo(self, rank: int) -> RankExit:
        """A sibling that noticed the loss; sometimes its exit is seen as the earlier one."""
        at_ms = self.now_ms + self.rng.choice((-5, 5, 400))
        died = self.rng.choice(((None, 6), (1, None)))
        return RankExit(rank, self.slice_id, rank, *died, False, False, at_ms, self.step, GLOO, None)

    def others(self, rank: int) -> list[RankExit]:
        rest = [one for one in range(self.hosts) if one != rank]
        return [self.echo(one) if self.rng.random() < 0.5 else self.ended_by_us(one) for one in rest]

    def failed(self, reason: Reason, root: RankExit) -> Evidence:
        exits = [root, *self.others(root.rank)]
        self.rng.shuffle(exits)
        return Evidence(None, tuple(exits), reason, root.rank)

    def any_rank(self) -> int:
        return self.rng.randrange(self.hosts)


def program_error(scene: Scene) -> Evidence:
    return scene.failed(Reason.PROGRAM_ERROR, scene.at_fault(scene.any_rank(), 1, None, "Traceback", "ValueError: no"))


def segfault(scene: Scene) -> Evidence:
    return scene.failed(Reason.PROGRAM_ERROR, scene.at_fault(scene.any_rank(), None, 11))


def host_oom(scene: Scene) -> Evidence:
    memory = "the kernel's OOM killer ended 1 of this host's processes meanwhile"
    return scene.failed(Reason.HOST_OOM, replace(scene.at_fault(scene.any_rank(), None, 9), memory=memory))


def hbm_oom(scene: Scene) -> Evidence:
    words = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."
    return scene.failed(Reason.HBM_OOM, scene.at_fault(scene.any_rank(), 1, None, words))


def nan_loss(scene: Scene) -> Evidence:
    claim = Claim("nan_loss", "loss became nan at step 7")
    return scene.failed(Reason.NAN_LOSS, replace(scene.at_fault(scene.any_rank(), 1), claim=claim))


def disk_full(scene: Scene) -> Evidence:
    words = "OSError: [Errno 28] No space left on device"
    return scene.failed(Reason.DISK_FULL, scene.at_fault(scene.any_rank(), 1, None, words))


def killed(scene: Scene) -> Evidence:
    return scene.failed(Reason.PROGRAM_ERROR, scene.at_fault(scene.any_rank(), None, 9))


def port_clash(scene: Scene) -> Evidence:
    words = "E1201 add_port.cc:83] Failed to add port to server: No address for '127.0.0.1:23000'"
    exits = (replace(scene.at_fault(0, 1, None, words), last_step=None), *map(scene.ended_by_us, range(1, scene.hosts)))
    return Evidence("port_clash", exits, Reason.PORT_CLASH, None, message="rank 0 found the coordinator's port taken")


def notice(scene: Scene) -> Evidence:
    exits = tuple(replace(scene.ended_by_us(rank), exit_code=143, signal=None) for rank in range(scene.hosts))
    return Evidence("preempted", exits, Reason.PREEMPTED, None, message="its host will be taken away")


def stalled(scene: Scene, waited_ms: int, limit_ms: int) -> Evidence:
    """One rank is stopped, or stands where no other does; the others wait for it."""
    odd, stops = scene.any_rank(), scene.rng.random() < 0.5
    exits = tuple(
        replace(
            scene.ended_by_us(rank),
            stack=WAITS if stops or rank != odd else LOADS,
            stopped=stops and rank == odd,
        )
        for rank in range(scene.hosts)
    )
    overdue = Overdue("train", tuple(range(scene.hosts)), waited_ms, limit_ms, scene.step)
    return Evidence("stalled", exits, Reason.STALLED, odd, overdue)


ENDS_AT_ONCE: dict[str, Callable[[Scene], Evidence]] = {
    "program error": program_error,
    "segmentation fault": segfault,
    "host out of memory": host_oom,
    "device out of memory": hbm_oom,
    "not a number": nan_loss,
    "full disk": disk_full,
    "rank killed": killed,
    "notice": notice,
}
