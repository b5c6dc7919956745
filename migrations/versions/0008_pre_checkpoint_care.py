"""Care for checkpoints: which clusters cannot write them, which commits no fence guards, errands found by their job."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("clusters", sa.Column("storage_fault", sa.Text(), nullable=True))
    op.add_column("checkpoints", sa.Column("unfenced", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_errands_job_id_kind", "errands", ["job_id", "kind"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_errands_job_id_kind", "errands")
    op.drop_column("checkpoints", "unfenced")
    op.drop_column("clusters", "storage_fault")
