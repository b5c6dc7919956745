"""Jobs, attempts and slices, what is told of them, and who leads."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from orchestrator.domain.job import Desired, SliceState
from orchestrator.domain.lifecycle import TERMINAL, JobState
from orchestrator.store.schema.base import ROW_ID, metadata, one_of, quoted

_LIVE: Final = text("ended_at_ms IS NULL")

meta = Table(
    "meta",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)
"""One row. `revision` is raised by every write that may change a decision."""

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
)

clusters = Table(
    "clusters",
    metadata,
    Column("id", Text, primary_key=True),
    Column("seen_at_ms", BigInteger, nullable=False),
    Column("order_revision", BigInteger, nullable=False),
    Column("storage_fault", Text),
)
"""`storage_fault`: why it cannot write checkpoints; NULL while it can, or has not tried."""

slices = Table(
    "slices",
    metadata,
    Column("id", Text, primary_key=True),
    Column("cluster_id", Text, ForeignKey("clusters.id"), nullable=False),
    Column("pool", Text, nullable=False),
    Column("shape", Text, nullable=False),
    Column("capacity", Text, nullable=False),
    Column("incarnation", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
    Column("idle_since_ms", BigInteger),  # when its last attempt ended
    one_of("state", SliceState),
)

jobs = Table(
    "jobs",
    metadata,
    Column("row_id", ROW_ID, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("desired", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("queued_at_ms", BigInteger, nullable=False),
    Column("started_at_ms", BigInteger),
    Column("ended_at_ms", BigInteger),
    Column("not_before_ms", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("stalls", Integer, nullable=False),
    Column("preemptions", Integer, nullable=False),
    Column("infra", Integer, nullable=False),
    Column("without_progress", Integer, nullable=False),
    Column("committed_step", BigInteger),
    Column("reason", Text),
    Column("message", Text, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("owner", Text),
    Column("priority", Text),
    Column("origin", Text),
    Column("array_id", Text),
    Column("array_index", Integer),
    Column("array_limit", Integer),
    Column("evictions", Integer, nullable=False, server_default=text("0")),
    Column("resize_to", Integer),
    Column("done_ms", BigInteger, nullable=False, server_default=text("0")),
    Column("bundle", Text),
    UniqueConstraint("id"),
    one_of("state", JobState),
    one_of("desired", Desired),
    CheckConstraint(f"(ended_at_ms IS NOT NULL) = (state IN ({quoted(TERMINAL)}))", name="ended"),
    Index("ix_jobs_state", "state", "row_id"),
    Index("ix_jobs_name", "name", "row_id"),
    Index("ix_jobs_project", "project", "row_id"),
    Index("ix_jobs_owner", "owner", "row_id"),
    Index("ix_jobs_array_id", "array_id", "array_index"),
    Index("ix_jobs_bundle", "project", "bundle"),
    sqlite_autoincrement=True,
)
"""`row_id` is the order of submission; `events` is how many events the job has, so that their numbers have no gap.

`priority` is set when it was changed after the submission; `origin` is the job that this one is a retry or clone of;
`bundle` is the digest of its program's code.
"""

idempotency = Table(
    "idempotency",
    metadata,
    Column("token_hash", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("body_hash", Text, nullable=False),
    Column("job_id", Text, ForeignKey("jobs.id"), nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    PrimaryKeyConstraint("token_hash", "key"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("job_id", Text, ForeignKey("jobs.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("cluster_id", Text, ForeignKey("clusters.id"), nullable=False),
    Column("slices", Text, nullable=False),
    Column("chips", Integer, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("ordered_at_ms", BigInteger, nullable=False),
    Column("ready_at_ms", BigInteger),
    Column("stop", Text),
    Column("detected_at_ms", BigInteger),
    Column("last_sign_at_ms", BigInteger),
    Column("ended_at_ms", BigInteger),
    Column("closed_at_ms", BigInteger),  # when we recorded the end, by our own clock
    Column("reason", Text),
    Column("cause", Text),
    UniqueConstraint("job_id", "number"),
    CheckConstraint("(ended_at_ms IS NULL) = (reason IS NULL)", name="ends_with_a_reason"),
    Index("ix_attempts_ended_at_ms", "ended_at_ms"),
    Index("uq_attempts_one_live", "job_id", unique=True, sqlite_where=_LIVE, postgresql_where=_LIVE),
)

placements = Table(
    "placements",
    metadata,
    Column("slice_id", Text, ForeignKey("slices.id"), primary_key=True),
    Column("attempt_id", Text, ForeignKey("attempts.id"), nullable=False),
)
"""Only of live attempts: a slice holds at most one."""

ranks = Table(
    "ranks",
    metadata,
    Column("attempt_id", Text, ForeignKey("attempts.id"), primary_key=True),
    Column("rank", Integer, primary_key=True),
    Column("slice_id", Text, nullable=False),
    Column("host", Integer, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("started_at_ms", BigInteger, nullable=False),
)

facts = Table(
    "facts",
    metadata,
    Column("row_id", ROW_ID, primary_key=True, autoincrement=True),
    Column("cluster_id", Text, ForeignKey("clusters.id"), nullable=False),
    Column("source", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("cluster_id", "source", "sequence"),
    sqlite_autoincrement=True,
)
"""Not yet taken in; deleted with the change that they cause."""

fact_sources = Table(
    "fact_sources",
    metadata,
    Column("cluster_id", Text, ForeignKey("clusters.id"), nullable=False),
    Column("source", Text, nullable=False),
    Column("acknowledged", BigInteger, nullable=False),
    PrimaryKeyConstraint("cluster_id", "source"),
)

streams = Table(
    "streams",
    metadata,
    Column("attempt_id", Text, ForeignKey("attempts.id"), primary_key=True),
    Column("rank", Integer, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("offset", BigInteger, nullable=False),
    Column("invalid", BigInteger, nullable=False),
    one_of("stream", ("spool", "stdout", "stderr")),
)
"""How far each stream is stored, and how many of a spool's lines could not be read."""

progress = Table(
    "progress",
    metadata,
    Column("attempt_id", Text, ForeignKey("attempts.id"), primary_key=True),
    Column("phase", Text),
    Column("step", BigInteger),
    Column("total_steps", BigInteger),
    Column("committed_step", BigInteger),
    Column("resumed_step", BigInteger),
    Column("first_step_at_ms", BigInteger),
    Column("last_report_at_ms", BigInteger),
    Column("committed_at_ms", BigInteger),
)

points = Table(
    "points",
    metadata,
    Column("attempt_id", Text, ForeignKey("attempts.id"), nullable=False),
    Column("rank", Integer, nullable=False),
    Column("series", Text, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("job_id", Text, ForeignKey("jobs.id"), nullable=False),
    Column("value", Float(53)),
    Column("not_finite", Text),
    Column("at_ms", BigInteger, nullable=False),
    PrimaryKeyConstraint("attempt_id", "rank", "series", "step"),
    one_of("not_finite", ("NaN", "Infinity", "-Infinity")),
    CheckConstraint("(value IS NULL) <> (not_finite IS NULL)", name="one_value"),
    Index("ix_points_job_id_series", "job_id", "series"),
)
"""What is not finite is kept by name: SQLite turns a NaN into NULL."""

phases = Table(
    "phases",
    metadata,
    Column("attempt_id", Text, ForeignKey("attempts.id"), primary_key=True),
    Column("rank", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("phase", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)
"""`position` is the line's byte offset in its spool: two phases of one millisecond keep their order."""

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("attempt_id", Text, ForeignKey("attempts.id"), nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("job_id", Text, ForeignKey("jobs.id"), nullable=False),
    Column("path", Text, nullable=False),
    Column("bytes", BigInteger),
    Column("step_at_ms", BigInteger),
    Column("save_ms", BigInteger),
    Column("blocked_ms", BigInteger),
    Column("at_ms", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("pinned", Integer, nullable=False, server_default="0"),
    Column("note", Text, nullable=False, server_default=""),
    Column("delete_asked_at_ms", BigInteger),
    Column("deleted_at_ms", BigInteger),
    Column("unfenced", Integer, nullable=False, server_default="0"),
    PrimaryKeyConstraint("attempt_id", "step"),
    one_of("state", ("committed", "quarantined")),
    Index("ix_checkpoints_job_id_step", "job_id", "step"),
)
"""Every step that was ever committed: those that were deleted stay as history."""

restores = Table(
    "restores",
    metadata,
    Column("attempt_id", Text, ForeignKey("attempts.id"), primary_key=True),
    Column("job_id", Text, ForeignKey("jobs.id"), nullable=False),
    Column("source_job_id", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Index("ix_restores_source_job_id", "source_job_id"),
)
"""Which committed step each attempt went on from; of another job if it was continued from that one."""

errands = Table(
    "errands",
    metadata,
    Column("id", Text, primary_key=True),
    Column("cluster_id", Text, ForeignKey("clusters.id"), nullable=False),
    Column("job_id", Text, ForeignKey("jobs.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("target", Text),
    Column("asked_at_ms", BigInteger, nullable=False),
    Column("done_at_ms", BigInteger),
    Column("ok", Integer),
    Column("message", Text, nullable=False, server_default=""),
    one_of("kind", ("verify", "delete", "export", "orphans")),
    Index("ix_errands_cluster_id_done_at_ms", "cluster_id", "done_at_ms"),
    Index("ix_errands_job_id_kind", "job_id", "kind"),
)
"""What a cluster shall do to checkpoint objects, which the control plane never touches itself."""

events = Table(
    "events",
    metadata,
    Column("id", ROW_ID, primary_key=True, autoincrement=True),
    Column("job_id", Text, ForeignKey("jobs.id")),
    Column("sequence", BigInteger),
    Column("attempt_id", Text),
    Column("slice_id", Text),
    Column("kind", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("message", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("project", Text),
    Column("actor", Text),
    Column("address", Text),
    UniqueConstraint("job_id", "sequence"),
    CheckConstraint("(job_id IS NULL) = (sequence IS NULL)", name="numbered"),
    sqlite_autoincrement=True,
)
"""Append-only, written in the transaction of its change. `actor` and `address` are of who asked for it."""
