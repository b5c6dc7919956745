"""Losses that nobody else can report: told once, when the attempt's processes had time to end, also after a restart."""

from pathlib import Path

import pytest

from orchestrator.protocol import GangEnded, SliceDown
from tests.workers.cluster.rig import an_order
from workers.cluster.losses import Losses
from workers.slice.outbox import Outbox

ORDER = an_order("a", "s")


class Watch:
    """Losses over a file, an outbox and a clock that the test moves."""

    def __init__(self, folder: Path) -> None:
        self.ms = 0
        self.outbox = Outbox("cluster/1")
        file = folder / "incarnations.json"
        self.losses = Losses(file, self.outbox, now_ms=lambda: self.ms, ticks_ms=lambda: self.ms)

    def look(self, after_ms: int, *, agents_gone: bool = True) -> None:
        self.ms += after_ms
        self.losses.attempt_gone(ORDER, "s", host_0_lost=True, agents_gone=agents_gone)

    @property
    def ends(self) -> list[GangEnded]:
        return [fact.body for fact in self.outbox.pending() if isinstance(fact.body, GangEnded)]


def test_a_gone_slice_is_reported_once_also_by_the_next_process(tmp_path: Path) -> None:
    Watch(tmp_path).losses.remember("s", "incarnation-1")
    watch = Watch(tmp_path)
    for _ in range(2):
        watch.losses.slice_gone("s", host_0_lost=True)
    (fact,) = watch.outbox.pending()
    assert isinstance(fact.body, SliceDown)
    assert (fact.body.incarnation, fact.body.message) == ("incarnation-1", "slice s was lost: host 0 died")


def test_a_slice_that_was_never_up_is_not_reported(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    watch.losses.slice_gone("s", host_0_lost=True)
    assert watch.outbox.pending() == ()


def test_an_attempt_is_lost_once_its_agents_are_gone(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    watch.losses.remember("s", "incarnation-1")
    watch.look(0)
    assert watch.ends == []
    for _ in range(3):
        watch.look(1_000)
    (end,) = watch.ends
    assert (end.trouble, [rank.lost for rank in end.exits]) == ("slice_lost", [True])


def test_agents_that_may_still_be_there_are_given_their_lease(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    watch.look(0, agents_gone=False)
    watch.look(11_000, agents_gone=False)
    assert watch.ends == []
    watch.look(1_000, agents_gone=False)
    assert len(watch.ends) == 1


@pytest.mark.parametrize("damage", [b"", b'{"s": "incarn', b"\xff", b"[1]", b'{"s": 1}'])
def test_a_damaged_memory_is_begun_anew(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "incarnations.json").write_bytes(damage)
    watch = Watch(tmp_path)
    assert watch.losses.incarnation_of("s") is None
    watch.losses.remember("s", "incarnation-1")
    assert Watch(tmp_path).losses.incarnation_of("s") == "incarnation-1"
