"""Bring a database to the newest schema, at start. Migrations are the files of the package `migrations`."""

from importlib.resources import as_file, files
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from orchestrator.store.database import Database


class NewerSchema(Exception):
    """The database was made by a newer version of this program."""


async def migrate(database: Database) -> None:
    """Run the migrations that are missing, in one transaction: two processes that start at once wait for each other.

    Raises:
        NewerSchema: this program is older than the database.
    """
    async with database.write() as tx:
        if database.dialect == "postgresql":
            # Between statements revisions are read from files, which a busy machine may make slow.
            await tx.connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        await tx.connection.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    with as_file(files("migrations")) as folder:
        config = _config(folder)
        config.attributes["connection"] = connection
        script = ScriptDirectory.from_config(config)
        present = MigrationContext.configure(connection).get_current_revision()
        known = {revision.revision for revision in script.walk_revisions()}
        if present is not None and present not in known:
            newest = script.get_current_head()
            raise NewerSchema(
                f"the database is at revision {present}, this program knows revisions up to {newest}; "
                "start a newer version of podwright, or use another state folder"
            )
        command.upgrade(config, "head")


def _config(folder: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    return config
