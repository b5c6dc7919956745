"""Who may do what: users, projects, tokens; what projects own besides jobs."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from orchestrator.domain.access import Role
from orchestrator.store.schema.base import metadata, one_of

users = Table(
    "users",
    metadata,
    Column("name", Text, primary_key=True),
    Column("admin", Boolean, nullable=False),
    Column("disabled", Boolean, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("name", Text, primary_key=True),
    Column("description", Text, nullable=False),
    Column("weight", Float(53), nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    CheckConstraint("weight > 0", name="weight"),
)

members = Table(
    "members",
    metadata,
    Column("project", Text, ForeignKey("projects.name"), nullable=False),
    Column("user_name", Text, ForeignKey("users.name"), nullable=False),
    Column("role", Text, nullable=False),
    PrimaryKeyConstraint("project", "user_name"),
    one_of("role", Role),
    Index("ix_members_user_name", "user_name"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("id", Text, nullable=False),
    Column("user_name", Text, ForeignKey("users.name")),
    Column("scope", Text, nullable=False),
    Column("expires_at_ms", BigInteger),
    Column("last_used_at_ms", BigInteger),
    UniqueConstraint("id"),
    one_of("kind", ("admin", "cluster", "user")),
    CheckConstraint("(kind = 'user') = (user_name IS NOT NULL)", name="owned"),
    Index("ix_tokens_user_name", "user_name"),
)
"""Only hashes: whoever reads the database can use none. `name` is a cluster's id, or a label."""

quotas = Table(
    "quotas",
    metadata,
    Column("project", Text, ForeignKey("projects.name"), nullable=False),
    Column("pool", Text, nullable=False),
    Column("guarantee_chips", BigInteger, nullable=False),
    Column("limit_chips", BigInteger),
    PrimaryKeyConstraint("project", "pool"),
    CheckConstraint("guarantee_chips >= 0", name="guarantee"),
    CheckConstraint("limit_chips IS NULL OR limit_chips >= guarantee_chips", name="limits"),
)
"""Pool `*`: in all pools together."""

secrets = Table(
    "secrets",
    metadata,
    Column("project", Text, ForeignKey("projects.name"), nullable=False),
    Column("name", Text, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("set_at_ms", BigInteger, nullable=False),
    Column("set_by", Text, nullable=False),
    PrimaryKeyConstraint("project", "name"),
)
"""Sealed: the key is not in the database."""
