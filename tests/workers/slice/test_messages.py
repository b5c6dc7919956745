"""Facts on their way from a supervisor to its cluster process."""

from orchestrator.domain.ids import AttemptId, SliceId
from orchestrator.domain.incident import Claim, RankExit
from orchestrator.protocol import Fact, FactBody, GangEnded, SliceDown
from workers.slice.messages import FACTS, facts_json


def numbered(*bodies: FactBody) -> tuple[Fact, ...]:
    return tuple(Fact("s/1", number, body) for number, body in enumerate(bodies, start=1))


def test_facts_arrive_as_they_were() -> None:
    facts = numbered(SliceDown("slice_down", SliceId("s"), "1", "häßlich", 0))
    assert FACTS.validate_json(facts_json(facts)).facts == facts


def test_a_fact_that_json_cannot_hold_is_mended_and_keeps_no_other_back() -> None:
    claim = Claim("nan_loss", "claimed \ud800")
    exit = RankExit(0, "s", 0, 1, None, False, False, 0, None, ("line \ud801",), claim)
    ended = GangEnded("gang_ended", AttemptId("a"), None, "said \udfff", (exit,), 0, 0)
    down = SliceDown("slice_down", SliceId("s"), "1", "", 0)
    first, second = FACTS.validate_json(facts_json(numbered(ended, down))).facts
    assert isinstance(first.body, GangEnded)
    assert first.body.message == "said \ufffd"
    assert first.body.exits[0].stderr_tail == ("line \ufffd",)
    assert first.body.exits[0].claim == Claim("nan_loss", "claimed \ufffd")
    assert second.body == down
