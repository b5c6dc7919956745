"""Copy a database while it is in use: SQLite's online backup, PostgreSQL's `pg_dump`. Blobs are plain files."""

import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Final

from sqlalchemy.engine import URL, make_url

_PAGES: Final = 1_000
"""Copied at once; between two pieces others may write."""


class BackupFailed(Exception):
    """No backup was made; the message says why."""


def back_up(database_url: str, to: Path) -> Path:
    """Write a consistent copy of the database; nobody has to stop. Returns the file.

    Raises:
        BackupFailed: the file is there already, or the database cannot be read.
    """
    if to.exists():
        raise BackupFailed(f"{to} is there already; name a new file")
    url = make_url(database_url)
    part = to.with_name(f".{to.name}.part")
    part.unlink(missing_ok=True)
    try:
        part.touch(mode=0o600)
        if url.get_backend_name() == "sqlite":
            _copy_sqlite(Path(url.database or ""), part)
        else:
            _dump_postgres(url, part)
        part.replace(to)
    except (OSError, sqlite3.Error, subprocess.SubprocessError) as error:
        raise BackupFailed(f"the database could not be copied: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return to


def _copy_sqlite(source: Path, to: Path) -> None:
    if not source.is_file():
        raise FileNotFoundError(f"there is no database {source}")
    live, copy = sqlite3.connect(f"file:{source}?mode=ro", uri=True), sqlite3.connect(to)
    try:
        live.backup(copy, pages=_PAGES)
    finally:
        live.close()
        copy.close()


def _dump_postgres(url: URL, to: Path) -> None:
    command = ["pg_dump", "--format=custom", "--no-owner", f"--file={to}"]
    made = subprocess.run(command, env={**os.environ, **_libpq(url)}, capture_output=True, text=True, check=False)
    if made.returncode:
        raise OSError(made.stderr.strip() or f"pg_dump exited with {made.returncode}")


def _libpq(url: URL) -> dict[str, str]:
    """The address as libpq's variables: `ps` shows a command line to everybody."""
    host = url.host or url.query.get("host")
    known = {
        "PGHOST": host if isinstance(host, str) else None,
        "PGPORT": str(url.port) if url.port else None,
        "PGUSER": url.username,
        "PGPASSWORD": url.password,
        "PGDATABASE": url.database,
    }
    return {name: value for name, value in known.items() if value}
