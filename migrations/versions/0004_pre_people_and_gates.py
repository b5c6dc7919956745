"""Users, projects and their tokens; jobs that are held, blocked or of an array; restrictions, secrets, webhooks."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_STATES = "'CANCELLED', 'FAILED', 'QUEUED', 'RUNNING', 'STARTING', 'STOPPING', 'SUCCEEDED'"
_MORE_STATES = "'BLOCKED', 'CANCELLED', 'FAILED', 'HELD', 'QUEUED', 'RUNNING', 'STARTING', 'STOPPING', 'SUCCEEDED'"


def upgrade() -> None:
    _people()
    _tokens()
    _jobs()
    _fleet()
    _webhooks()
    for name in ("project", "actor", "address"):
        op.add_column("events", sa.Column(name, sa.Text(), nullable=True))
    op.execute("UPDATE events SET project = (SELECT project FROM jobs WHERE jobs.id = events.job_id)")
    # The projects that jobs are in by now, and the one that a spec without a project means.
    op.execute(
        "INSERT INTO projects (name, description, weight, created_at_ms, version)"
        " SELECT project, '', 1, min(created_at_ms), 1 FROM jobs WHERE project <> 'default' GROUP BY project"
        " UNION SELECT 'default', 'where jobs go that name no project', 1, 0, 1"
    )


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")


def _people() -> None:
    op.create_table(
        "users",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("admin", sa.Boolean(), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_users")),
    )
    op.create_table(
        "projects",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("weight", sa.Float(precision=53), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("weight > 0", name=op.f("ck_projects_weight")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_projects")),
    )
    op.create_table(
        "members",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.CheckConstraint("role IN ('admin', 'submitter', 'viewer')", name=op.f("ck_members_role")),
        sa.ForeignKeyConstraint(["project"], ["projects.name"], name=op.f("fk_members_project")),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name=op.f("fk_members_user_name")),
        sa.PrimaryKeyConstraint("project", "user_name", name=op.f("pk_members")),
    )
    op.create_index("ix_members_user_name", "members", ["user_name"])
    op.create_table(
        "quotas",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("guarantee_chips", sa.BigInteger(), nullable=False),
        sa.Column("limit_chips", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("guarantee_chips >= 0", name=op.f("ck_quotas_guarantee")),
        sa.CheckConstraint("limit_chips IS NULL OR limit_chips >= guarantee_chips", name=op.f("ck_quotas_limits")),
        sa.ForeignKeyConstraint(["project"], ["projects.name"], name=op.f("fk_quotas_project")),
        sa.PrimaryKeyConstraint("project", "pool", name=op.f("pk_quotas")),
    )
    op.create_table(
        "secrets",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("set_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.name"], name=op.f("fk_secrets_project")),
        sa.PrimaryKeyConstraint("project", "name", name=op.f("pk_secrets")),
    )


def _tokens() -> None:
    """Made anew: tokens of old are kept, each with all that its kind may do."""
    op.create_table(
        "tokens_0004",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
    )
    op.execute("INSERT INTO tokens_0004 SELECT hash, kind, name, created_at_ms FROM tokens")
    op.drop_table("tokens")
    op.create_table(
        "tokens",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=True),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_used_at_ms", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("(kind = 'user') = (user_name IS NOT NULL)", name=op.f("ck_tokens_owned")),
        sa.CheckConstraint("kind IN ('admin', 'cluster', 'user')", name=op.f("ck_tokens_kind")),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name=op.f("fk_tokens_user_name")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_tokens")),
        sa.UniqueConstraint("id", name=op.f("uq_tokens_id")),
    )
    op.create_index("ix_tokens_user_name", "tokens", ["user_name"])
    op.execute(
        "INSERT INTO tokens (hash, kind, name, created_at_ms, id, scope)"
        " SELECT hash, kind, name, created_at_ms, 'tok_' || substr(hash, 1, 16), 'admin' FROM tokens_0004"
    )
    op.drop_table("tokens_0004")


def _jobs() -> None:
    for name in ("owner", "priority", "origin", "array_id"):
        op.add_column("jobs", sa.Column(name, sa.Text(), nullable=True))
    for name in ("array_index", "array_limit"):
        op.add_column("jobs", sa.Column(name, sa.Integer(), nullable=True))
    op.create_index("ix_jobs_project", "jobs", ["project", "row_id"])
    op.create_index("ix_jobs_array_id", "jobs", ["array_id", "array_index"])
    _replace_check("jobs", "ck_jobs_state", f"state IN ({_STATES})", f"state IN ({_MORE_STATES})")
    _replace_check(
        "jobs", "ck_jobs_desired", "desired IN ('cancelled', 'run')", "desired IN ('cancelled', 'held', 'run')"
    )


def _fleet() -> None:
    op.create_table(
        "hosts",
        sa.Column("slice_id", sa.Text(), nullable=False),
        sa.Column("host", sa.Integer(), nullable=False),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("chips", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("slice_id", "host", name=op.f("pk_hosts")),
    )
    op.create_table(
        "restrictions",
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("imposed", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("target IN ('host', 'pool', 'slice')", name=op.f("ck_restrictions_target")),
        sa.CheckConstraint("imposed IN ('cordoned', 'draining', 'quarantined')", name=op.f("ck_restrictions_imposed")),
        sa.PrimaryKeyConstraint("target", "name", name=op.f("pk_restrictions")),
    )


def _webhooks() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("sealed_key", sa.Text(), nullable=False),
        sa.Column("after_event", sa.BigInteger(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.name"], name=op.f("fk_webhooks_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index("ix_webhooks_project", "webhooks", ["project"])
    op.create_table(
        "deliveries",
        sa.Column("row_id", _ROW_ID, autoincrement=True, nullable=False),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('delivered', 'failed', 'pending')", name=op.f("ck_deliveries_state")),
        sa.CheckConstraint("(next_at_ms IS NOT NULL) = (state = 'pending')", name=op.f("ck_deliveries_due")),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"], name=op.f("fk_deliveries_webhook_id")),
        sa.PrimaryKeyConstraint("row_id", name=op.f("pk_deliveries")),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_deliveries_webhook_id_event_id", "deliveries", ["webhook_id", "event_id"], unique=True)
    op.create_index("ix_deliveries_next_at_ms", "deliveries", ["next_at_ms"])


def _replace_check(table: str, name: str, old: str, new: str) -> None:
    """Put `new` in the place of a check. SQLite cannot alter one: its manual says to write the table's text."""
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(op.f(name), table, type_="check")
        op.create_check_constraint(op.f(name), table, new)
        return
    version = op.get_bind().exec_driver_sql("PRAGMA schema_version").scalar_one()
    op.execute("PRAGMA writable_schema = ON")
    changed = op.get_bind().exec_driver_sql(
        "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = ? AND instr(sql, ?) > 0",
        (old, new, table, old),
    )
    if changed.rowcount != 1:
        raise RuntimeError(f"the table {table} has no check {old!r}")
    op.execute(f"PRAGMA schema_version = {version + 1}")
    op.execute("PRAGMA writable_schema = OFF")
