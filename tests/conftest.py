"""What the whole test session shares."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.emulated import Emulated, emulated_cluster, end
from tests.workers.cluster.control_plane import ControlPlane
from tests.workers.cluster.rig import TOKEN, Rig

settings.register_profile("calm", derandomize=True, deadline=None)
settings.load_profile("calm")


@pytest.fixture(scope="session")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulated]:
    with emulated_cluster(tmp_path_factory.mktemp("emulated")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def rig(emulated: Emulated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A cluster process on the emulated cluster, which tests may kill and start again; only one may drive it."""
    state_dir = tmp_path_factory.mktemp("rig")
    (state_dir / "token").write_text(TOKEN)
    rig = Rig(ControlPlane(TOKEN), state_dir, emulated)
    try:
        rig.start_cluster_process()
        yield rig
    finally:
        if rig.cluster is not None:
            end(rig.cluster)
        rig.plane.close()
