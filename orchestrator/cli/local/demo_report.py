"""What the demo saw, held against what it claims, in sentences. Everything comes from the API's answers. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.cli.remote.wording import span

Answer = Mapping[str, Any]

LOSS_FALLS_TO: Final = 0.6
"""The last loss is at most this part of the first: bytes start near ln 256 = 5.5 and fall below 2.5 in 100 steps."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The whole story once the job has ended. Times are wall-clock milliseconds of this one machine."""

    submitted_at_ms: int
    killed_at_ms: int
    step_when_killed: int
    job: Answer
    attempts: Sequence[Answer]
    checkpoints: Sequence[Answer]
    ledger: Answer
    losses: Sequence[float]
    """By step, over both attempts, without what the restart undid."""

    @property
    def committed_before_loss(self) -> int | None:
        """The last step that attempt 1 committed."""
        return max((saved["step"] for saved in self.checkpoints if saved["attempt"] == 1), default=None)

    @property
    def last_step_before_loss(self) -> int:
        """The last step that attempt 1 reported: the report may be newer than the look that chose the moment."""
        return max(self.step_when_killed, self.attempts[0]["progress"]["step"] or 0)


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that the demo says of Podwright, and what was seen of it."""

    text: str
    holds: bool
    seen: str


def claims(seen: Seen) -> tuple[Claim, ...]:
    """All claims, in the order of the story."""
    attempts = seen.attempts
    if len(attempts) != 2:
        return (
            Claim("the job needs two attempts", False, f"{len(attempts)} attempts; the job is {seen.job['state']}"),
        )
    first, second = attempts
    resumed, committed = second["progress"]["resumed_step"], seen.committed_before_loss
    charges, losses = seen.job["charges"], seen.losses
    return (
        Claim("attempt 1 ends host_lost", first["reason"] == "host_lost", str(first["reason"])),
        Claim(
            "it is charged to preemptions, and to nothing else",
            charges == {budget: int(budget == "preemptions") for budget in charges},
            str(charges),
        ),
        Claim(
            "attempt 2 runs on the spare slice",
            not set(first["slices"]) & set(second["slices"]),
            f"{first['slices']}, then {second['slices']}",
        ),
        Claim(
            "attempt 2 goes on from the last step that attempt 1 committed",
            committed is not None and resumed == committed,
            f"committed {committed}, resumed {resumed}",
        ),
        Claim(
            "the job ends SUCCEEDED", seen.job["state"] == "SUCCEEDED", f"{seen.job['state']}: {seen.job['message']}"
        ),
        Claim(
            "the loss clearly falls",
            len(losses) > 1 and losses[-1] <= LOSS_FALLS_TO * losses[0],
            f"{losses[0]:.2f} to {losses[-1]:.2f}" if losses else "no loss was reported",
        ),
    )


def sentences(seen: Seen) -> Iterator[str]:
    """What happened, in words. Only for a story whose claims hold."""
    first, second = seen.attempts
    committed, reached = seen.committed_before_loss or 0, seen.last_step_before_loss
    first_step, again = first["progress"]["first_step_at_ms"], second["progress"]["first_step_at_ms"]
    detected, sign = first["detected_at_ms"], first["last_sign_at_ms"]
    yield f"The first training step was done {span(first_step - seen.submitted_at_ms)} after the submit."
    after_sign = "" if sign is None else f" ({span(detected - sign)} after its last sign of life)"
    yield (
        f"Host 1 of {first['slices'][0]} was killed at step {reached}; "
        f"that was known {span(detected - seen.killed_at_ms)} later{after_sign}."
    )
    yield "Attempt 1 ended host_lost: charged to preemptions, not to the job's own failures."
    yield (
        f"Attempt 2 went on from committed step {committed} on {second['slices'][0]}: "
        f"{max(0, reached - committed)} steps were lost."
    )
    yield f"From the kill to the first step again it took {span(again - seen.killed_at_ms)}."
    yield f"The loss fell from {seen.losses[0]:.2f} to {seen.losses[-1]:.2f}; the job SUCCEEDED."
    yield (
        f"Goodput was {100 * seen.ledger['goodput']:.0f} %: that part of the {span(seen.ledger['allocated_chip_ms'])}"
        " of chip time was training that counted."
    )
