"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "clusters",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("seen_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("order_revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clusters")),
    )
    op.create_table(
        "jobs",
        sa.Column("row_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("desired", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("queued_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("not_before_ms", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("stalls", sa.Integer(), nullable=False),
        sa.Column("preemptions", sa.Integer(), nullable=False),
        sa.Column("infra", sa.Integer(), nullable=False),
        sa.Column("without_progress", sa.Integer(), nullable=False),
        sa.Column("committed_step", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "(ended_at_ms IS NOT NULL) = (state IN ('CANCELLED', 'FAILED', 'SUCCEEDED'))", name=op.f("ck_jobs_ended")
        ),
        sa.CheckConstraint("desired IN ('cancelled', 'run')", name=op.f("ck_jobs_desired")),
        sa.CheckConstraint(
            "state IN ('CANCELLED', 'FAILED', 'QUEUED', 'RUNNING', 'STARTING', 'STOPPING', 'SUCCEEDED')",
            name=op.f("ck_jobs_state"),
        ),
        sa.PrimaryKeyConstraint("row_id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("id", name=op.f("uq_jobs_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_name", "jobs", ["name", "row_id"], unique=False)
    op.create_index("ix_jobs_state", "jobs", ["state", "row_id"], unique=False)
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "meta",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_meta_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_meta")),
    )
    op.create_table(
        "tokens",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("kind IN ('admin', 'cluster')", name=op.f("ck_tokens_kind")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_tokens")),
    )
    op.create_table(
        "attempts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("cluster_id", sa.Text(), nullable=False),
        sa.Column("slices", sa.Text(), nullable=False),
        sa.Column("chips", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("ordered_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("ready_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("stop", sa.Text(), nullable=True),
        sa.Column("detected_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_sign_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("closed_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("cause", sa.Text(), nullable=True),
        sa.CheckConstraint("(ended_at_ms IS NULL) = (reason IS NULL)", name=op.f("ck_attempts_ends_with_a_reason")),
        sa.ForeignKeyConstraint(["cluster_id"], ["clusters.id"], name=op.f("fk_attempts_cluster_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_attempts_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("job_id", "number", name=op.f("uq_attempts_job_id_number")),
    )
    op.create_index(
        "uq_attempts_one_live",
        "attempts",
        ["job_id"],
        unique=True,
        sqlite_where=sa.text("ended_at_ms IS NULL"),
        postgresql_where=sa.text("ended_at_ms IS NULL"),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("sequence", sa.BigInteger(), nullable=True),
        sa.Column("attempt_id", sa.Text(), nullable=True),
        sa.Column("slice_id", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.CheckConstraint("(job_id IS NULL) = (sequence IS NULL)", name=op.f("ck_events_numbered")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_events_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sa.UniqueConstraint("job_id", "sequence", name=op.f("uq_events_job_id_sequence")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "fact_sources",
        sa.Column("cluster_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("acknowledged", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["cluster_id"], ["clusters.id"], name=op.f("fk_fact_sources_cluster_id")),
        sa.PrimaryKeyConstraint("cluster_id", "source", name=op.f("pk_fact_sources")),
    )
    op.create_table(
        "facts",
        sa.Column("row_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("cluster_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["cluster_id"], ["clusters.id"], name=op.f("fk_facts_cluster_id")),
        sa.PrimaryKeyConstraint("row_id", name=op.f("pk_facts")),
        sa.UniqueConstraint("cluster_id", "source", "sequence", name=op.f("uq_facts_cluster_id_source_sequence")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "idempotency",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body_hash", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_idempotency_job_id")),
        sa.PrimaryKeyConstraint("token_hash", "key", name=op.f("pk_idempotency")),
    )
    op.create_table(
        "slices",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("cluster_id", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("shape", sa.Text(), nullable=False),
        sa.Column("capacity", sa.Text(), nullable=False),
        sa.Column("incarnation", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('down', 'up')", name=op.f("ck_slices_state")),
        sa.ForeignKeyConstraint(["cluster_id"], ["clusters.id"], name=op.f("fk_slices_cluster_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slices")),
    )
    op.create_table(
        "checkpoints",
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("step_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("save_ms", sa.BigInteger(), nullable=True),
        sa.Column("blocked_ms", sa.BigInteger(), nullable=True),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.CheckConstraint("state IN ('committed', 'quarantined')", name=op.f("ck_checkpoints_state")),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_checkpoints_attempt_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_checkpoints_job_id")),
        sa.PrimaryKeyConstraint("attempt_id", "step", name=op.f("pk_checkpoints")),
    )
    op.create_index("ix_checkpoints_job_id_step", "checkpoints", ["job_id", "step"], unique=False)
    op.create_table(
        "phases",
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_phases_attempt_id")),
        sa.PrimaryKeyConstraint("attempt_id", "rank", "position", name=op.f("pk_phases")),
    )
    op.create_table(
        "placements",
        sa.Column("slice_id", sa.Text(), nullable=False),
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_placements_attempt_id")),
        sa.ForeignKeyConstraint(["slice_id"], ["slices.id"], name=op.f("fk_placements_slice_id")),
        sa.PrimaryKeyConstraint("slice_id", name=op.f("pk_placements")),
    )
    op.create_table(
        "points",
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("series", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(precision=53), nullable=True),
        sa.Column("not_finite", sa.Text(), nullable=True),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("not_finite IN ('-Infinity', 'Infinity', 'NaN')", name=op.f("ck_points_not_finite")),
        sa.CheckConstraint("(value IS NULL) <> (not_finite IS NULL)", name=op.f("ck_points_one_value")),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_points_attempt_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_points_job_id")),
        sa.PrimaryKeyConstraint("attempt_id", "rank", "series", "step", name=op.f("pk_points")),
    )
    op.create_index("ix_points_job_id_series", "points", ["job_id", "series"], unique=False)
    op.create_table(
        "progress",
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("total_steps", sa.BigInteger(), nullable=True),
        sa.Column("committed_step", sa.BigInteger(), nullable=True),
        sa.Column("resumed_step", sa.BigInteger(), nullable=True),
        sa.Column("first_step_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_report_at_ms", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_progress_attempt_id")),
        sa.PrimaryKeyConstraint("attempt_id", name=op.f("pk_progress")),
    )
    op.create_table(
        "ranks",
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("slice_id", sa.Text(), nullable=False),
        sa.Column("host", sa.Integer(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("started_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_ranks_attempt_id")),
        sa.PrimaryKeyConstraint("attempt_id", "rank", name=op.f("pk_ranks")),
    )
    op.create_table(
        "streams",
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("stream", sa.Text(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("invalid", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("stream IN ('spool', 'stderr', 'stdout')", name=op.f("ck_streams_stream")),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_streams_attempt_id")),
        sa.PrimaryKeyConstraint("attempt_id", "rank", "stream", name=op.f("pk_streams")),
    )
    op.execute("INSERT INTO meta (id, revision) VALUES (1, 0)")


def downgrade() -> None:
    op.drop_table("streams")
    op.drop_table("ranks")
    op.drop_table("progress")
    op.drop_table("points")
    op.drop_table("placements")
    op.drop_table("phases")
    op.drop_table("checkpoints")
    op.drop_table("slices")
    op.drop_table("idempotency")
    op.drop_table("facts")
    op.drop_table("fact_sources")
    op.drop_table("events")
    op.drop_table("attempts")
    op.drop_table("tokens")
    op.drop_table("meta")
    op.drop_table("leases")
    op.drop_table("jobs")
    op.drop_table("clusters")
