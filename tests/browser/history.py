"""Two months of history, written through the store's own schema: ten thousand jobs, most of them over.

One failure of each kind; a few jobs that run, one of them restarted twice; names and words that would be markup if
anybody took them for it. The same at each call but for `now_ms`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from sqlalchemy import Table

from orchestrator.domain.endings import ENDINGS, Outcome, Reason
from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.domain.incident import Cause
from orchestrator.domain.job import Attempt, Desired, Event, Job, Progress, RankStarted, Slice, SliceState
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.spec import JobSpec, Program
from orchestrator.domain.topology import SliceShape
from orchestrator.store import rows
from orchestrator.store.blobs import Blobs, log_name
from orchestrator.store.database import Database
from orchestrator.store.migrate import migrate
from orchestrator.store.schema import (
    attempts,
    checkpoints,
    clusters,
    events,
    jobs,
    members,
    phases,
    placements,
    points,
    progress,
    projects,
    quotas,
    ranks,
    restores,
    slices,
    streams,
    users,
)
from tests.builders import LOCAL, a_job

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
JOBS: Final = 10_000
MARKUP: Final = '<img src=x onerror="document.title=1">'
SCRIPT: Final = "<script>document.title=1</script>"

POOLS: Final = {"v5p-64": ("v5p:4x4x4", 2), "v5e-16": ("v5e:4x4", 3), "v5e-8": ("v5e:2x4", 6)}
PROJECTS: Final = {
    "research": "Pretraining and ablations",
    "vision": "Encoders",
    "speech": "Recognition and synthesis",
    "infra": "Benchmarks, smoke tests",
}
PEOPLE: Final = ("ann", "ben", "chidi", "dana", "eli")
FAMILIES: Final = ("llama-8b", "gemma-2b", "moe-8x", "vit-l16", "conformer", "gpt-1b", "probe", "sweep-lr", "finetune")

EVIDENCE: Final = {
    Reason.PROGRAM_ERROR: ("Traceback (most recent call last):", 'KeyError: "input_ids"'),
    Reason.HOST_OOM: ("oom-kill:constraint=CONSTRAINT_MEMCG,task=python,pid=4121,total-vm:412311620kB",),
    Reason.HBM_OOM: ("RESOURCE_EXHAUSTED: program requires 22.05G exceeds available HBM (15.75G)",),
    Reason.NAN_LOSS: ("step 1240: loss is nan (grad norm 3.1e+04)",),
    Reason.INVALID_PROGRAM: (f"SyntaxError: invalid syntax: {SCRIPT}",),
}


@dataclass(slots=True)
class Batch:
    """Rows to be written, by table."""

    rows: dict[Table, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, table: Table, *rows: dict[str, Any]) -> None:
        self.rows.setdefault(table, []).extend(rows)


def shape_of(pool: str) -> SliceShape:
    return SliceShape.parse(POOLS[pool][0])


def loss_at(step: int, noise: Random) -> float:
    """A curve as training draws it."""
    return 1.9 + 6.2 * math.exp(-step / 900) + 0.06 * noise.gauss(0, 1) * math.exp(-step / 4_000)


async def write_history(url: str, blobs: Path, now_ms: int, jobs_in_all: int = JOBS) -> None:
    """Migrate the database at `url` and fill it."""
    database = Database(url)
    try:
        await migrate(database)
        batch, random = Batch(), Random(8)
        _people(batch, now_ms)
        _fleet(batch, now_ms)
        running = list(_running(batch, Blobs(blobs), now_ms))
        waiting = list(_waiting(now_ms))
        over = jobs_in_all - len(running) - len(waiting)
        ended = [_ended(batch, random, number, over, now_ms) for number in range(over)]
        made = [*ended, *waiting, *running]
        told = _events(batch, made)
        batch.add(jobs, *(rows.new_job_row(job) | {"events": told[job.id]} for job in made))
        async with database.write() as tx:
            for table in _in_order(batch):
                await tx.tell(table.insert(), batch.rows[table])
    finally:
        await database.close()


def _in_order(batch: Batch) -> list[Table]:
    """Rows after those that they refer to."""
    return [table for table in users.metadata.sorted_tables if table in batch.rows]


def _people(batch: Batch, now_ms: int) -> None:
    made = {"created_at_ms": now_ms - 60 * DAY, "version": 1}
    batch.add(users, *({"name": name, "admin": name == "ann", "disabled": False, **made} for name in PEOPLE))
    batch.add(projects, *({"name": n, "description": d, "weight": 1.0, **made} for n, d in PROJECTS.items()))
    for at, name in enumerate(PEOPLE):
        batch.add(
            members,
            *(
                {"project": project, "user_name": name, "role": ("admin", "submitter", "viewer")[(at + n) % 3]}
                for n, project in enumerate(PROJECTS)
            ),
        )
    batch.add(quotas, {"project": "research", "pool": "v5p-64", "guarantee_chips": 64, "limit_chips": 128})
    batch.add(quotas, {"project": "vision", "pool": "*", "guarantee_chips": 16, "limit_chips": None})


def _fleet(batch: Batch, now_ms: int) -> None:
    batch.add(clusters, {"id": LOCAL, "seen_at_ms": now_ms, "order_revision": 0})
    for pool, (_, count) in POOLS.items():
        capacity = "reserved" if pool == "v5p-64" else "spot"
        for number in range(count):
            known = Slice(
                SliceId(f"{pool}-{number}"),
                LOCAL,
                pool,
                shape_of(pool),
                capacity,
                "1",
                SliceState.UP,
                "",
                now_ms - 30 * DAY,
            )
            batch.add(slices, rows.slice_row(known))


# ----------------------------------------------------------------------------------------------------------- it is over


def _ended(batch: Batch, random: Random, number: int, of: int, now_ms: int) -> Job:
    """The job of that number, oldest first; the newest ones are one failure of each kind."""
    kinds = [reason for reason, row in ENDINGS.items() if row.outcome is Outcome.FAILED]
    from_end = of - 1 - number
    created = now_ms - int(60 * DAY * (from_end + 2) / of) - random.randrange(MINUTE)
    pool = random.choice(tuple(POOLS))
    project = random.choice(tuple(PROJECTS))
    family = random.choice(FAMILIES)
    reason = Reason.COMPLETED
    if from_end < len(kinds):
        reason = kinds[from_end]
        family = f"fails-{reason.value.replace('_', '-')}"
    elif (drawn := random.random()) < 0.09:
        reason = random.choice(kinds)
    elif drawn < 0.14:
        reason = Reason.CANCELLED
    never = reason in (Reason.DEPENDENCY_FAILED, Reason.UNSCHEDULABLE)
    waited = random.randrange(2 * SECOND, 20 * MINUTE)
    ran = random.randrange(40 * SECOND, 5 * HOUR)
    ended = min(created + waited + ran, now_ms - (from_end + 1) * 40 * SECOND)
    steps = random.randrange(200, 20_000)
    spec = JobSpec(
        name=f"{family}-{number % 997}" if from_end >= len(kinds) else family,
        project=project,
        program=Program(builtin="train", config={"preset": "tiny", "steps": steps}),
        slices=str(shape_of(pool)),
        priority=random.choice(("normal/0", "normal/0", "normal/5", "batch/0", "production/0")),
        labels={"team": MARKUP} if from_end < 40 else {"team": "core"},
    )
    job = a_job(f"job_{number:016d}", JobState(ENDINGS[reason].outcome.value), created)
    cause = _cause(reason, f"{pool}-{number % POOLS[pool][1]}", steps)
    job = replace(
        job,
        spec=spec,
        owner=random.choice(PEOPLE),
        queued_at_ms=created,
        started_at_ms=None if never else created + waited,
        ended_at_ms=ended,
        attempts=0 if never else 1,
        reason=reason,
        message=cause.sentence,
    )
    if not never:
        attempt = _attempt(job, 1, (f"{pool}-{number % POOLS[pool][1]}",), pool, created + waited)
        attempt = replace(
            attempt,
            ready_at_ms=attempt.ordered_at_ms + 2_100,
            detected_at_ms=ended - 200,
            ended_at_ms=ended,
            reason=reason,
            cause=cause,
        )
        batch.add(attempts, rows.attempt_row(attempt))
        reached = steps if reason is Reason.COMPLETED else int(steps * random.uniform(0.1, 0.9))
        batch.add(progress, rows.progress_row(_progress(attempt, reached, steps, ended)))
        if from_end < 600:
            _curve(batch, attempt, reached, attempt.ordered_at_ms + 9_000, ended, random)
        _phases(batch, attempt)
    return job


def _cause(reason: Reason, slice_id: str, steps: int) -> Cause:
    says = ENDINGS[reason].says
    if reason not in EVIDENCE:
        return Cause(reason, says)
    return Cause(reason, f"rank 2 on {slice_id}/2: {says} at step {steps // 3:,}", 2, slice_id, 2, EVIDENCE[reason])


def _progress(attempt: Attempt, step: int, total: int, last_ms: int) -> Progress:
    return Progress(
        attempt.id,
        "train",
        step,
        total,
        committed_step=step // 100 * 100 or None,
        resumed_step=0,
        first_step_at_ms=min(attempt.ordered_at_ms + 9_000, last_ms),
        last_report_at_ms=last_ms,
    )


def _attempt(job: Job, number: int, held: Sequence[str], pool: str, at_ms: int) -> Attempt:
    shape = shape_of(pool)
    return Attempt(
        AttemptId(f"att_{job.id[4:]}_{number}"),
        JobId(job.id),
        number,
        LOCAL,
        tuple(SliceId(one) for one in held),
        chips=shape.chips * len(held),
        epoch=1,
        ordered_at_ms=at_ms,
    )


def _curve(
    batch: Batch, attempt: Attempt, last: int, since_ms: int, until_ms: int, noise: Random, most: int = 40
) -> None:
    every = max(1, (last - 1) // most)
    for step in range(1, last + 1, every):
        at_ms = since_ms + (until_ms - since_ms) * (step - 1) // max(1, last - 1)
        loss = loss_at(step, noise)
        _points(batch, attempt, step, at_ms, {"loss": loss, "step_time_s": 0.8 + 0.05 * abs(noise.gauss(0, 1))})


def _points(batch: Batch, attempt: Attempt, step: int, at_ms: int, values: dict[str, float | str]) -> None:
    for series, value in values.items():
        finite = isinstance(value, float)
        batch.add(
            points,
            {
                "attempt_id": attempt.id,
                "rank": 0,
                "series": series,
                "step": step,
                "job_id": attempt.job_id,
                "value": value if finite else None,
                "not_finite": None if finite else value,
                "at_ms": at_ms,
            },
        )


def _phases(batch: Batch, attempt: Attempt) -> None:
    for position, (phase, after_ms) in enumerate((("init", 2_100), ("compile", 4_000), ("train", 9_000))):
        at_ms = attempt.ordered_at_ms + after_ms
        batch.add(
            phases,
            {"attempt_id": attempt.id, "rank": 0, "position": position, "phase": phase, "at_ms": at_ms},
        )


# ------------------------------------------------------------------------------------------------------------- it waits


def _waiting(now_ms: int) -> Iterator[Job]:
    for number in range(14):
        pool = ("v5p-64", "v5e-16")[number % 2]
        spec = JobSpec(
            name=f"queued-{number}",
            project=("research", "vision")[number % 2],
            program=Program(command=("sleep", "600")),
            slices=str(shape_of(pool)),
            priority="production/0" if number == 3 else "normal/0",
            expected_runtime="2h",
        )
        job = a_job(f"job_w{number:015d}", JobState.QUEUED, now_ms - (15 - number) * 4 * MINUTE)
        yield replace(job, spec=spec, owner=PEOPLE[number % len(PEOPLE)])
    held = a_job("job_h000000000000001", JobState.HELD, now_ms - HOUR)
    sleep = Program(command=("sleep", "600"))
    spec = JobSpec(name="held-for-review", project="speech", program=sleep, slices="v5p:4x4x4")
    yield replace(held, spec=spec, desired=Desired.HELD, owner="dana", message="its owner holds it")


# -------------------------------------------------------------------------------------------------------------- it runs

SHOWCASE: Final = "job_s000000000000001"
ODD: Final = "job_s000000000000002"
RUNNING_STEPS: Final = 20_000
"""Far enough: the fleet makes a step a second."""


def _running(batch: Batch, blobs: Blobs, now_ms: int) -> Iterator[Job]:
    yield _showcase(batch, blobs, now_ms)
    yield _with_odd_metrics(batch, now_ms)
    for number, (name, pool, held, project) in enumerate(
        (
            ("gemma-2b-sft", "v5e-16", "v5e-16-0", "research"),
            ("vit-l16-384", "v5e-16", "v5e-16-1", "vision"),
            ("conformer-xl", "v5p-64", "v5p-64-1", "speech"),
            ("sweep-lr-3e-4", "v5e-8", "v5e-8-1", "research"),
            ("sweep-lr-1e-3", "v5e-8", "v5e-8-2", "research"),
        )
    ):
        began = now_ms - (number + 1) * 47 * MINUTE
        job, attempt = _live(f"job_r{number:015d}", name, pool, held, project, began)
        step = (now_ms - began) // SECOND
        _curve(batch, attempt, step, began + 9_000, now_ms, Random(number), most=160)
        _write_live(batch, attempt, _live_progress(attempt, step, 0, began, now_ms))
        yield job


def _live(id: str, name: str, pool: str, held: str, project: str, began: int, number: int = 1) -> tuple[Job, Attempt]:
    spec = JobSpec(
        name=name,
        project=project,
        program=Program(command=("sleep", str(RUNNING_STEPS))),
        slices=str(shape_of(pool)),
        labels={"team": MARKUP, "run": "b7"},
        env_vars={"XLA_FLAGS": "--xla_dump_to=/tmp/xla", "WANDB_API_KEY": "not-for-eyes"},
        expected_runtime="12h",
    )
    job = a_job(id, JobState.RUNNING, began - 3 * MINUTE)
    job = replace(job, spec=spec, owner="ann", queued_at_ms=began - 3 * MINUTE, started_at_ms=began, attempts=number)
    attempt = _attempt(job, number, (held,), pool, began)
    return job, replace(attempt, ready_at_ms=began + 2_100)


def _live_progress(attempt: Attempt, step: int, resumed: int, began: int, now_ms: int) -> Progress:
    return Progress(
        attempt.id,
        "train",
        step,
        RUNNING_STEPS,
        committed_step=step // 250 * 250 or None,
        resumed_step=resumed,
        first_step_at_ms=began + 9_000,
        last_report_at_ms=now_ms,
    )


def _write_live(batch: Batch, attempt: Attempt, reported: Progress) -> None:
    batch.add(attempts, rows.attempt_row(attempt))
    batch.add(placements, *({"slice_id": held, "attempt_id": attempt.id} for held in attempt.slices))
    batch.add(progress, rows.progress_row(reported))
    _phases(batch, attempt)
    _ranks(batch, attempt)


def _ranks(batch: Batch, attempt: Attempt) -> None:
    hosts = attempt.chips // 4
    for host in range(hosts):
        started = RankStarted(host, attempt.slices[0], host, 4_000 + host, attempt.ordered_at_ms + 2_000)
        batch.add(
            ranks,
            {
                "attempt_id": attempt.id,
                "rank": started.rank,
                "slice_id": started.slice_id,
                "host": started.host,
                "pid": started.pid,
                "started_at_ms": started.started_at_ms,
            },
        )


def _showcase(batch: Batch, blobs: Blobs, now_ms: int) -> Job:
    """Three attempts in four hours: a lost host, a NaN, and one that runs."""
    began = now_ms - 4 * HOUR
    job, _ = _live(SHOWCASE, "llama-8b-pretrain", "v5p-64", "v5p-64-0", "research", began)
    job = replace(job, attempts=3, committed_step=9_500)
    noise = Random(3)
    told = (
        # (ordered, ended, resumed, last step, why it ended)
        (began, began + 80 * MINUTE, 0, 4_700, Reason.HOST_LOST),
        (began + 84 * MINUTE, began + 150 * MINUTE, 4_500, 8_650, Reason.NAN_LOSS),
        (began + 151 * MINUTE, None, 8_500, 14_000, None),
    )
    for number, (ordered, ended, resumed, last, reason) in enumerate(told, 1):
        attempt = replace(_attempt(job, number, ("v5p-64-0",), "v5p-64", ordered), ready_at_ms=ordered + 2_300)
        until = ended or now_ms
        if reason is not None:
            sentence = {
                Reason.HOST_LOST: "host 11 of v5p-64-0 was lost at step 4,700",
                Reason.NAN_LOSS: "rank 0 on v5p-64-0/0 reported a loss that is not a number at step 8,650",
            }[reason]
            evidence = EVIDENCE.get(reason, ("the agent of host 11 was silent for 10.0 s",))
            cause = Cause(reason, sentence, 11 if reason is Reason.HOST_LOST else 0, SliceId("v5p-64-0"), 11, evidence)
            attempt = replace(
                attempt, detected_at_ms=until - 900, ended_at_ms=until, last_sign_at_ms=None, reason=reason, cause=cause
            )
        first = ordered + (9_000 if resumed == 0 else 14_000)
        reported = _live_progress(attempt, last, resumed, first - 9_000, until)
        if ended is None:
            _write_live(batch, attempt, reported)
        else:
            batch.add(attempts, rows.attempt_row(attempt))
            batch.add(progress, rows.progress_row(reported))
            _phases(batch, attempt)
            _ranks(batch, attempt)
        _showcase_metrics(batch, attempt, resumed, last, first, until, noise)
        _commits(batch, attempt, resumed, last, first, until)
        _logs(batch, blobs, attempt, last)
        if resumed:
            path = f"{number - 1}/{resumed}"
            batch.add(
                restores,
                {"attempt_id": attempt.id, "job_id": job.id, "source_job_id": job.id, "path": path, "at_ms": first},
            )
    return job


def _showcase_metrics(
    batch: Batch, attempt: Attempt, resumed: int, last: int, since_ms: int, until_ms: int, noise: Random
) -> None:
    for step in range(resumed + 10, last + 1, 10):
        at_ms = since_ms + (until_ms - since_ms) * (step - resumed) // (last - resumed)
        loss = loss_at(step, noise)
        values: dict[str, float | str] = {
            "loss": loss,
            "grad_norm": 0.4 + 2.5 * math.exp(-step / 700) + 0.05 * abs(noise.gauss(0, 1)),
            "learning_rate": 3e-4 * min(1.0, step / 1_000),
            "step_time_s": 0.92 + 0.03 * abs(noise.gauss(0, 1)) + (0.5 if step % 500 == 0 else 0),
            "tokens_per_s": 41_000 + 900 * noise.gauss(0, 1),
            "mfu": 0.47 + 0.01 * noise.gauss(0, 1),
        }
        if step % 250 == 0:
            values["eval/loss"] = loss + 0.08
        _points(batch, attempt, step, at_ms, values)


def _commits(batch: Batch, attempt: Attempt, resumed: int, last: int, since_ms: int, until_ms: int) -> None:
    for step in range(resumed + 500, last + 1, 500):
        at_ms = since_ms + (until_ms - since_ms) * (step - resumed) // (last - resumed)
        batch.add(
            checkpoints,
            {
                "attempt_id": attempt.id,
                "step": step,
                "job_id": attempt.job_id,
                "path": f"{attempt.number}/{step}",
                "bytes": 16_106_127_360,
                "step_at_ms": at_ms,
                "save_ms": 21_400,
                "blocked_ms": 640,
                "at_ms": at_ms + 21_400,
                "state": "committed",
                "pinned": int(step == 4_500),
                "note": MARKUP if step == 4_500 else "",
            },
        )


def _logs(batch: Batch, blobs: Blobs, attempt: Attempt, last: int) -> None:
    for rank in (0, 1):
        lines = [f"\x1b[32mINFO\x1b[0m rank {rank} joined 16 processes, 64 chips"]
        for step in range(attempt.number * 10, last, 10):
            loss, rate = loss_at(step, Random(step)), 41_000 + step % 97
            lines.append(f"\x1b[2mstep\x1b[0m {step:>6}  loss {loss:.4f}  \x1b[36m{rate:,} tok/s\x1b[0m")
        lines.append(f"\x1b[33mWARNING\x1b[0m the tokenizer saw {SCRIPT} and {MARKUP}")
        if attempt.reason is not None:
            lines.append(f"\x1b[1;31mERROR\x1b[0m {attempt.cause.sentence if attempt.cause else ''}")
        data = ("\n".join(lines) + "\n").encode()
        blobs.write_at(log_name(attempt.job_id, attempt.id, rank, "stdout"), 0, data)
        row = {"attempt_id": attempt.id, "rank": rank, "stream": "stdout", "offset": len(data), "invalid": 0}
        batch.add(streams, row)


def _with_odd_metrics(batch: Batch, now_ms: int) -> Job:
    """What no chart should stumble over: NaN among numbers, infinities, names that are long or look like markup."""
    began = now_ms - 30 * MINUTE
    job, attempt = _live(ODD, "odd-metrics", "v5e-8", "v5e-8-0", "infra", began)
    for step in range(1, 301):
        at_ms = began + 9_000 + step * 5 * SECOND
        values: dict[str, float | str] = {
            "loss": "NaN" if 100 <= step < 140 else loss_at(step, Random(step)),
            "all_nan": "NaN",
            "up": "Infinity" if step % 50 == 0 else float(step),
            MARKUP: float(step % 7),
            "loss/训练 α": 1.0 / step,
            "k" * 300: -0.0,
        }
        _points(batch, attempt, step, at_ms, values)
    for number in range(2_000):
        _points(batch, attempt, 1, began + 10_000, {f"layer/{number:04d}/norm": float(number)})
    _write_live(batch, attempt, _live_progress(attempt, 300, 0, began, now_ms))
    return job


# --------------------------------------------------------------------------------------------------------------- events


def _events(batch: Batch, made: Sequence[Job]) -> dict[str, int]:
    """Each job's history, in the order in which all of it happened; how many events each has."""
    told: list[tuple[Event, str]] = []
    for job in made:
        name = job.id
        told.append((Event("job.submitted", job.created_at_ms, f"{job.spec.name} was submitted", job_id=job.id), name))
        if job.started_at_ms is not None:
            told.append((_state(job, job.started_at_ms, "STARTING", "slices were free"), name))
            told.append((_state(job, job.started_at_ms + 2_100, "RUNNING", "every rank has a process"), name))
        if job.ended_at_ms is not None:
            told.append((_state(job, job.ended_at_ms, job.state.value, job.message), name))
    told.sort(key=lambda one: one[0].at_ms)
    counts: dict[str, int] = {}
    for event, job_id in told:
        counts[job_id] = counts.get(job_id, 0) + 1
        batch.add(events, rows.event_row(event) | {"sequence": counts[job_id]})
    return counts


def _state(job: Job, at_ms: int, state: str, why: str) -> Event:
    return Event("job.state", at_ms, f"{state}: {why}", job_id=job.id, data=(("to", state),), project=job.spec.project)
