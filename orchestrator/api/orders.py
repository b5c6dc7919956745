"""A cluster's orders, made from its live attempts. Pure."""

from collections.abc import Callable
from dataclasses import replace

from orchestrator.api.configs import whole_config
from orchestrator.domain.errors import Unavailable
from orchestrator.domain.ids import AttemptId, JobId
from orchestrator.domain.job import Attempt, Job
from orchestrator.domain.patience import limits_of
from orchestrator.domain.spec import RefusedSpec
from orchestrator.protocol import VERSION, CheckpointOrder, ErrandOrder, Orders, ProgramOrder, RunOrder, StopOrder
from orchestrator.store.queries.errands import Errand
from orchestrator.store.queries.fleet import Standing


def orders_of(
    standing: Standing,
    checkpoint_root: str,
    token_of: Callable[[AttemptId], str],
    unseal: Callable[[str], str] = str,
) -> Orders:
    """All that the cluster shall run; whatever else runs there is to be stopped. Here, and only here, secrets open."""
    runs = tuple(
        _unless_refused(_with_secrets(run, job, standing, unseal), job)
        for job, attempt in standing.runs
        for run in (_run(job, attempt, checkpoint_root, token_of(attempt.id)),)
    )
    errands = tuple(_errand(errand, checkpoint_root) for errand in standing.errands)
    return Orders(VERSION, standing.revision, standing.epoch, runs, errands, checkpoint_root)


def _run(job: Job, attempt: Attempt, checkpoint_root: str, token: str) -> RunOrder:
    stop = attempt.stop
    return RunOrder(
        epoch=attempt.epoch,
        job_id=job.id,
        attempt_id=attempt.id,
        number=attempt.number,
        slices=attempt.slices,
        program=_program(job),
        env_vars=dict(job.spec.env_vars),
        checkpoint=_checkpoint(job, checkpoint_root),
        token=token,
        stop=None if stop is None else StopOrder(stop.reason.value, stop.grace_ms),
        limits=limits_of(job.spec.patience, _hosts(job, attempt), builtin=job.spec.program.builtin is not None),
    )


def _unless_refused(run: RunOrder, job: Job) -> RunOrder:
    if not isinstance(job.spec, RefusedSpec):
        return run
    said = f"this version does not take the job's spec, which an earlier one took: {job.spec.why}"
    return replace(run, impossible=said)


def _hosts(job: Job, attempt: Attempt) -> int:
    """How many hosts the attempt has: of the choice that has its chips and its number of slices."""
    fitting = (c.hosts for c in job.spec.choices if (c.count, c.chips) == (len(attempt.slices), attempt.chips))
    return next(fitting, len(attempt.slices))


def _with_secrets(run: RunOrder, job: Job, standing: Standing, unseal: Callable[[str], str]) -> RunOrder:
    """The order with the job's secrets; one of which a secret is missing is not to be started without it."""
    opened: dict[str, str] = {}
    for name in job.spec.secrets:
        sealed = standing.sealed.get((job.spec.project, name))
        if sealed is None:
            said = f"project {job.spec.project} has no secret {name} any more, which the job needs"
            return replace(run, impossible=said)
        try:
            opened[name] = unseal(sealed)
        except Unavailable as error:  # one job must not hold back the orders of a whole cluster
            return replace(run, impossible=f"secret {name}: {error}")
    return replace(run, env_vars={**run.env_vars, **opened})


def folder_of(checkpoint_root: str, job_id: JobId) -> str:
    """Where a job's checkpoints lie."""
    return f"{checkpoint_root.rstrip('/')}/{job_id}"


def _checkpoint(job: Job, checkpoint_root: str) -> CheckpointOrder:
    policy, origin = job.spec.checkpoint, None
    if policy.continue_from is not None:
        source, _, path = policy.continue_from.partition("/")
        origin = f"{folder_of(checkpoint_root, JobId(source))}/{path}"
    folder, deadline_ms = folder_of(checkpoint_root, job.id), policy.save_deadline_ms
    return CheckpointOrder(folder, policy.every_steps, job.committed_step, origin, deadline_ms, policy.watch)


def _errand(errand: Errand, checkpoint_root: str) -> ErrandOrder:
    return ErrandOrder(errand.id, errand.kind, folder_of(checkpoint_root, errand.job_id), errand.path, errand.target)


def _program(job: Job) -> ProgramOrder:
    program = job.spec.program
    if program.builtin is None:
        return ProgramOrder(None, None, program.command, program.code)
    return ProgramOrder(program.builtin, whole_config(program.builtin, program.config or {}), ())
