"""Attempts on several slices: the first slice's supervisor leads, the others lend it their agents.

While a slice is lent only the leader's polls renew its agents' leases: without the leader the ranks on all slices end.
A loan ends when the leader gives it back, or when the orders name the attempt no longer.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import ray
from ray.exceptions import ActorDiedError, RayError

from orchestrator.domain.ids import SliceId
from orchestrator.protocol import HostInfo, RunOrder
from workers.slice.gang import SLICE_LOST
from workers.slice.hosts import Host
from workers.slice.messages import LOAN_REPLY, RUN_ORDER
from workers.slice.reservation import agent_name, supervisor_name

ASK_AGAIN_MS: Final = 500
GATHER_TIMEOUT_MS: Final = 30_000
"""As long as a launch: a slice may still be ending what ran there before."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a slice is not lent now; it is asked again."""

    why: str


@dataclass(frozen=True, slots=True)
class NotGathered:
    """Why the attempt cannot begin, as its report tells it."""

    trouble: str
    message: str


class Loan(Protocol):
    """What the leader needs of one borrowed slice; `SliceLoan` is one."""

    slice_id: SliceId

    def ask(self) -> None: ...
    def answer(self) -> Literal["lent", "gone"] | Refusal | None: ...
    def hosts(self) -> tuple[Host, ...]: ...
    def give_back(self) -> None: ...


class Muster:
    """Gathers the hosts of an attempt's slices, in the order of the slices. `ticks_ms` is a monotonic clock."""

    def __init__(
        self, order: RunOrder, own: Sequence[Host], loans: Sequence[Loan], *, ticks_ms: Callable[[], int]
    ) -> None:
        self.order = order
        self._own = tuple(own)
        self._loans = tuple(loans)
        self._ticks_ms = ticks_ms
        self._began_at = self._asked_at = ticks_ms()
        self._missing: dict[SliceId, str] = {loan.slice_id: "does not answer" for loan in loans}
        for loan in loans:
            loan.ask()

    def step(self) -> tuple[Host, ...] | NotGathered | None:
        """All hosts once they are there; None while some slice has not answered."""
        now = self._ticks_ms()
        asks = now - self._asked_at >= ASK_AGAIN_MS
        for loan in self._loans:
            if loan.slice_id not in self._missing:
                continue
            match loan.answer():
                case "gone":
                    return NotGathered(SLICE_LOST, f"slice {loan.slice_id} was lost: its supervisor is gone")
                case "lent":
                    del self._missing[loan.slice_id]
                    continue
                case Refusal(why):
                    self._missing[loan.slice_id] = why
            if asks:
                loan.ask()
        self._asked_at = now if asks else self._asked_at
        if not self._missing:
            return self._own + tuple(host for loan in self._loans for host in loan.hosts())
        if now - self._began_at > GATHER_TIMEOUT_MS:
            words = "; ".join(f"{slice_id}: {why}" for slice_id, why in self._missing.items())
            said = f"not all slices were there within {GATHER_TIMEOUT_MS // 1000} s: {words}"
            return NotGathered("launch_failed", said)
        return None

    def give_back(self) -> None:
        """End all loans, those too that were not answered yet."""
        for loan in self._loans:
            loan.give_back()


class SliceLoan:
    """One slice that is borrowed of its supervisor, which is found by its name. No method waits for an answer."""

    def __init__(self, slice_id: SliceId, order: RunOrder) -> None:
        self.slice_id = slice_id
        self._order = order
        self._supervisor: Any = None
        self._asked: Any = None
        self._agents: tuple[tuple[Any, HostInfo], ...] = ()
        self._gone = False

    def ask(self) -> None:
        """Ask, unless an answer is under way."""
        if self._asked is not None or self._gone:
            return
        try:
            self._supervisor = self._supervisor or ray.get_actor(supervisor_name(self.slice_id))
        except ValueError:
            self._gone = True
            return
        self._asked = self._supervisor.lend.remote(RUN_ORDER.dump_json(self._order).decode())

    def answer(self) -> Literal["lent", "gone"] | Refusal | None:
        """Whether the slice is lent, or why not now, or None while that is open."""
        if self._gone:
            return "gone"
        if self._asked is None or not ray.wait([self._asked], timeout=0)[0]:
            return None
        asked, self._asked = self._asked, None
        try:
            reply = LOAN_REPLY.validate_json(ray.get(asked))
            if reply.refused is not None:
                return Refusal(reply.refused)
            self._agents = tuple((ray.get_actor(agent_name(reply.incarnation, i.host)), i) for i in reply.hosts)
        except (ActorDiedError, ValueError) as error:
            log.warning("slice %s cannot be borrowed: %s", self.slice_id, str(error).strip().splitlines()[-1])
            self._gone = True
            return "gone"
        except RayError as error:
            return Refusal(f"cannot be asked: {type(error).__name__}")
        return "lent"

    def hosts(self) -> tuple[Host, ...]:
        """The hosts of the slice, once it is lent; they have to be observed from now on."""
        return tuple(Host(agent, info, self.slice_id) for agent, info in self._agents)

    def give_back(self) -> None:
        """The attempt needs the slice no longer. If the word is lost, the orders tell the lender."""
        if self._supervisor is not None:
            self._supervisor.take_back.remote(self._order.attempt_id)


@dataclass(slots=True)
class Lent:
    """The loan of a supervisor's own slice."""

    attempt_id: str
    recalled: bool = False

    def ended(self, hosts: Sequence[Host]) -> bool:
        """End what the attempt still runs here, if it is recalled; whether nothing of it is left."""
        if not self.recalled:
            return False
        left = [host for host in hosts if host.lost is None and not _is_drained(host, self.attempt_id)]
        for host in left:
            host.end(self.attempt_id)
        return not left


def _is_drained(host: Host, attempt_id: str) -> bool:
    return host.status is not None and host.status.attempt_id == attempt_id and host.status.drained
