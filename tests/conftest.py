"""Settings of the whole test session, and what several suites run on: databases, an emulated cluster."""

import asyncio
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import settings

from orchestrator.store.database import Database
from orchestrator.store.migrate import migrate
from tests import postgres as postgresql
from tests.emulated import Emulated, emulated_cluster, end
from tests.postgres import Postgres
from tests.workers.cluster.control_plane import ControlPlane
from tests.workers.cluster.rig import TOKEN, Rig

settings.register_profile("calm", derandomize=True, deadline=None)
settings.load_profile("calm")

_TEMPLATE = "migrated"
_WHOLE_PROCESSES = {"e2e", "browser"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that would measure each other's load run one at a time; `make test` runs all others two at a time."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if (
            folder in _WHOLE_PROCESSES
            or item.get_closest_marker("ray")
            or "emulated" in getattr(item, "fixturenames", ())
        ):
            item.add_marker(pytest.mark.serial)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, with a migrated database to copy. Without PostgreSQL tests are skipped, but never in CI."""
    programs = postgresql.binaries()
    if programs is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no PostgreSQL was found, and in CI nothing may be skipped")
        pytest.skip("no PostgreSQL was found")
    with postgresql.running(programs) as server:
        with ThreadPoolExecutor(1) as thread:  # the first test to ask for it may have an event loop of its own
            thread.submit(asyncio.run, _migrate(server.create(_TEMPLATE))).result()
        yield server


@pytest.fixture
def new_postgres_url(postgres: Postgres) -> Iterator[Callable[[], str]]:
    """Makes migrated databases that are gone after the test."""
    made: list[str] = []

    def new() -> str:
        made.append(f"test_{next(_numbers)}")
        return postgres.create(made[-1], _TEMPLATE)

    yield new
    for name in made:
        postgres.drop(name)


_numbers = itertools.count(1)


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there is one: no test's data have to outlive the machine, and disks sync slowly."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="podwright-test-", dir=memory) as folder:
        yield Path(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, quick_path: Path) -> str:
    """A database of the test's own, of each kind that we support."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{quick_path / 'test.db'}"
    return str(request.getfixturevalue("new_postgres_url")())


async def _migrate(url: str) -> None:
    database = Database(url)
    await migrate(database)
    await database.close()


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
