import asyncio
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.store.backup import BackupFailed, back_up
from orchestrator.store.commands import jobs as commands
from orchestrator.store.database import Database
from orchestrator.store.migrate import migrate
from orchestrator.store.queries import jobs
from tests.builders import NOW, a_spec
from tests.orchestrator.client.server import REPOSITORY

pytestmark = pytest.mark.anyio


async def test_a_copy_of_a_database_in_use_is_whole_and_private(tmp_path: Path) -> None:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'podwright.db'}")
    await migrate(database)
    async with database.write() as tx:
        await commands.submit(tx, a_spec(), "job_1", NOW)  # type: ignore[arg-type]
    async with database.write() as tx:
        await commands.cancel(tx, "job_1", NOW)  # type: ignore[arg-type]
        command = [sys.executable, "-m", "orchestrator.backup", "--state-dir", str(tmp_path), str(tmp_path / "copy.db")]
        made = await asyncio.create_subprocess_exec(*command, cwd=REPOSITORY)
        assert await made.wait() == 0
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    copy = Database(f"sqlite+aiosqlite:///{tmp_path / 'copy.db'}")
    async with copy.read() as tx:
        assert (await jobs.find(tx, "toy")).desired == "run"  # what was not committed is not in it
    await copy.close()
    await database.close()
    with sqlite3.connect(tmp_path / "copy.db") as whole:
        assert whole.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_backup_never_writes_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(BackupFailed, match="there already"):
        back_up(f"sqlite+aiosqlite:///{tmp_path / 'podwright.db'}", tmp_path / "copy.db")
    with pytest.raises(BackupFailed, match="no database"):
        back_up(f"sqlite+aiosqlite:///{tmp_path / 'podwright.db'}", tmp_path / "other.db")
    assert (tmp_path / "copy.db").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["copy.db"]


async def test_postgresql_is_dumped(new_postgres_url: Callable[[], str], tmp_path: Path) -> None:
    made = back_up(new_postgres_url(), tmp_path / "copy.dump")
    assert made.read_bytes()[:5] == b"PGDMP"
