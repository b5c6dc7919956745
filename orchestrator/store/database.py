"""The database: one engine, two kinds of transaction. All that differs between SQLite and PostgreSQL stands here."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Executable, Result, Table, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from orchestrator.domain.errors import Fault, InvalidInput, Unavailable
from orchestrator.store.bell import Bell

BUSY_MS: Final = 5_000
"""How long a transaction waits for another process's write before the caller is told to try again."""

_WRITE_LOCK: Final = 0x706F6477
"""The advisory lock of PostgreSQL that stands for SQLite's one writer."""

_IDLE_MS: Final = 2_000
"""A process that is paused inside a transaction would keep its locks: PostgreSQL then ends its session."""

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
        self.dialect: str = self._engine.dialect.name

    @asynccontextmanager
    async def read(self) -> AsyncIterator[ReadTx]:
        """A transaction in which every question is answered by the same state of the database."""
        with _told():
            async with self._engine.connect() as connection:
                if self.dialect == "postgresql":
                    await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                async with connection.begin():
                    yield ReadTx(connection)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[WriteTx]:
        """A transaction that holds the write lock from its first statement, so that what it read stays true.

        Only holders of this lock append events: their ids are then in the order in which they are committed, and a
        reader that has seen one has seen all before it.
        """
        await self._wait_to_write()
        try:
            async with self._writing_connection() as connection:
                if self.dialect == "postgresql":
                    await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")
                yield WriteTx(connection)
        finally:
            self._writing.release()
        self.commits.ring()

    @asynccontextmanager
    async def write_beside(self) -> AsyncIterator[WriteTx]:
        """A transaction that other writers need not wait for. Its caller locks the rows that it depends on, and appends
        no events. SQLite has one writer only: there it is `write`."""
        if self.dialect != "postgresql":
            async with self.write() as tx:
                yield tx
            return
        async with self._writing_connection() as connection:
            yield WriteTx(connection)
        self.commits.ring()

    @asynccontextmanager
    async def _writing_connection(self) -> AsyncIterator[AsyncConnection]:
        with _told():
            async with self._engine.connect() as connection:
                await connection.execution_options(writes=True)
                async with connection.begin():
                    yield connection

    async def close(self) -> None:
        await self._engine.dispose()

    async def _wait_to_write(self) -> None:
        # Writers of one process queue here and not in SQLite, whose waiters poll, and unfairly.
        try:
            async with asyncio.timeout(self._busy_ms / 1000):
                await self._writing.acquire()
        except TimeoutError:
            raise Unavailable("the database is busy; try again") from None


@contextmanager
def _told() -> Iterator[None]:
    """The driver's errors in our own words."""
    try:
        yield
    except (OperationalError, InterfaceError, InternalError, PoolTimeout) as error:
        raise Unavailable("the database does not answer; try again") from (getattr(error, "orig", None) or error)
    except DataError as error:
        # PostgreSQL has no zero bytes in text: such a value is nowhere, and cannot be looked for.
        raise InvalidInput((Fault("", "holds a character or number that no record can hold"),)) from error


def _engine(url: str, busy_ms: int) -> AsyncEngine:
    address = make_url(url)
    hidden = {"hide_parameters": True}  # they hold users' environments, and errors are logged
    if address.get_backend_name() == "sqlite":
        engine = create_async_engine(address, **hidden)
        _set_up_sqlite(engine, busy_ms)
        return engine
    if address.get_backend_name() not in ("postgresql", "postgres"):
        raise ValueError(f"{address.drivername} is not supported; use sqlite+aiosqlite or postgresql")
    return create_async_engine(
        address.set(drivername="postgresql+psycopg"),
        **hidden,
        pool_size=10,
        max_overflow=10,
        pool_timeout=busy_ms / 1000,
        connect_args={
            "connect_timeout": 5,
            "options": f"-c lock_timeout={busy_ms} -c idle_in_transaction_session_timeout={_IDLE_MS}",
        },
    )


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
