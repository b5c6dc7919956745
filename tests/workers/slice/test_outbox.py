"""Facts are numbered from 1 and kept until acknowledged."""

from orchestrator.domain.ids import SliceId
from orchestrator.protocol import SliceDown
from workers.slice.outbox import Outbox


def test_facts_are_kept_until_they_are_acknowledged() -> None:
    outbox = Outbox("s/1")
    for number in range(3):
        outbox.add(SliceDown("slice_down", SliceId("s"), "1", "", number))
    outbox.acknowledge(2)
    outbox.acknowledge(1)  # late answers come in any order
    assert [(fact.source, fact.sequence) for fact in outbox.pending()] == [("s/1", 3)]
    outbox.acknowledge(3)
    outbox.add(SliceDown("slice_down", SliceId("s"), "1", "", 9))
    assert [fact.sequence for fact in outbox.pending()] == [4]
