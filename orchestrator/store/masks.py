"""The masker of each attempt: what its program knows and nobody else shall read in its logs and reports."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.domain.errors import Unavailable
from orchestrator.domain.ids import AttemptId, JobId
from orchestrator.domain.incident import RankExit
from orchestrator.domain.masking import Masker, is_secret_name
from orchestrator.protocol import Fact, GangEnded
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import jobs, secrets
from orchestrator.store.sealing import Seal

_REMEMBERED: Final = 2_000
"""Attempts; those that reported last."""


@dataclass(slots=True)
class _Known:
    """What one attempt may say. Values only come to it: its program keeps those with which it started."""

    project: str
    names: tuple[str, ...]
    values: set[str]
    sealed: set[str] = field(default_factory=set)
    masker: Masker = field(default_factory=lambda: Masker(()))


class Masks:
    """Makes maskers, and remembers them: what runs with the old value of a secret that was changed may say it still."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal
        self._known: OrderedDict[AttemptId, _Known] = OrderedDict()

    async def of(self, tx: ReadTx, attempt_id: AttemptId, job_id: JobId) -> Masker:
        known = self._known.get(attempt_id)
        if known is None:
            spec = (await jobs.by_id(tx, job_id)).spec
            plain = {value for name, value in spec.env_vars.items() if is_secret_name(name)}
            known = _Known(spec.project, spec.secrets, plain, masker=Masker(plain))
            self._known[attempt_id] = known
        self._known.move_to_end(attempt_id)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        if known.names:
            self._learn(known, await secrets.sealed(tx, {(known.project, name) for name in known.names}))
        return known.masker

    def _learn(self, known: _Known, found: Mapping[tuple[str, str], str]) -> None:
        new = set(found.values()) - known.sealed
        if not new:
            return
        for sealed in new:
            known.sealed.add(sealed)
            try:
                known.values.add(self._seal.unseal(sealed))
            except Unavailable:
                continue  # no program was ever given it: see `api.orders`
        known.masker = Masker(known.values)

    async def facts(self, tx: ReadTx, seen: Sequence[Fact]) -> tuple[Fact, ...]:
        """The facts with all words of programs masked."""
        masked = []
        for fact in seen:
            body = fact.body
            if isinstance(body, GangEnded) and (attempt := await jobs.attempt(tx, body.attempt_id)) is not None:
                masker = await self.of(tx, attempt.id, attempt.job_id)
                exits = tuple(_exit(masker, one) for one in body.exits)
                fact = replace(fact, body=replace(body, message=masker.text(body.message), exits=exits))
            masked.append(fact)
        return tuple(masked)


def _exit(masker: Masker, one: RankExit) -> RankExit:
    claim = one.claim and replace(one.claim, message=masker.text(one.claim.message))
    # The lines as one text: a secret may have several.
    tail = masker.text("\n".join(one.stderr_tail)).split("\n") if one.stderr_tail else []
    return replace(one, stderr_tail=tuple(tail), claim=claim)
