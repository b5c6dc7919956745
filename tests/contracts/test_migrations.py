"""An old database and a new one end with the same schema, which is the one that the code knows."""

from collections.abc import AsyncIterator
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from orchestrator.store.database import Database
from orchestrator.store.migrate import migrate
from orchestrator.store.queries import jobs, people
from orchestrator.store.queries.tokens import owner
from orchestrator.store.schema import metadata
from tests.builders import NOW
from tests.postgres import Postgres

pytestmark = pytest.mark.anyio

OLD_ROWS = (
    "INSERT INTO tokens (hash, kind, name, created_at_ms) VALUES ('{hash}', 'admin', 'local', 1)",
    "INSERT INTO jobs (id, name, project, spec, state, desired, version, created_at_ms, queued_at_ms, not_before_ms,"
    " attempts, failures, stalls, preemptions, infra, without_progress, message, events) VALUES ('job_1', 'old',"
    """ 'research', '{{"name":"old","program":{{"command":["true"]}},"slices":"v5e:2x4","project":"research"}}',"""
    " 'QUEUED', 'run', 1, 5, 5, 0, 0, 0, 0, 0, 0, 0, '', 1)",
    "INSERT INTO events (job_id, sequence, kind, at_ms, message, data)"
    " VALUES ('job_1', 1, 'job.submitted', 5, 'x', '[]')",
)
HASH_OF_OLD = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4"  # of "old"


@pytest.fixture
async def empty(request: pytest.FixtureRequest, anyio_backend: str, tmp_path: Path) -> AsyncIterator[Database]:
    """A database without a table, of the kind that the parameter names."""
    if request.param == "sqlite":
        opened = Database(f"sqlite+aiosqlite:///{tmp_path / 'old.db'}")
        yield opened
        await opened.close()
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    opened = Database(postgres.create("old"))
    yield opened
    await opened.close()
    postgres.drop("old")


def upgrade_to(connection: Connection, revision: str) -> None:
    with as_file(files("migrations")) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def differences(connection: Connection) -> list[object]:
    """Between the database and the schema that the code knows; checks too, which Alembic does not compare."""
    found: list[object] = list(compare_metadata(MigrationContext.configure(connection), metadata))
    for table in metadata.sorted_tables:
        there = {check["name"] for check in inspect(connection).get_check_constraints(table.name)}
        known = {str(one.name) for one in table.constraints if type(one).__name__ == "CheckConstraint"}
        known = {name if name.startswith("ck_") else f"ck_{table.name}_{name}" for name in known}
        found += [(table.name, there ^ known)] if there != known else []
    return found


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
async def test_an_upgrade_from_the_first_revision_keeps_what_was_there(empty: Database) -> None:
    async with empty.write() as tx:
        await tx.connection.run_sync(upgrade_to, "0001")
        for row in OLD_ROWS:
            await tx.ask(text(row.format(hash=HASH_OF_OLD).replace(":", r"\:")))
    await migrate(empty)
    async with empty.write() as tx:
        assert await tx.connection.run_sync(differences) == []
        found = await owner(tx, "old", NOW)
        assert found is not None
        assert (await jobs.by_id(tx, "job_1")).spec.project == "research"  # type: ignore[arg-type]
        assert [one.name for one in await people.all_projects(tx)] == ["default", "research"]
        seen = await tx.ask(text("SELECT project FROM events"))
        assert seen.scalars().all() == ["research"]
        # The checks are those of now, in force and not only in the text.
        await tx.ask(text("UPDATE jobs SET state = 'HELD', desired = 'held'"))


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
async def test_an_upgrade_from_nothing_gives_the_schema(empty: Database) -> None:
    await migrate(empty)
    async with empty.read() as tx:
        assert await tx.connection.run_sync(differences) == []
