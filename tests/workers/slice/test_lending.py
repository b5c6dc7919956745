"""Gathering the slices of an attempt: all or none, in order, and with a reason if one does not come."""

from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.domain.ids import SliceId
from orchestrator.protocol import HostInfo
from tests.workers.slice.stage import ATTEMPT, PlayedHost, an_order
from workers.host.messages import HostStatus
from workers.slice.lending import ASK_AGAIN_MS, GATHER_TIMEOUT_MS, Lent, Muster, NotGathered, Refusal


@dataclass
class PlayedLoan:
    slice_id: SliceId
    answers: list[Literal["lent", "gone"] | Refusal | None] = field(default_factory=list)
    asked: int = 0
    given_back: bool = False

    def ask(self) -> None:
        self.asked += 1

    def answer(self) -> Literal["lent", "gone"] | Refusal | None:
        return self.answers.pop(0) if self.answers else None

    def hosts(self) -> tuple[Any, ...]:
        return tuple(a_host(host, self.slice_id) for host in range(2))

    def give_back(self) -> None:
        self.given_back = True


def a_host(host: int, slice_id: str = "s") -> PlayedHost:
    return PlayedHost(HostInfo(host, f"{slice_id}-{host}", "127.0.0.1", 4), SliceId(slice_id))


class Play:
    def __init__(self, **answers: list[Any]) -> None:
        self.ms = 0
        self.loans = [PlayedLoan(SliceId(slice_id), said) for slice_id, said in answers.items()]
        self.own = [a_host(0), a_host(1)]
        self.muster = Muster(an_order(), self.own, self.loans, ticks_ms=lambda: self.ms)  # type: ignore[arg-type]

    def step(self, after_ms: int = 300) -> Any:
        self.ms += after_ms
        return self.muster.step()


def test_hosts_come_slice_by_slice_whichever_answers_first() -> None:
    play = Play(t=[None, "lent"], u=["lent"])
    assert play.step() is None
    found = play.step()
    assert [(host.slice_id, host.info.host) for host in found] == [(id, host) for id in "stu" for host in range(2)]


def test_a_slice_that_is_not_free_yet_is_asked_again() -> None:
    play = Play(t=[Refusal("attempt old still runs"), None, "lent"])
    assert play.step() is None
    assert play.loans[0].asked == 1
    assert play.step(ASK_AGAIN_MS) is None
    assert play.loans[0].asked == 2
    assert len(play.step()) == 4


def test_a_slice_without_a_supervisor_is_lost_and_named() -> None:
    found = Play(t=["lent"], u=["gone"]).step()
    assert found == NotGathered("slice_lost", "slice u was lost: its supervisor is gone")


def test_slices_that_never_come_are_named_with_what_they_said() -> None:
    play = Play(t=[Refusal("it is lent to attempt b")], u=[])
    assert play.step() is None
    found = play.step(GATHER_TIMEOUT_MS + 1)
    assert found.trouble == "launch_failed"
    assert found.message.endswith("t: it is lent to attempt b; u: does not answer")


def test_every_loan_is_given_back_answered_or_not() -> None:
    play = Play(t=["lent"], u=[])
    play.step()
    play.muster.give_back()
    assert all(loan.given_back for loan in play.loans)


def test_a_loan_ends_once_it_is_recalled_and_nothing_of_the_attempt_is_left() -> None:
    runs, lost, foreign = a_host(0), a_host(1), a_host(2)
    runs.status = HostStatus(ATTEMPT, None, False, {})
    lost.lost = "its node died"
    foreign.status = HostStatus("another", None, True, {})  # an old answer tells nothing about this attempt
    hosts, loan = [runs, lost, foreign], Lent(ATTEMPT)
    assert not loan.ended(hosts)  # type: ignore[arg-type]
    assert not runs.signals
    loan.recalled = True
    assert not loan.ended(hosts)  # type: ignore[arg-type]
    assert (runs.signals, lost.signals, foreign.signals) == (["KILL"], [], ["KILL"])
    runs.status = foreign.status = HostStatus(ATTEMPT, None, True, {})
    assert loan.ended(hosts)  # type: ignore[arg-type]
