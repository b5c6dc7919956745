"""A cluster's orders, made from its live attempts. Pure."""

from collections.abc import Callable

from orchestrator.api.configs import whole_config
from orchestrator.domain.ids import AttemptId
from orchestrator.domain.job import Attempt, Job
from orchestrator.protocol import VERSION, CheckpointOrder, Orders, ProgramOrder, RunOrder, StopOrder
from orchestrator.store.queries.fleet import Standing


def orders_of(standing: Standing, checkpoint_root: str, token_of: Callable[[AttemptId], str]) -> Orders:
    """All that the cluster shall run; whatever else runs there is to be stopped."""
    runs = tuple(_run(job, attempt, checkpoint_root, token_of(attempt.id)) for job, attempt in standing.runs)
    return Orders(VERSION, standing.revision, standing.epoch, runs)


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
        checkpoint=CheckpointOrder(f"{checkpoint_root.rstrip('/')}/{job.id}", job.spec.checkpoint.every_steps),
        token=token,
        stop=None if stop is None else StopOrder(stop.reason.value, stop.grace_ms),
    )


def _program(job: Job) -> ProgramOrder:
    program = job.spec.program
    if program.builtin is None:
        return ProgramOrder(None, None, program.command)
    return ProgramOrder(program.builtin, whole_config(program.builtin, program.config or {}), ())
