import pytest

from orchestrator.domain.ids import AttemptId
from orchestrator.domain.job import Progress
from orchestrator.store.queries.glances import Stretch, stretches


def reported(number: int, step: int | None, resumed: int | None) -> Progress:
    return Progress(AttemptId(str(number)), step=step, resumed_step=resumed)


@pytest.mark.parametrize(
    ("attempts", "made"),
    [
        ([], []),
        ([reported(1, None, None)], []),
        ([reported(1, 0, None)], [("1", -1, 0)]),
        ([reported(1, 90, 0), reported(2, 200, 60)], [("1", -1, 60), ("2", 60, 200)]),
        ([reported(1, 90, 0), reported(2, None, 60)], [("1", -1, 60)]),
        ([reported(1, 90, 0), reported(2, 30, 0)], [("2", -1, 30)]),
        ([reported(1, 90, 0), reported(2, 100, 80), reported(3, 70, 50)], [("1", -1, 50), ("3", 50, 70)]),
    ],
    ids=[
        "no attempt",
        "nothing reported",
        "only step 0",
        "a restart cuts what came before",
        "a restart without steps cuts too",
        "a restart from the beginning leaves nothing",
        "a later restart undoes a whole attempt",
    ],
)
def test_stretches_are_what_no_restart_undid(attempts: list[Progress], made: list[tuple[str, int, int]]) -> None:
    assert stretches(attempts) == tuple(Stretch(AttemptId(id), after, until) for id, after, until in made)
