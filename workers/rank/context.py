"""Who this rank is: the environment that an agent sets for it, read once into one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PREFIX = "PODWRIGHT_"


@dataclass(frozen=True, slots=True)
class RankContext:
    """One rank of one attempt.

    `coordinator` is host:port of rank 0's jax coordinator. `checkpoint_root` is the job's checkpoint folder, local or
    `gs://…`, shared by all its attempts. `config` is set for built-in programs only, `checkpoint_every_steps` where the
    job asks for it. `committed_step` is what the control plane knows to be committed: when storage holds nothing, the
    job must not begin anew.
    """

    job_id: str
    attempt_id: str
    attempt: int
    rank: int
    rank_count: int
    slice: str
    host: str
    coordinator: str
    spool: Path
    checkpoint_root: str | None = None
    config: Path | None = None
    checkpoint_every_steps: int | None = None
    committed_step: int | None = None
    checkpoint_origin: str | None = None
    """`<folder of another job>/<attempt>/<step>`, where this job begins that continues it."""
    save_deadline_ms: int | None = None
    """A save that takes longer has failed."""
    notice: Path | None = None
    """Where the agent says, before its SIGTERM, how long the rank may still run."""
    slice_index: int = 0
    """Ranks are numbered slice by slice: those of slice 0 first."""
    slice_count: int = 1

    def __post_init__(self) -> None:
        if self.attempt < 1:
            raise ValueError(f"{PREFIX}ATTEMPT={self.attempt} is not an attempt number: attempts count from 1")
        if not 0 <= self.rank < self.rank_count:
            raise ValueError(f"{PREFIX}RANK={self.rank} is not within {PREFIX}RANK_COUNT={self.rank_count}")
        if not 0 <= self.slice_index < self.slice_count:
            raise ValueError(
                f"{PREFIX}SLICE_INDEX={self.slice_index} is not within {PREFIX}SLICE_COUNT={self.slice_count}"
            )
        if self.checkpoint_every_steps is not None and self.checkpoint_every_steps < 1:
            raise ValueError(f"{PREFIX}CHECKPOINT_EVERY_STEPS={self.checkpoint_every_steps} is less than 1")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> RankContext:
        """Read the PODWRIGHT_ variables. Raises ValueError, naming the variable that is missing or not a number."""
        config = _optional(environment, "CONFIG")
        every = _optional(environment, "CHECKPOINT_EVERY_STEPS")
        committed = _optional(environment, "COMMITTED_STEP")
        deadline = _optional(environment, "SAVE_DEADLINE_MS")
        notice = _optional(environment, "NOTICE")
        return cls(
            job_id=_required(environment, "JOB_ID"),
            attempt_id=_required(environment, "ATTEMPT_ID"),
            attempt=_number("ATTEMPT", _required(environment, "ATTEMPT")),
            rank=_number("RANK", _required(environment, "RANK")),
            rank_count=_number("RANK_COUNT", _required(environment, "RANK_COUNT")),
            slice=_required(environment, "SLICE"),
            host=_required(environment, "HOST"),
            coordinator=_required(environment, "COORDINATOR"),
            spool=Path(_required(environment, "SPOOL")),
            checkpoint_root=_optional(environment, "CHECKPOINT_ROOT"),
            config=Path(config) if config else None,
            checkpoint_every_steps=_number("CHECKPOINT_EVERY_STEPS", every) if every else None,
            committed_step=_number("COMMITTED_STEP", committed) if committed else None,
            checkpoint_origin=_optional(environment, "CHECKPOINT_ORIGIN"),
            save_deadline_ms=_number("SAVE_DEADLINE_MS", deadline) if deadline else None,
            notice=Path(notice) if notice else None,
            slice_index=_number("SLICE_INDEX", _optional(environment, "SLICE_INDEX") or "0"),
            slice_count=_number("SLICE_COUNT", _optional(environment, "SLICE_COUNT") or "1"),
        )


def inside_podwright(environment: Mapping[str, str]) -> bool:
    """Whether an agent started this process; a program that runs elsewhere reports to nobody."""
    return f"{PREFIX}ATTEMPT_ID" in environment


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(PREFIX + name, "")
    if not value:
        raise ValueError(f"{PREFIX}{name} is not set: a rank is started by Podwright's agent, which sets it")
    return value


def _optional(environment: Mapping[str, str], name: str) -> str | None:
    return environment.get(PREFIX + name) or None


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{PREFIX}{name}={text!r} is not a whole number") from None
