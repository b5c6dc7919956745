"""Why jobs wait, when they will start, and what would help them."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "outlooks",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("of", sa.Integer(), nullable=False),
        sa.Column("blockers", sa.Text(), nullable=False),
        sa.Column("start", sa.Text(), nullable=True),
        sa.Column("not_before_ms", sa.BigInteger(), nullable=True),
        sa.Column("ways", sa.Text(), nullable=False),
        sa.Column("ways_at_ms", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_outlooks_job_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_outlooks")),
    )


def downgrade() -> None:
    op.drop_table("outlooks")
