"""Bundles of code, artifacts, and webhooks that come with a job's spec."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("jobs", sa.Column("bundle", sa.Text(), nullable=True))
    op.create_index("ix_jobs_bundle", "jobs", ["project", "bundle"])
    op.add_column("webhooks", sa.Column("job_id", sa.Text(), nullable=True))
    op.create_index("ix_webhooks_job_id", "webhooks", ["job_id"])
    op.create_table(
        "bundles",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("unpacked", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("git_commit", sa.Text(), nullable=True),
        sa.Column("dirty", sa.Integer(), nullable=True),
        sa.Column("diff", sa.Text(), nullable=True),
        sa.Column("added_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("added_by", sa.Text(), nullable=False),
        sa.Column("used_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.name"], name=op.f("fk_bundles_project")),
        sa.PrimaryKeyConstraint("project", "digest", name=op.f("pk_bundles")),
    )
    op.create_table(
        "artifacts",
        sa.Column("row_id", _ROW_ID, autoincrement=True, nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("stored", sa.BigInteger(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('arriving', 'kept', 'skipped')", name=op.f("ck_artifacts_state")),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_artifacts_attempt_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_artifacts_job_id")),
        sa.PrimaryKeyConstraint("row_id", name=op.f("pk_artifacts")),
        sqlite_autoincrement=True,
    )
    version = ["attempt_id", "rank", "path", "size", "modified_ns"]
    op.create_index("uq_artifacts_version", "artifacts", version, unique=True)
    op.create_index("ix_artifacts_job_id", "artifacts", ["job_id", "row_id"])


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
