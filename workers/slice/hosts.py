"""A host of the slice as its supervisor sees it: the last answer of its agent, and whether the host is lost.

Silence is not death: a host counts as lost when Ray says that its node or actor died, or when its agent has answered
nothing for longer than its lease, after which it has ended its rank by itself.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any, Final

import ray
from ray.exceptions import ActorDiedError, RayError, RayTaskError

from orchestrator.domain.ids import SliceId
from orchestrator.protocol import HostInfo
from workers.host.agent import LEASE_S
from workers.host.messages import HostStatus, Launched, RankOrder, Stream
from workers.host.output import OutputFile
from workers.slice.clocks import ClockOffset

SILENCE_S: Final = LEASE_S + 2.0
RESEND_S: Final = 1.0
FAILING_S: Final = 30.0
"""An agent that answers, but only with errors, is as good as silent after so long."""
READ_TIMEOUT_S: Final = 5.0
CODE_TIMEOUT_S: Final = 60.0

log = logging.getLogger(__name__)


class Host:
    """One agent. All methods return at once, except `read`. Calls that fail show in the polls that follow."""

    def __init__(self, agent: Any, info: HostInfo, slice_id: SliceId) -> None:
        self.info = info
        self.slice_id = slice_id
        self.lost: str | None = None
        """Why the host counts as lost, once it does."""
        self.status: HostStatus | None = None
        """The last answer about the attempt that `observe` asks for."""
        self.last_sign_ms = _now_ms()
        self.notice: str | None = None
        """Who said that the host will be taken away; it stays said."""
        self._clock = ClockOffset()
        self._sent_ms = 0
        self._failing_since: float | None = None
        self._agent = agent
        self._answered_at = time.monotonic()
        self._poll: Any = None
        self._launch: Any = None
        self._end_sent_at: float | None = None

    def observe(self, attempt_id: str | None, dead_nodes: frozenset[str], *, renews: bool = True) -> None:
        """Take in the answer to the poll that is under way, if it is there, and send the next one.

        `renews`: the poll renews the agent's lease; the lender of a slice leaves that to the borrower.
        """
        if self.lost is not None:
            return
        if self.info.node_id in dead_nodes:
            self.lost = "its node died"
            return
        if self._poll is not None and ray.wait([self._poll], timeout=0)[0]:
            self._take_answer()
        if self.lost is None and time.monotonic() - self._answered_at > SILENCE_S:
            self.lost = f"its agent has not answered for {SILENCE_S:.0f} s"
        if self._poll is None:
            self._sent_ms = _now_ms()
            self._poll = self._agent.poll.remote(attempt_id, renews)
        if self.status is not None and self.status.attempt_id != attempt_id:
            self.status = None

    def launch(self, order: RankOrder) -> None:
        """Start the rank; `launched` tells the outcome."""
        self.status, self._end_sent_at = None, None
        self._launch = self._agent.launch.remote(order)

    def launched(self) -> Launched | str | None:
        """The rank's process, or why there is none, or None while that is open."""
        if not ray.wait([self._launch], timeout=0)[0]:
            return None
        try:
            launched: Launched = ray.get(self._launch)
        except RayError as error:
            return _in_words(error)
        return launched

    def terminate(self, attempt_id: str, grace_ms: int) -> None:
        """SIGTERM to the rank, which has `grace_ms` from now on."""
        self._agent.terminate.remote(attempt_id, grace_ms)

    def end(self, attempt_id: str) -> None:
        """SIGKILL to the rank and all below it. Call until it is drained: a message may be lost."""
        now = time.monotonic()
        if self.lost is None and (self._end_sent_at is None or now - self._end_sent_at > RESEND_S):
            self._end_sent_at = now
            self._agent.end.remote(attempt_id)

    def inspect(self, attempt_id: str) -> None:
        """Have the rank's stacks taken; `status.inspected` tells when they are there."""
        self._agent.inspect.remote(attempt_id)

    @property
    def clock_ahead_ms(self) -> int:
        """By how much the host's wall clock is ahead of ours, as far as that is certain."""
        return self._clock.ahead_ms

    def read(self, attempt_id: str, offsets: Mapping[Stream, int], limit: int) -> dict[Stream, bytes]:
        """New bytes of those of the rank's streams that have an offset, at most `limit` of each.

        Raises:
            RayError: the agent is gone or does not answer in time.
        """
        found: dict[Stream, bytes] = ray.get(
            self._agent.read.remote(attempt_id, dict(offsets), limit), timeout=READ_TIMEOUT_S
        )
        return found

    def output(self, attempt_id: str) -> tuple[OutputFile, ...]:
        """The files in the rank's output folder.

        Raises:
            RayError: the agent is gone or does not answer in time.
        """
        found: tuple[OutputFile, ...] = ray.get(self._agent.output.remote(attempt_id), timeout=READ_TIMEOUT_S)
        return found

    def read_output(self, attempt_id: str, path: str, offset: int, limit: int) -> bytes:
        """Bytes of one of them.

        Raises:
            RayError: the agent is gone or does not answer in time.
        """
        asked = self._agent.read_output.remote(attempt_id, path, offset, limit)
        return bytes(ray.get(asked, timeout=READ_TIMEOUT_S))

    def has_code(self, digest: str) -> bool:
        """Whether the host has the bundle.

        Raises:
            RayError: the agent is gone or does not answer in time.
        """
        return bool(ray.get(self._agent.has_code.remote(digest), timeout=CODE_TIMEOUT_S))

    def take_code(self, digest: str, archive: bytes) -> None:
        """Have the bundle unpacked.

        Raises:
            RayError: the agent is gone, does not answer in time, or could not do it.
        """
        ray.get(self._agent.take_code.remote(digest, archive), timeout=CODE_TIMEOUT_S)

    def forget(self, attempt_ids: tuple[str, ...]) -> None:
        """Let the agent remove the files of these attempts."""
        self._agent.forget.remote(attempt_ids)

    def _take_answer(self) -> None:
        poll, self._poll = self._poll, None
        try:
            self.status = ray.get(poll)
        except ActorDiedError:
            self.lost = "its agent died"
            return
        except RayTaskError as error:
            self._take_failure(_in_words(error))
            return
        except RayError:
            return  # unavailable for now: the silence counts
        self._failing_since = None
        self._answered_at = time.monotonic()
        self.last_sign_ms = _now_ms()
        if self.status is not None:
            self.notice = self.notice or self.status.notice
            if self.status.now_ms is not None:
                self._clock.take(self._sent_ms, self.last_sign_ms, self.status.now_ms)

    def _take_failure(self, says: str) -> None:
        """It lives, and cannot tell how its rank is. For a while that is no silence; for ever it would be a hang."""
        log.warning("the agent of host %d fails to say how it is: %s", self.info.host, says)
        now = time.monotonic()
        self._failing_since = now if self._failing_since is None else self._failing_since
        if now - self._failing_since > FAILING_S:
            self.lost = f"its agent has failed to say how it is for {FAILING_S:.0f} s: {says}"
        self._answered_at = now


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _in_words(error: RayError) -> str:
    """The error of the agent itself, without Ray's copy of the remote traceback."""
    cause = getattr(error, "cause", None)
    return str(cause) if cause is not None else str(error).strip().splitlines()[-1]
