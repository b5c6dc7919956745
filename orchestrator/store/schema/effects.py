"""What admins say about the fleet, and what the control plane tells others."""

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

from orchestrator.domain.fleet import Limit, Target
from orchestrator.store.schema.base import ROW_ID, metadata, one_of

hosts = Table(
    "hosts",
    metadata,
    Column("slice_id", Text, nullable=False),
    Column("host", Integer, nullable=False),
    Column("node_id", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("chips", Integer, nullable=False),
    PrimaryKeyConstraint("slice_id", "host"),
)
"""Of each slice's newest incarnation."""

restrictions = Table(
    "restrictions",
    metadata,
    Column("target", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("imposed", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    PrimaryKeyConstraint("target", "name"),
    one_of("target", Target),
    one_of("imposed", Limit),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("project", Text, ForeignKey("projects.name"), nullable=False),
    Column("url", Text, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("sealed_key", Text, nullable=False),
    Column("after_event", BigInteger, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("job_id", Text),
    Index("ix_webhooks_project", "project"),
    Index("ix_webhooks_job_id", "job_id"),
)
"""`after_event`: deliveries have been made of all events up to this one. One with a `job_id` came with that job's spec
and hears of that job only; its `sealed_key` is empty if the spec names none, and then it is not signed."""

deliveries = Table(
    "deliveries",
    metadata,
    Column("row_id", ROW_ID, primary_key=True, autoincrement=True),
    Column("webhook_id", Text, ForeignKey("webhooks.id"), nullable=False),
    Column("event_id", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("next_at_ms", BigInteger),
    Column("status", Integer),
    Column("error", Text),
    Column("at_ms", BigInteger, nullable=False),
    one_of("state", ("delivered", "failed", "pending")),
    CheckConstraint("(next_at_ms IS NOT NULL) = (state = 'pending')", name="due"),
    Index("uq_deliveries_webhook_id_event_id", "webhook_id", "event_id", unique=True),
    Index("ix_deliveries_next_at_ms", "next_at_ms"),
    sqlite_autoincrement=True,
)
"""One for each webhook and event, with how it went."""
