"""The card of a first failure on its way from the verdict through the API's view to the page."""

from dataclasses import replace

from rich.console import Console, Group

from orchestrator.api.views import AttemptView
from orchestrator.cli.remote.failure_card import failure_card
from orchestrator.cli.remote.job_page import time_to_detect
from orchestrator.domain.incident import Cause, Overdue
from orchestrator.domain.job import Progress
from orchestrator.incidents.card import with_card
from orchestrator.incidents.verdict import judge
from orchestrator.store.queries.jobs import AttemptDetail
from tests.builders import NOW, an_attempt, an_exit


def shown(cause: Cause) -> tuple[dict, str]:  # type: ignore[type-arg]
    attempt = an_attempt(ended_at_ms=NOW + 500, detected_at_ms=NOW + 300, reason=cause.reason, cause=cause)
    view = AttemptView.of(AttemptDetail(attempt, Progress(attempt.id), ())).model_dump(mode="json")
    console = Console(width=160)
    with console.capture() as printed:
        console.print(Group(*failure_card(view)))
    return view, printed.get()


def test_a_crash_shows_who_how_when_and_what_to_do() -> None:
    exits = [
        an_exit(0, signal=6, stderr_tail=("Gloo: Connection closed by peer",)),
        an_exit(1, code=3, last_step=1240, stderr_tail=("Traceback", "ValueError: \x1b[31mno")),
    ]
    view, text = shown(with_card(judge(None, "", exits, None, True), exits, NOW + 300))
    assert time_to_detect(view) == 300
    for words in (
        "first failure, attempt 1: program_error",
        "rank 1 on pool-0/1",
        "exited with code 3, at step 1,240",
        "detected after",
        "rank 0 on pool-0/0 was killed by SIGABRT (abort), as it had lost rank 1",
        r"ValueError: \x1b[31mno",
        "change: read the last lines of its stderr",
    ):
        assert words in text, text


def test_a_hang_shows_the_stacks_and_marks_the_odd_one() -> None:
    late = Overdue("train", (0, 1, 2), 9_000, 4_000, 40)
    exits = [
        replace(
            an_exit(rank, signal=9, ordered=True),
            stack=(
                f'Thread {rank} (idle): "MainThread"',
                "    load (data.py:31)" if rank == 1 else "    _value (jax/array.py:6)",
            ),
        )
        for rank in range(3)
    ]
    cause = with_card(judge("stalled", "", exits, None, True, late), exits, NOW, None, late)
    _, text = shown(cause)
    assert "of rank 0, 2" in text
    assert "of rank 1, unlike the others" in text
    assert "load (data.py:31)" in text
