"""The registry of checkpoints: pins, notes, deletions, who went on from which step, and errands for clusters."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("checkpoints", sa.Column("pinned", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("checkpoints", sa.Column("note", sa.Text(), nullable=False, server_default=""))
    op.add_column("checkpoints", sa.Column("delete_asked_at_ms", sa.BigInteger(), nullable=True))
    op.add_column("checkpoints", sa.Column("deleted_at_ms", sa.BigInteger(), nullable=True))
    op.create_table(
        "restores",
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("source_job_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_restores_attempt_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_restores_job_id")),
        sa.PrimaryKeyConstraint("attempt_id", name=op.f("pk_restores")),
    )
    op.create_index("ix_restores_source_job_id", "restores", ["source_job_id"], unique=False)
    op.create_table(
        "errands",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("cluster_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=True),
        sa.Column("asked_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("done_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("ok", sa.Integer(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False, server_default=""),
        sa.CheckConstraint("kind IN ('delete', 'export', 'orphans', 'verify')", name=op.f("ck_errands_kind")),
        sa.ForeignKeyConstraint(["cluster_id"], ["clusters.id"], name=op.f("fk_errands_cluster_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_errands_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_errands")),
    )
    op.create_index("ix_errands_cluster_id_done_at_ms", "errands", ["cluster_id", "done_at_ms"], unique=False)


def downgrade() -> None:
    op.drop_table("errands")
    op.drop_table("restores")
    for column in ("deleted_at_ms", "delete_asked_at_ms", "note", "pinned"):
        op.drop_column("checkpoints", column)
