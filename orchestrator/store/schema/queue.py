"""What is known of the queue besides its jobs."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, Table, Text

from orchestrator.domain.fleet import Target
from orchestrator.store.schema.base import metadata, one_of

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

maintenance = Table(
    "maintenance",
    metadata,
    Column("id", Text, primary_key=True),
    Column("target", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    one_of("target", Target),
    CheckConstraint("since_ms < until_ms", name="span"),
    Index("ix_maintenance_until_ms", "until_ms"),
)
"""When slices are out, as admins declared it. What is over stays as history."""
