"""What the scheduler remembers: evictions, the next size of an elastic job, and when a commit's step was made."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("evictions", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("jobs", sa.Column("resize_to", sa.Integer(), nullable=True))
    op.add_column("progress", sa.Column("committed_at_ms", sa.BigInteger(), nullable=True))
    op.create_index("ix_attempts_ended_at_ms", "attempts", ["ended_at_ms"])


def downgrade() -> None:
    op.drop_index("ix_attempts_ended_at_ms", table_name="attempts")
    op.drop_column("progress", "committed_at_ms")
    op.drop_column("jobs", "resize_to")
    op.drop_column("jobs", "evictions")
