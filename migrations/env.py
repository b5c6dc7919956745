"""Alembic's entry: runs migrations on the connection that `orchestrator.store.migrate` hands over."""

from alembic import context

from orchestrator.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
