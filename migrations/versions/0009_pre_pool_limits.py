"""What may be asked of the provider of a pool, what is wished of it now, and since when each slice is idle."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pool_limits",
        sa.Column("cluster_id", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("shape", sa.Text(), nullable=False),
        sa.Column("capacity", sa.Text(), nullable=False),
        sa.Column("least", sa.Integer(), nullable=False),
        sa.Column("most", sa.Integer(), nullable=False),
        sa.Column("ask", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("let_go", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("wished_at_ms", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("0 <= least AND least <= most", name=op.f("ck_pool_limits_span")),
        sa.CheckConstraint("ask = 0 OR let_go = '[]'", name=op.f("ck_pool_limits_one_way")),
        sa.ForeignKeyConstraint(["cluster_id"], ["clusters.id"], name=op.f("fk_pool_limits_cluster_id")),
        sa.PrimaryKeyConstraint("cluster_id", "pool", name=op.f("pk_pool_limits")),
    )
    op.add_column("slices", sa.Column("idle_since_ms", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("slices", "idle_since_ms")
    op.drop_table("pool_limits")
