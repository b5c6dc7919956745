"""Write secrets. They come in sealed; the history tells that one was set, and never what it is."""

from sqlalchemy import delete, select

from orchestrator.domain.access import Actor
from orchestrator.domain.errors import NotFound
from orchestrator.domain.job import Event
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import secrets


async def put_secret(tx: WriteTx, project: str, name: str, sealed: str, now_ms: int, by: Actor) -> None:
    """Set the secret; attempts that start from now on get the new value."""
    mine = (secrets.c.project == project) & (secrets.c.name == name)
    version = (await tx.ask(select(secrets.c.version).where(mine))).scalar_one_or_none() or 0
    row = {"project": project, "name": name, "sealed": sealed, "version": version + 1}
    await tx.put(secrets, [row | {"set_at_ms": now_ms, "set_by": by.name}])
    said = f"secret {name} was set"
    await events.append(tx, [Event("secret.set", now_ms, said, project=project, by=by)])


async def remove_secret(tx: WriteTx, project: str, name: str, now_ms: int, by: Actor) -> None:
    """Raises NotFound if there is none."""
    gone = await tx.tell(delete(secrets).where(secrets.c.project == project, secrets.c.name == name))
    if not gone.rowcount:
        raise NotFound(f"project {project} has no secret {name[:80]!r}")
    said = f"secret {name} was removed"
    await events.append(tx, [Event("secret.removed", now_ms, said, project=project, by=by)])
