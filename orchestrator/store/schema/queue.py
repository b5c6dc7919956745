"""What is known of the queue besides its jobs."""

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, Table, Text

from orchestrator.store.schema.base import metadata

outlooks = Table(
    "outlooks",
    metadata,
    Column("job_id", Text, ForeignKey("jobs.id"), primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("place", Integer, nullable=False),
    Column("of", Integer, nullable=False),
    Column("blockers", Text, nullable=False),
    Column("start", Text),
    Column("not_before_ms", BigInteger),
    Column("ways", Text, nullable=False),
    Column("ways_at_ms", BigInteger),
)
"""Why each queued job waits and when it will start, as the leader last saw it: for people, no decision rests on it."""
