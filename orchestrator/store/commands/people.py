"""Make and change users, projects, members and quotas. Every change is an event with who asked for it."""

from dataclasses import asdict

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from orchestrator.domain.access import Actor, Role
from orchestrator.domain.errors import Conflict, NotFound
from orchestrator.domain.job import Event
from orchestrator.domain.sharing import Quota
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.queries.people import EVERY_POOL, ProjectRow, User
from orchestrator.store.schema import jobs, members, projects, quotas, tokens, users


async def add_user(tx: WriteTx, new: User, by: Actor) -> None:
    """Raises Conflict if the name is taken."""
    try:
        async with tx.savepoint():
            await tx.tell(insert(users).values(asdict(new)))
    except IntegrityError:
        raise Conflict(f"there is already a user {new.name}") from None
    said = f"user {new.name} was added" + (" as a global admin" if new.admin else "")
    await events.append(tx, [Event("user.added", new.created_at_ms, said, by=by)])


async def change_user(tx: WriteTx, to: User, now_ms: int, by: Actor) -> None:
    """Give the user these rights. One that is disabled loses every token."""
    await tx.tell(update(users).where(users.c.name == to.name).values(asdict(to)))
    if to.disabled:
        await tx.tell(delete(tokens).where(tokens.c.user_name == to.name))
    said = f"user {to.name} is now {'disabled' if to.disabled else 'a global admin' if to.admin else 'a user'}"
    await events.append(tx, [Event("user.changed", now_ms, said, by=by)])


async def add_project(tx: WriteTx, new: ProjectRow, by: Actor) -> None:
    """Raises Conflict if the name is taken."""
    try:
        async with tx.savepoint():
            await tx.tell(insert(projects).values(asdict(new)))
    except IntegrityError:
        raise Conflict(f"there is already a project {new.name}") from None
    said = f"project {new.name} was made"
    await events.append(tx, [Event("project.added", new.created_at_ms, said, project=new.name, by=by)])


async def change_project(tx: WriteTx, to: ProjectRow, now_ms: int, by: Actor) -> None:
    await tx.tell(update(projects).where(projects.c.name == to.name).values(asdict(to)))
    said = f"project {to.name} was changed: weight {to.weight:g}"
    await events.append(tx, [Event("project.changed", now_ms, said, project=to.name, by=by)])
    await events.stir(tx)


async def remove_project(tx: WriteTx, name: str, now_ms: int, by: Actor) -> None:
    """Raises Conflict if jobs were ever submitted to it: history is kept."""
    if (await tx.ask(select(jobs.c.id).where(jobs.c.project == name).limit(1))).one_or_none():
        raise Conflict(f"project {name} has jobs, whose history is kept; take its members away instead")
    try:
        async with tx.savepoint():
            for table in (members, quotas):
                await tx.tell(delete(table).where(table.c.project == name))
            await tx.tell(delete(projects).where(projects.c.name == name))
    except IntegrityError:
        raise Conflict(f"project {name} still has secrets, webhooks or bundles; remove them first") from None
    await events.append(tx, [Event("project.removed", now_ms, f"project {name} was removed", project=name, by=by)])


async def put_member(tx: WriteTx, project: str, user: str, role: Role, now_ms: int, by: Actor) -> None:
    await tx.put(members, [{"project": project, "user_name": user, "role": role.value}])
    said = f"{user} is {role} in {project}"
    await events.append(tx, [Event("member.put", now_ms, said, project=project, by=by)])


async def remove_member(tx: WriteTx, project: str, user: str, now_ms: int, by: Actor) -> None:
    """Raises NotFound if the user is no member."""
    gone = await tx.tell(delete(members).where(members.c.project == project, members.c.user_name == user))
    if not gone.rowcount:
        raise NotFound(f"{user[:80]!r} is no member of {project}")
    said = f"{user} is no longer a member of {project}"
    await events.append(tx, [Event("member.removed", now_ms, said, project=project, by=by)])


async def put_quota(tx: WriteTx, quota: Quota, now_ms: int, by: Actor) -> None:
    pool = quota.pool or EVERY_POOL
    row = {"project": quota.owner, "pool": pool}
    await tx.put(quotas, [row | {"guarantee_chips": quota.guarantee_chips, "limit_chips": quota.limit_chips}])
    limit = "no limit" if quota.limit_chips is None else f"at most {quota.limit_chips}"
    said = f"quota of {quota.owner} in {pool}: {quota.guarantee_chips} chips guaranteed, {limit}"
    await events.append(tx, [Event("quota.put", now_ms, said, project=quota.owner, by=by)])
    await events.stir(tx)


async def remove_quota(tx: WriteTx, project: str, pool: str, now_ms: int, by: Actor) -> None:
    """Raises NotFound if there is none."""
    gone = await tx.tell(delete(quotas).where(quotas.c.project == project, quotas.c.pool == pool))
    if not gone.rowcount:
        raise NotFound(f"project {project} has no quota in {pool[:80]!r}")
    said = f"quota of {project} in {pool} was removed"
    await events.append(tx, [Event("quota.removed", now_ms, said, project=project, by=by)])
    await events.stir(tx)
