"""From a spec to a job: what has to be true of it here and now, besides what the spec's own rules say."""

from dataclasses import replace

from orchestrator.api.deps import Deps
from orchestrator.api.specs import refuse_unknown_shapes
from orchestrator.domain.access import Caller, Role
from orchestrator.domain.errors import Fault, InvalidInput, NotFound
from orchestrator.domain.gates import Dependencies, Dependency
from orchestrator.domain.ids import JobId
from orchestrator.domain.spec import JobSpec
from orchestrator.store.commands import bundles as bundle_commands
from orchestrator.store.commands import jobs as commands
from orchestrator.store.commands import webhooks as webhook_commands
from orchestrator.store.commands.jobs import Descent, IdempotencyKey
from orchestrator.store.database import ReadTx, WriteTx
from orchestrator.store.queries import bundles, events, fleet, jobs, people, secrets
from orchestrator.store.queries.webhooks import Webhook


async def submit(
    tx: WriteTx, deps: Deps, who: Caller, spec: JobSpec, key: IdempotencyKey | None, descent: Descent | None = None
) -> tuple[JobId, bool]:
    """Queue a job of the caller's; its id, and whether it is new.

    Raises:
        NotFound: the caller is no member of the spec's project.
        Forbidden: they may not submit to it.
        InvalidInput: something that the spec names is not there.
        Conflict: the key was used with another spec.
    """
    who.needs(Role.SUBMITTER, spec.project)
    new_id, now_ms = JobId(deps.new_id("job")), deps.clock.now_ms()
    spec = replace(spec, after=await _resolved(tx, who, spec.after))
    job_id, is_new = await commands.submit(tx, spec, new_id, now_ms, key, by=who.actor, descent=descent)
    if is_new:  # a repeat is answered whatever there is by now
        await _refuse_unknown_names(tx, who, spec, now_ms)
        refuse_unknown_shapes(spec, await fleet.all_slices(tx))
        await _notify(tx, deps, job_id, spec, now_ms)
    return job_id, is_new


async def _resolved(tx: ReadTx, who: Caller, after: Dependencies) -> Dependencies:
    """The dependencies by id: a name may mean another job tomorrow."""
    return Dependencies(
        all=tuple([await _dependency(tx, who, one, f"after.all[{n}].job") for n, one in enumerate(after.all)]),
        any=tuple([await _dependency(tx, who, one, f"after.any[{n}].job") for n, one in enumerate(after.any)]),
    )


async def _dependency(tx: ReadTx, who: Caller, one: Dependency, path: str) -> Dependency:
    try:
        return replace(one, job=(await jobs.find(tx, one.job, who.projects)).id)
    except NotFound as error:
        raise InvalidInput((Fault(path, str(error)),)) from None


async def _refuse_unknown_names(tx: WriteTx, who: Caller, spec: JobSpec, now_ms: int) -> None:
    try:
        await people.project(tx, spec.project)
    except NotFound as error:
        raise InvalidInput((Fault("project", str(error)),)) from None
    if (origin := spec.checkpoint.continue_from) is not None:
        try:
            await jobs.find(tx, origin.partition("/")[0], who.projects)
        except NotFound as error:
            raise InvalidInput((Fault("checkpoint.continue_from", str(error)),)) from None
    if spec.program.code is not None:
        await _use_bundle(tx, spec.project, spec.program.code, now_ms)
    named = spec.secrets or any(one.secret for one in spec.notify)
    known = {secret.name for secret in await secrets.secrets_of(tx, spec.project)} if named else set()
    faults = [
        Fault(f"secrets[{n}]", f"project {spec.project} has no secret {name}")
        for n, name in enumerate(spec.secrets)
        if name not in known
    ]
    faults += [
        Fault(f"notify[{n}].secret", f"project {spec.project} has no secret {one.secret}")
        for n, one in enumerate(spec.notify)
        if one.secret is not None and one.secret not in known
    ]
    if faults:
        raise InvalidInput(tuple(faults))


async def _use_bundle(tx: WriteTx, project: str, digest: str, now_ms: int) -> None:
    try:
        await bundles.bundle(tx, project, digest)
    except NotFound as error:
        raise InvalidInput((Fault("program.code", f"{error}; upload it first"),)) from None
    await bundle_commands.use(tx, project, digest, now_ms)


async def _notify(tx: WriteTx, deps: Deps, job_id: JobId, spec: JobSpec, now_ms: int) -> None:
    """Have those told whom the spec names, of what happens after the submission."""
    if not spec.notify:
        return
    last = await events.last_id(tx)
    sealed = await secrets.sealed(tx, {(spec.project, one.secret) for one in spec.notify if one.secret is not None})
    hooks = [
        Webhook(
            deps.new_id("hook"),
            spec.project,
            one.webhook,
            one.kinds,
            sealed[spec.project, one.secret] if one.secret is not None else "",
            last,
            now_ms,
            job_id,
        )
        for one in spec.notify
    ]
    await webhook_commands.add_of_job(tx, hooks)
