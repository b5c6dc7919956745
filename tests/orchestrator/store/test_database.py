import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from orchestrator.domain.errors import Unavailable
from orchestrator.store.database import Database
from orchestrator.store.migrate import NewerSchema, migrate
from orchestrator.store.schema import metadata

pytestmark = pytest.mark.anyio


def url(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"


def definitions(path: Path) -> dict[str, set[str]]:
    """Every table and index as the database has it: its parts, whatever their order and white space."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: parts(sql) for name, sql in rows if not name.startswith(("alembic", "sqlite"))}


def parts(sql: str) -> set[str]:
    """What stands between the commas of the outermost parentheses, and around them."""
    found, depth = [""], 0
    for character in " ".join(sql.split()):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if (character in "()" and depth == (character == "(")) or (character == "," and depth == 1):
            found.append("")
        else:
            found[-1] += character
    return {part.strip() for part in found}


async def test_upgrading_from_nothing_gives_the_schema(tmp_path: Path) -> None:
    upgraded, fresh = Database(url(tmp_path / "upgraded.db")), Database(url(tmp_path / "fresh.db"))
    await migrate(upgraded)
    async with fresh.write() as tx:
        await tx.connection.run_sync(metadata.create_all)
    await upgraded.close()
    await fresh.close()
    assert definitions(tmp_path / "upgraded.db") == definitions(tmp_path / "fresh.db")


async def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    database = Database(url(tmp_path / "a.db"))
    await migrate(database)
    before = definitions(tmp_path / "a.db")
    await migrate(database)
    await database.close()
    assert definitions(tmp_path / "a.db") == before


async def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    database = Database(url(tmp_path / "a.db"))
    await migrate(database)
    async with database.write() as tx:
        await tx.ask(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerSchema, match=r"revision 9999.*up to \d{4}"):
        await migrate(database)
    await database.close()


async def test_an_error_does_not_repeat_the_values_of_its_statement(tmp_path: Path) -> None:
    database = Database(url(tmp_path / "a.db"))
    await migrate(database)
    statement = "INSERT INTO leases (name, holder, epoch, version) VALUES (:name, NULL, 1, 1)"
    with pytest.raises(IntegrityError) as refused:
        async with database.write() as tx:
            await tx.tell(text(statement).bindparams(name="s3cret"))
    await database.close()
    assert "s3cret" not in str(refused.value)


async def test_a_locked_database_is_unavailable_to_writers_and_readable(tmp_path: Path) -> None:
    database = Database(url(tmp_path / "a.db"), busy_ms=50)
    await migrate(database)
    blocker = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Unavailable, match="does not answer"):
        async with database.write():
            pass
    async with database.read() as tx:
        assert (await tx.ask(text("SELECT revision FROM meta"))).scalar_one() == 0
    blocker.execute("ROLLBACK")
    async with database.write():
        pass
    blocker.close()
    await database.close()


async def test_a_database_that_is_gone_is_unavailable(tmp_path: Path) -> None:
    database = Database(url(tmp_path / "nowhere" / "a.db"))
    with pytest.raises(Unavailable):
        async with database.read():
            pass
    await database.close()
