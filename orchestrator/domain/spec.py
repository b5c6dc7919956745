"""What a user submits: an immutable job spec. Text fields stay as written; properties give their values.

Edges read it with a pydantic TypeAdapter (`api/specs.py`), which refuses unknown keys and wrong types; the rules here
are those that types cannot say. Each raises `SpecError` with the field's path.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final, Literal

from orchestrator.domain.capacity import Capacity, check_kinds
from orchestrator.domain.endings import Budget
from orchestrator.domain.faults import STRICT, SpecError
from orchestrator.domain.gates import MAX_DEPENDENCIES, NO_DEPENDENCIES, Dependencies
from orchestrator.domain.notify import MAX_NOTIFIED, Notify
from orchestrator.domain.patience import DEFAULT_PATIENCE, Patience
from orchestrator.domain.program import MAX_ENV_BYTES, Program
from orchestrator.domain.rules import MAX_RULES, Rule
from orchestrator.domain.spans import UNLIMITED as UNLIMITED
from orchestrator.domain.spans import duration_ms as duration_ms
from orchestrator.domain.topology import SliceRequest, parse_choices

UNKNOWN: Final = "unknown"
Limit = int | Literal["unlimited"]

MAX_ENV_TOTAL_BYTES: Final = 1_000_000


class Band(IntEnum):
    """Priority bands, lower first. A higher band may evict a lower one; within a band nobody is evicted."""

    PRODUCTION = 0
    NORMAL = 1
    BATCH = 2


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many restarts each budget allows, and how many in a row may commit nothing new."""

    __pydantic_config__ = STRICT

    failures: Limit = 2
    """Of the program itself: an exit that is not 0, a NaN loss, no memory."""
    stalls: Limit = 3
    """No progress for too long, or a gang that never came together."""
    infra: Limit = 10
    """What nobody chose: a launch that failed, storage that was away, a port that was taken."""
    preemptions: Limit = UNLIMITED
    """Slices or hosts that the provider took."""
    without_progress: Limit = 5
    """In a row, without a newly committed step."""

    def __post_init__(self) -> None:
        for name in ("failures", "stalls", "infra", "preemptions", "without_progress"):
            value = getattr(self, name)
            if isinstance(value, int) and not 0 <= value <= 1_000_000:
                raise SpecError(name, f"must be 0 to 1000000 or unlimited, got {value}")

    def limit(self, budget: Budget) -> int | None:
        """The number of restarts that `budget` allows; None is unlimited."""
        return as_count(getattr(self, budget.value))


@dataclass(frozen=True, slots=True)
class KeepBest:
    """The `n` steps with the best value of a metric that was reported at that very step."""

    __pydantic_config__ = STRICT

    metric: str
    """Its name as the program reports it, e.g. `eval/loss`."""
    n: int = 1
    mode: Literal["min", "max"] = "min"
    """Whether less is better or more."""

    def __post_init__(self) -> None:
        _check_count(self, "n", 1000)


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """How often the built-in programs save, without which their own config says, and which steps are kept.

    The newest commit and pinned ones always are.
    """

    __pydantic_config__ = STRICT

    every_steps: int | None = None
    """Steps between saves of a built-in program."""
    keep_last: int = 2
    """The newest so many."""
    keep_every: int | None = None
    """Also each step that divides by it."""
    keep_best: KeepBest | None = None
    max_age: str = UNLIMITED
    """After it steps go that only `keep_every` or `keep_best` keeps."""
    continue_from: str | None = None
    """`<job id>/<attempt>/<step>`: begin at that committed step of another job instead of at 0."""
    watch: str | None = None
    """Where a command's own Orbax program saves: what it commits there is registered, unfenced, and never deleted."""
    save_deadline: str = "15m"
    """A save that is not committed so long after it began has failed; training goes on, and the next one is tried."""

    def __post_init__(self) -> None:
        for name in ("every_steps", "keep_last", "keep_every"):
            _check_count(self, name, 10**9)
        _ = self.max_age_ms, self.save_deadline_ms
        if self.watch is not None and not re.fullmatch(r"(gs://[a-z0-9]|/)[^\0]{0,2000}", self.watch):
            raise SpecError("watch", f"write gs://BUCKET/FOLDER or the full path of a folder, got {self.watch[:80]!r}")
        if self.continue_from is not None and not re.fullmatch(r"[a-z0-9_]+(/\d{1,9}){2}", self.continue_from):
            raise SpecError("continue_from", f"write <job id>/<attempt>/<step>, got {self.continue_from[:80]!r}")

    @property
    def max_age_ms(self) -> int | None:
        return duration_ms(self.max_age, "max_age")

    @property
    def save_deadline_ms(self) -> int:
        span = duration_ms(self.save_deadline, "save_deadline")
        if span is None or span < 1_000:
            raise SpecError("save_deadline", f"must be a time span of at least 1s, got {self.save_deadline}")
        return span


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One job. See `docs/examples/` for files."""

    __pydantic_config__ = STRICT

    name: str
    """What lists show. Not unique: an id is, and where JOB is asked for a name means its newest job."""
    program: Program
    slices: str | tuple[str, ...]
    """`v5e:4x4`, `2*v5e:4x4`, or a list of these, best first."""
    project: str = "default"
    """Whose quota, secrets and members it takes."""
    capacity: Capacity | tuple[Capacity, ...] = Capacity.ANY
    """`any`, `spot`, `on_demand`, `reserved`, or a list of these, best first: the first that has enough free."""
    priority: str = "normal/0"
    """`production`, `normal` or `batch`, and a whole number that orders jobs within the band: `normal/10`."""
    expected_runtime: str = UNKNOWN
    """How long it will probably run, as its owner says: lets it pass blocked jobs that it does not delay."""
    max_runtime: str = UNLIMITED
    """Time from the first attempt's start to the end, all attempts and waits between them included."""
    max_wait: str = UNLIMITED
    """Time in the queue before the first attempt; then the job ends `unschedulable`."""
    grace: str = "30s"
    """From SIGTERM to SIGKILL when the job is cancelled."""
    retry: RetryPolicy = RetryPolicy()
    patience: Patience = DEFAULT_PATIENCE
    """How long each phase may go without a sign of progress before the attempt is ended."""
    rules: tuple[Rule, ...] = ()
    """What to do about endings that you know better, by exit code and by what the program said; the first wins."""
    checkpoint: CheckpointPolicy = field(default_factory=CheckpointPolicy)
    env_vars: dict[str, str] = field(default_factory=dict)
    """Variables of the program, as text. For what must not be read by others there is `secrets`."""
    labels: dict[str, str] = field(default_factory=dict)
    """Words of your own to find jobs by."""
    secrets: tuple[str, ...] = ()
    """Names of the project's secrets; each reaches the program as the variable of that name."""
    after: Dependencies = NO_DEPENDENCIES
    """Jobs that have to end first; ids, or names: then their newest at submission."""
    notify: tuple[Notify, ...] = ()
    """Who is told of the job's events."""

    def __post_init__(self) -> None:
        for name in ("name", "project"):
            if not re.fullmatch(r"[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?", getattr(self, name)):
                raise SpecError(name, "must be 1 to 63 of a-z 0-9 . _ - and begin and end with a letter or digit")
        if (wrong := check_kinds(self.capacities)) is not None:
            raise SpecError("capacity", wrong)
        if not self.choices:
            raise SpecError("slices", "name at least one slice, e.g. v5e:2x4")
        _ = self.band, self.rank_in_band, self.expected_runtime_ms
        for name in ("max_runtime", "max_wait", "grace"):
            duration_ms(getattr(self, name), name)
        if self.grace_ms > 3_600_000:
            raise SpecError("grace", f"must be at most 1h, got {self.grace}")
        if self.checkpoint.watch is not None and self.program.builtin is not None:
            raise SpecError("checkpoint.watch", "is for commands: what a builtin program commits is registered anyway")
        if len(self.rules) > MAX_RULES:
            raise SpecError("rules", f"at most {MAX_RULES}, got {len(self.rules)}")
        _check_env_vars(self.env_vars)
        _check_secrets(self.secrets, self.env_vars)
        if len(self.after.each) > MAX_DEPENDENCIES:
            raise SpecError("after", f"at most {MAX_DEPENDENCIES} jobs, got {len(self.after.each)}")
        if len(self.notify) > MAX_NOTIFIED:
            raise SpecError("notify", f"at most {MAX_NOTIFIED} addresses, got {len(self.notify)}")
        for key, value in self.labels.items():
            if not 1 <= len(key) <= 63 or len(value) > 255:
                raise SpecError(f"labels.{key[:63]}", "a key has 1 to 63 characters, a value at most 255")

    @property
    def choices(self) -> tuple[SliceRequest, ...]:
        """The acceptable slices, best first; an elastic one with each of its counts, largest first."""
        return _choices(self.slices)

    @property
    def capacities(self) -> tuple[Capacity, ...]:
        """The kinds of capacity that it takes, best first."""
        return (self.capacity,) if isinstance(self.capacity, Capacity) else self.capacity

    @property
    def elastic(self) -> bool:
        """Whether a range of counts is given for one of the choices."""
        texts = (self.slices,) if isinstance(self.slices, str) else self.slices
        return any(len(parse_choices(text)) > 1 for text in texts)

    @property
    def band(self) -> Band:
        return parse_priority(self.priority)[0]

    @property
    def rank_in_band(self) -> int:
        """Higher goes first within a band and project."""
        return parse_priority(self.priority)[1]

    @property
    def expected_runtime_ms(self) -> int | None:
        if self.expected_runtime == UNKNOWN:
            return None
        span = duration_ms(self.expected_runtime, "expected_runtime")
        if span is None:
            raise SpecError("expected_runtime", "cannot be unlimited; write e.g. 2h, or leave it out")
        return span

    @property
    def max_runtime_ms(self) -> int | None:
        return duration_ms(self.max_runtime, "max_runtime")

    @property
    def max_wait_ms(self) -> int | None:
        return duration_ms(self.max_wait, "max_wait")

    @property
    def grace_ms(self) -> int:
        span = duration_ms(self.grace, "grace")
        if span is None:
            raise SpecError("grace", "cannot be unlimited; write e.g. 30s")
        return span


@dataclass(frozen=True, slots=True)
class RefusedSpec(JobSpec):
    """A spec that an earlier version took and this one does not. It is shown as it was written; its other fields hold
    what could be understood, and defaults. Its job is not started, and cannot be submitted anew as it is.
    """

    written: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""

    def __post_init__(self) -> None:
        """Nothing is checked: that it would not pass is known."""


def _check_count(owner: object, name: str, most: int) -> None:
    value = getattr(owner, name)
    if value is not None and not 1 <= value <= most:
        raise SpecError(name, f"must be 1 to {most}, got {value}")


@lru_cache(maxsize=4096)  # jobs that want the same share one tuple, which the scheduler makes use of
def _choices(slices: str | tuple[str, ...]) -> tuple[SliceRequest, ...]:
    texts = (slices,) if isinstance(slices, str) else slices
    found: list[SliceRequest] = []
    for index, text in enumerate(texts):
        try:
            found += parse_choices(text)
        except ValueError as error:
            raise SpecError("slices" if isinstance(slices, str) else f"slices[{index}]", str(error)) from None
    return tuple(found)


def as_count(limit: Limit) -> int | None:
    """A limit as a number; None is unlimited."""
    return limit if isinstance(limit, int) else None


@lru_cache(maxsize=4096)
def parse_priority(text: str) -> tuple[Band, int]:
    """Read `normal/10` as band and place within it. Raises SpecError."""
    match = re.fullmatch(r"(production|normal|batch)(?:/(-?\d{1,4}))?", text)
    if not match:
        raise SpecError("priority", f"{text!r} is not a priority; write production, normal or batch, or e.g. normal/10")
    return Band[match[1].upper()], int(match[2] or 0)


def _check_secrets(names: tuple[str, ...], env_vars: dict[str, str]) -> None:
    for index, name in enumerate(names):
        path = f"secrets[{index}]"
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name) or name.startswith("PODWRIGHT_"):
            raise SpecError(path, "a name is of letters, digits and _, and does not begin with a digit or PODWRIGHT_")
        if name in env_vars or name in names[:index]:
            raise SpecError(path, f"{name} is given twice")


def _check_env_vars(env_vars: dict[str, str]) -> None:
    total = 0
    for key, value in env_vars.items():
        path = f"env_vars.{key[:80]}"
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            raise SpecError(path, "a name is of letters, digits and _, and does not begin with a digit")
        if key.startswith("PODWRIGHT_"):
            raise SpecError(path, "names that begin with PODWRIGHT_ are ours")
        size = len(f"{key}={value}".encode())
        if "\0" in value or size > MAX_ENV_BYTES:
            raise SpecError(path, f"must have no zero byte and at most {MAX_ENV_BYTES} bytes with its name, got {size}")
        total += size
    if total > MAX_ENV_TOTAL_BYTES:
        raise SpecError("env_vars", f"all together at most {MAX_ENV_TOTAL_BYTES} bytes, got {total}")
