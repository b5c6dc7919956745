"""Secrets: their names for people, and what is sealed for the orders of jobs."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select, tuple_

from orchestrator.store.database import ReadTx
from orchestrator.store.schema import secrets


@dataclass(frozen=True, slots=True)
class Secret:
    """All about a secret but its value."""

    name: str
    version: int
    set_at_ms: int
    set_by: str


async def secrets_of(tx: ReadTx, project: str) -> tuple[Secret, ...]:
    asked = select(secrets).where(secrets.c.project == project).order_by(secrets.c.name)
    return tuple(Secret(row.name, row.version, row.set_at_ms, row.set_by) for row in await tx.ask(asked))


async def sealed(tx: ReadTx, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """By project and name what is sealed; those that are gone by now are absent."""
    if not wanted:
        return {}
    asked = select(secrets).where(tuple_(secrets.c.project, secrets.c.name).in_(sorted(wanted)))
    return {(row.project, row.name): row.sealed for row in await tx.ask(asked)}
