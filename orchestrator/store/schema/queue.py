"""What is known of the queue besides its jobs."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
)

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

pool_limits = Table(
    "pool_limits",
    metadata,
    Column("cluster_id", Text, ForeignKey("clusters.id"), nullable=False),
    Column("pool", Text, nullable=False),
    Column("shape", Text, nullable=False),
    Column("capacity", Text, nullable=False),
    Column("least", Integer, nullable=False),
    Column("most", Integer, nullable=False),
    Column("ask", Integer, nullable=False, server_default="0"),
    Column("let_go", Text, nullable=False, server_default="[]"),
    Column("wished_at_ms", BigInteger),
    PrimaryKeyConstraint("cluster_id", "pool"),
    CheckConstraint("0 <= least AND least <= most", name="span"),
    CheckConstraint("ask = 0 OR let_go = '[]'", name="one_way"),
)
"""How many slices a pool may have, as an admin said, and what the scheduler wishes of it now."""
