"""Files of users that lie in blobs: bundles of code that jobs run, artifacts that programs left."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, PrimaryKeyConstraint, Table, Text

from orchestrator.store.schema.base import ROW_ID, metadata, one_of

bundles = Table(
    "bundles",
    metadata,
    Column("project", Text, ForeignKey("projects.name"), nullable=False),
    Column("digest", Text, nullable=False),
    Column("blob", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("unpacked", BigInteger, nullable=False),
    Column("files", Integer, nullable=False),
    Column("git_commit", Text),
    Column("dirty", Integer),
    Column("diff", Text),
    Column("added_at_ms", BigInteger, nullable=False),
    Column("added_by", Text, nullable=False),
    Column("used_at_ms", BigInteger, nullable=False),
    PrimaryKeyConstraint("project", "digest"),
)
"""`git_commit`, `dirty` and `diff` are what the first uploader said of their work tree; `used_at_ms` is when it was
last offered or named by a new job."""

artifacts = Table(
    "artifacts",
    metadata,
    Column("row_id", ROW_ID, primary_key=True, autoincrement=True),
    Column("job_id", Text, ForeignKey("jobs.id"), nullable=False),
    Column("attempt_id", Text, ForeignKey("attempts.id"), nullable=False),
    Column("rank", Integer, nullable=False),
    Column("path", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("stored", BigInteger, nullable=False),
    Column("blob", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    one_of("state", ("arriving", "kept", "skipped")),
    Index("uq_artifacts_version", "attempt_id", "rank", "path", "size", "modified_ns", unique=True),
    Index("ix_artifacts_job_id", "job_id", "row_id"),
    sqlite_autoincrement=True,
)
"""One for each version of a file, told by its size and time of change. Only one that is `kept` is whole; it then takes
the place of those before it. A `skipped` one has a note that says why it was not taken."""
