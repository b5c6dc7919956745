"""What a fake cluster is made of: gangs that keep a spool, checkpoints behind a fence, and sources of facts."""

import json
from dataclasses import dataclass, field

from orchestrator.protocol import Fact, FactBody, FactsReply, RunOrder


@dataclass(slots=True)
class Latest:
    """A job's `LATEST`: the fence and the newest commit."""

    attempt: int = 0
    step: int = 0


@dataclass(slots=True)
class FakeGang:
    """One attempt on one slice, led by its supervisor."""

    order: RunOrder
    started_at_ms: int
    ready_at_ms: int | None = None
    first_step: int = 0
    step: int = 0
    spool: bytes = b""
    sent: int = 0
    ended: bool = False
    frozen_at_ms: int | None = None
    """Since when it makes no step."""

    @property
    def seconds(self) -> float:
        command = self.order.program.command
        return float(command[1]) if command[0] == "sleep" else 0

    def write(self, at_ms: int, **record: object) -> None:
        self.spool += json.dumps({"at_ms": at_ms, **record}).encode() + b"\n"


@dataclass(slots=True)
class Outbox:
    """One source of facts: numbers them from 1 and keeps them until they are acknowledged."""

    source: str
    facts: list[Fact] = field(default_factory=list)
    sequence: int = 0

    def tell(self, body: FactBody) -> None:
        self.sequence += 1
        self.facts.append(Fact(self.source, self.sequence, body))

    def acknowledge(self, reply: FactsReply) -> None:
        done = reply.acknowledged.get(self.source, 0)
        self.facts = [fact for fact in self.facts if fact.sequence > done]
