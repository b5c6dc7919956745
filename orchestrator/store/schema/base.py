"""What all tables share: the metadata, how constraints are named, and columns that look alike."""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, Integer, MetaData

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

ROW_ID: Final = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only under INTEGER


def quoted(values: Iterable[str]) -> str:
    return ", ".join(f"'{value}'" for value in sorted(values))


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    return CheckConstraint(f"{column} IN ({quoted(values)})", name=column)
