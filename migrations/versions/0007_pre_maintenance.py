"""When parts of the fleet are out for maintenance; how long the committed work of a job took."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "maintenance",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("target IN ('host', 'pool', 'slice')", name=op.f("ck_maintenance_target")),
        sa.CheckConstraint("since_ms < until_ms", name=op.f("ck_maintenance_span")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_maintenance")),
    )
    op.create_index("ix_maintenance_until_ms", "maintenance", ["until_ms"], unique=False)
    op.add_column("jobs", sa.Column("done_ms", sa.BigInteger(), nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    op.drop_column("jobs", "done_ms")
    op.drop_table("maintenance")
