"""What the API shows, written by hand: a renamed column or field is not a changed wire. Times are Unix milliseconds."""

import math
from typing import Any

from pydantic import BaseModel, ConfigDict

from orchestrator.domain.fleet import Restriction
from orchestrator.domain.job import Job, Slice
from orchestrator.domain.masking import MASK, is_secret_name, mask_tokens
from orchestrator.domain.spec import JobSpec
from orchestrator.store.queries.jobs import AttemptDetail
from orchestrator.store.specs import plain_spec


class _View(BaseModel):
    """Takes its fields from the record of the same shape."""

    model_config = ConfigDict(from_attributes=True)


class ChoiceView(BaseModel):
    """One of the acceptable slices, with what it is."""

    slices: str
    count: int
    shape: str
    chips: int
    hosts: int


class ChargesView(_View):
    failures: int
    stalls: int
    preemptions: int
    infra: int


class CauseView(_View):
    """Why an attempt ended, in one sentence, and who is to blame for it."""

    reason: str
    sentence: str
    rank: int | None
    slice_id: str | None
    host: int | None
    evidence: list[str]


class CollateralView(_View):
    rank: int
    slice_id: str
    host: int
    says: str


class StackGroupView(_View):
    """Ranks that stood at the same place, with the stacks of the first of them."""

    ranks: list[int]
    lines: list[str]
    odd: bool


class CardView(_View):
    """The first failure of an attempt: what happened beside who is to blame, and what to do about it."""

    exit: str | None
    step: int | None
    phase: str | None
    began_at_ms: int | None
    """The first known of the trouble: the exit, or the last sign of life or of progress."""
    detected_at_ms: int
    detect_ms: int | None
    advice: str
    """`nothing`, `retry`, `change` or `avoid_host`."""
    advises: str
    collateral: list[CollateralView]
    stacks: list[StackGroupView]
    notes: list[str]


class ProgressView(_View):
    phase: str | None
    step: int | None
    total_steps: int | None
    committed_step: int | None
    resumed_step: int | None
    first_step_at_ms: int | None
    last_report_at_ms: int | None


class RankView(_View):
    rank: int
    slice_id: str
    host: int
    pid: int
    started_at_ms: int


class StopView(_View):
    reason: str
    grace_ms: int
    at_ms: int


class AttemptView(_View):
    id: str
    job_id: str
    number: int
    live: bool
    cluster_id: str
    slices: list[str]
    chips: int
    epoch: int
    ordered_at_ms: int
    ready_at_ms: int | None
    stop: StopView | None
    detected_at_ms: int | None
    last_sign_at_ms: int | None
    ended_at_ms: int | None
    reason: str | None
    cause: CauseView | None
    card: CardView | None = None
    """Of an ended attempt that had trouble."""
    ranks: list[RankView] = []
    progress: ProgressView | None = None

    @classmethod
    def of(cls, detail: AttemptDetail) -> "AttemptView":
        cause = detail.attempt.cause
        return cls.model_validate(detail.attempt).model_copy(
            update={
                "card": CardView.model_validate(cause.card) if cause is not None and cause.card is not None else None,
                "ranks": [RankView.model_validate(rank) for rank in detail.ranks],
                "progress": ProgressView.model_validate(detail.progress),
            }
        )


class JobSummary(BaseModel):
    """A job in a list."""

    id: str
    name: str
    project: str
    state: str
    desired: str
    priority: str
    slices: list[str]
    created_at_ms: int
    queued_at_ms: int
    started_at_ms: int | None
    ended_at_ms: int | None
    attempts: int
    owner: str | None
    origin: str | None
    """The job that this one is a retry or clone of."""
    array: str | None
    array_index: int | None
    version: int
    """Its ETag: raised by every change."""
    reason: str | None
    message: str
    """Of a waiting job why it waits; of an ended one what happened."""

    @classmethod
    def of(cls, job: Job) -> "JobSummary":
        return cls(**_summary(job))


class JobView(JobSummary):
    """One job with all that is known of it now."""

    spec: dict[str, Any]
    """As submitted; values that look like secrets are masked."""
    choices: list[ChoiceView]
    charges: ChargesView
    not_before_ms: int
    without_progress: int
    committed_step: int | None
    attempt: AttemptView | None
    """The newest."""
    progress: ProgressView | None
    """The newest attempt's."""
    cause: CauseView | None
    """Why the newest attempt ended."""

    @classmethod
    def of_detail(cls, job: Job, newest: AttemptDetail | None) -> "JobView":
        attempt = AttemptView.of(newest) if newest else None
        return cls(
            **_summary(job),
            spec=spec_view(job.spec),
            choices=[
                ChoiceView(slices=str(c), count=c.count, shape=str(c.shape), chips=c.chips, hosts=c.hosts)
                for c in job.spec.choices
            ],
            charges=ChargesView.model_validate(job.charges),
            not_before_ms=job.not_before_ms,
            without_progress=job.without_progress,
            committed_step=_committed(job, newest),
            attempt=attempt,
            progress=attempt.progress if attempt else None,
            cause=attempt.cause if attempt else None,
        )


class JobList(BaseModel):
    items: list[JobSummary]
    next_cursor: str | None
    """Where the next page begins; None at the end."""


class AttemptList(BaseModel):
    items: list[AttemptView]


class RestrictionView(_View):
    """A part of the fleet that an admin took out, and why."""

    target: str
    name: str
    limit: str
    reason: str
    actor: str
    at_ms: int

    @classmethod
    def of(cls, restriction: Restriction | None) -> "RestrictionView | None":
        return None if restriction is None else cls.model_validate(restriction)


class SliceView(BaseModel):
    id: str
    cluster_id: str
    pool: str
    shape: str
    chips: int
    hosts: int
    capacity: str
    state: str
    message: str
    updated_at_ms: int
    attempt_id: str | None
    """The live attempt that holds it, if the caller may see it."""
    busy: bool
    restriction: RestrictionView | None
    suspicion: str | None
    """Why it is used only where no other will do; None: it is not suspect."""

    @classmethod
    def of(
        cls,
        known: Slice,
        attempt_id: str | None,
        busy: bool,
        restriction: Restriction | None,
        suspicion: str | None = None,
    ) -> "SliceView":
        return cls(
            id=known.id,
            cluster_id=known.cluster_id,
            pool=known.pool,
            shape=str(known.shape),
            chips=known.shape.chips,
            hosts=known.shape.hosts,
            capacity=known.capacity,
            state=known.state,
            message=known.message,
            updated_at_ms=known.updated_at_ms,
            attempt_id=attempt_id,
            busy=busy,
            restriction=RestrictionView.of(restriction),
            suspicion=suspicion,
        )


def spec_view(spec: JobSpec) -> dict[str, Any]:
    """The spec as JSON, without the values of variables whose names say that they are secret."""
    shown = plain_spec(spec)
    if isinstance(variables := shown.get("env_vars"), dict):
        shown["env_vars"] = {
            name: MASK if is_secret_name(name) else mask_tokens(str(value)) for name, value in variables.items()
        }
    if isinstance(notified := shown.get("notify"), list):
        # Of one that is not understood nothing is shown.
        addresses = [one.shown for one in spec.notify] if len(spec.notify) == len(notified) else [MASK] * len(notified)
        shown["notify"] = [
            {**one, "webhook": address} if isinstance(one, dict) else MASK
            for one, address in zip(notified, addresses, strict=True)
        ]
    return shown


def number_view(value: float) -> float | str:
    """A number as strict JSON can hold it: NaN and the infinities travel as text."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _summary(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "name": job.spec.name,
        "project": job.spec.project,
        "state": job.state,
        "desired": job.desired,
        "priority": job.spec.priority,
        "slices": [str(choice) for choice in job.spec.choices],
        "created_at_ms": job.created_at_ms,
        "queued_at_ms": job.queued_at_ms,
        "started_at_ms": job.started_at_ms,
        "ended_at_ms": job.ended_at_ms,
        "attempts": job.attempts,
        "owner": job.owner,
        "origin": job.origin,
        "array": job.array and job.array.id,
        "array_index": job.array and job.array.index,
        "version": job.version,
        "reason": job.reason,
        "message": job.message,
    }


def _committed(job: Job, newest: AttemptDetail | None) -> int | None:
    """The newest committed step of the job: the running attempt's, or that of the attempts before."""
    steps = (job.committed_step, newest.progress.committed_step if newest else None)
    return max((step for step in steps if step is not None), default=None)
