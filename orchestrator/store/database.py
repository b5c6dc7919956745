"""The database: one engine, two kinds of transaction. All that differs between SQLite and PostgreSQL stands here."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Executable, Result, Table, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from orchestrator.domain.errors import Unavailable
from orchestrator.store.bell import Bell

BUSY_MS: Final = 5_000
"""How long a transaction waits for another process's write before the caller is told to try again."""

Row = Mapping[str, Any]


class ReadTx:
    """A transaction that only asks."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection

    async def ask(self, statement: Executable) -> Result[Any]:
        return await self.connection.execute(statement)


class WriteTx(ReadTx):
    """A transaction that may also tell; it commits when its block ends."""

    async def tell(self, statement: Executable, rows: Sequence[Row] | None = None) -> CursorResult[Any]:
        return await self.connection.execute(statement, rows)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        async with self.connection.begin_nested():
            yield

    async def add_new(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert the rows whose keys are not there yet; the others stay as they are."""
        if rows:
            await self.tell(self._insert(table).on_conflict_do_nothing(), rows)

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert the rows, each in place of the one with its primary key."""
        if rows:
            insert = self._insert(table)
            keys = [column.name for column in table.primary_key]
            values = {name: insert.excluded[name] for name in rows[0] if name not in keys}
            await self.tell(insert.on_conflict_do_update(index_elements=keys, set_=values), rows)

    def _insert(self, table: Table) -> "postgresql.Insert | sqlite.Insert":
        if self.connection.dialect.name == "postgresql":
            return postgresql.insert(table)
        return sqlite.insert(table)


class Database:
    """Hands out transactions. Errors of a database that is locked or gone come out as `Unavailable`, once, here."""

    def __init__(self, url: str, busy_ms: int = BUSY_MS) -> None:
        self.commits = Bell()
        self._busy_ms = busy_ms
        self._writing = asyncio.Lock()
        self._engine = _engine(url, busy_ms)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[ReadTx]:
        try:
            async with self._engine.connect() as connection, connection.begin():
                yield ReadTx(connection)
        except (OperationalError, InterfaceError, PoolTimeout) as error:
            raise _unavailable(error) from error

    @asynccontextmanager
    async def write(self) -> AsyncIterator[WriteTx]:
        """A transaction that holds the write lock from its first statement, so that what it read stays true."""
        await self._wait_to_write()
        try:
            async with self._engine.connect() as connection:
                await connection.execution_options(writes=True)
                async with connection.begin():
                    yield WriteTx(connection)
        except (OperationalError, InterfaceError, PoolTimeout) as error:
            raise _unavailable(error) from error
        finally:
            self._writing.release()
        self.commits.ring()

    async def close(self) -> None:
        await self._engine.dispose()

    async def _wait_to_write(self) -> None:
        # Writers of one process queue here and not in SQLite, whose waiters poll, and unfairly.
        try:
            async with asyncio.timeout(self._busy_ms / 1000):
                await self._writing.acquire()
        except TimeoutError:
            raise Unavailable("the database is busy; try again") from None


def _unavailable(error: Exception) -> Unavailable:
    cause = getattr(error, "orig", None) or error
    return Unavailable(f"the database does not answer: {cause}")


def _engine(url: str, busy_ms: int) -> AsyncEngine:
    engine = create_async_engine(url, hide_parameters=True)  # they hold users' environments, and errors are logged
    if make_url(url).get_backend_name() == "sqlite":
        _set_up_sqlite(engine, busy_ms)
    return engine


def _set_up_sqlite(engine: AsyncEngine, busy_ms: int) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def connected(dbapi_connection: Any, _entry: ConnectionPoolEntry) -> None:
        dbapi_connection.isolation_level = None  # the driver's own BEGIN comes too late for BEGIN IMMEDIATE
        cursor = dbapi_connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {busy_ms}")
        cursor.execute("PRAGMA journal_mode = WAL")
        # What was committed has been answered for: a fact that a cluster forgets must outlive a power cut.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def began(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
