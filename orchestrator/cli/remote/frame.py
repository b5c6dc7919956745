"""One moment of a running job, as `watch` and the demo show it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.cli.remote.wording import plain, steps
from orchestrator.domain.lifecycle import TERMINAL

Answer = Mapping[str, Any]

SERIES = ("loss", "tokens_per_second")


@dataclass(frozen=True, slots=True)
class Frame:
    """What is known of the job now; None where its program has not said."""

    name: str
    state: str
    attempt: int
    slices: tuple[str, ...]
    phase: str | None
    step: int | None
    total_steps: int | None
    committed_step: int | None
    loss: float | None
    tokens_per_second: float | None
    message: str

    @classmethod
    def of(cls, job: Answer, metrics: Sequence[Answer]) -> "Frame":
        """From the API's job and its newest attempt's series."""
        live = bool(job["attempt"] and job["attempt"]["live"])
        progress = job["progress"] or {}
        return cls(
            name=job["name"],
            state=job["state"],
            attempt=job["attempts"],
            slices=tuple(job["attempt"]["slices"]) if live else (),
            phase=progress.get("phase") if live else None,
            step=progress.get("step"),
            total_steps=progress.get("total_steps"),
            committed_step=job["committed_step"],
            loss=_newest(metrics, "loss"),
            tokens_per_second=_newest(metrics, "tokens_per_second"),
            message=plain(job["message"]),
        )

    @property
    def ended(self) -> bool:
        return self.state in TERMINAL

    @property
    def line(self) -> str:
        """All of it in one line, for a pipe or a log."""
        parts = [self.state]
        if self.attempt:
            parts.append(f"attempt {self.attempt}" + (f" on {' '.join(self.slices)}" if self.slices else ""))
        if self.phase and self.phase != "train":
            parts.append(self.phase)
        if made := steps(self.step, self.total_steps):
            parts.append(f"step {made}")
        parts += self.measured
        if self.message and (self.ended or self.state == "QUEUED"):
            parts.append(self.message)
        return " · ".join(parts)

    @property
    def measured(self) -> list[str]:
        """Loss and speed in words, as far as they are known."""
        said = [] if self.loss is None else [f"loss {self.loss:.3f}"]
        return said if self.tokens_per_second is None else [*said, f"{self.tokens_per_second:,.0f} tokens/s"]

    @property
    def milestone(self) -> tuple[object, ...]:
        """Changes when a line is worth printing: the state, the attempt, the phase, or a tenth of the way."""
        tenth = 10 * self.step // self.total_steps if self.step is not None and self.total_steps else self.step is None
        phase = None if self.phase in ("train", "checkpoint") else self.phase
        return self.state, self.attempt, phase, tenth


def _newest(metrics: Sequence[Answer], name: str) -> float | None:
    for series in metrics:
        if series["name"] == name and series["values"]:
            return float(series["values"][-1])  # `NaN` and `Infinity` travel as text
    return None
