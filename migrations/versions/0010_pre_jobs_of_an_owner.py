"""An index for lists of one owner's jobs, which went through all jobs where the owner had few."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_jobs_owner", "jobs", ["owner", "row_id"])
