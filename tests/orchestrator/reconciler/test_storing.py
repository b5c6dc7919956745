"""Which jobs are held back, and which clusters left out, because checkpoints cannot be written."""

import pytest

from orchestrator.domain.ids import ClusterId
from orchestrator.domain.job import Cluster
from orchestrator.domain.spec import Program
from orchestrator.reconciler.storing import held_back, left_out
from tests.builders import NOW, a_job

SOUND = Cluster(ClusterId("sound"), NOW)
FULL = Cluster(ClusterId("full"), NOW, "the disk is full")
BARRED = Cluster(ClusterId("barred"), NOW, "403")


@pytest.mark.parametrize(
    ("clusters", "out", "says"),
    [
        ((), set(), None),
        ((SOUND,), set(), None),
        ((FULL,), set(), "its checkpoints cannot be written; full: the disk is full"),
        ((SOUND, FULL), {"full"}, None),
        ((BARRED, FULL), set(), "its checkpoints cannot be written; barred: 403; full: the disk is full"),
    ],
    ids=["none", "sound", "faulty", "one of two", "both"],
)
def test_what_saves_waits_where_nothing_can_be_saved(clusters, out, says):
    assert left_out(clusters) == out
    assert held_back(a_job(program=Program(builtin="train")), clusters) == says
    assert held_back(a_job(), clusters) is None, "a command may need no checkpoints"
