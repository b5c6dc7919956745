"""Follows the logs of a whole job: all ranks, both streams, one attempt after the other until the job has ended."""

import base64
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.cli.remote.log_lines import LineSplitter, LogLine
from orchestrator.client import Client, UnavailableError
from orchestrator.domain.lifecycle import TERMINAL

Answer = Mapping[str, Any]

_STREAMS: Final = ("stdout", "stderr")
_PAUSE_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class LogView:
    """Which logs: of one attempt, or with None of the newest; of one rank, or of all."""

    job_id: str
    attempt: int | None = None
    rank: int | None = None


def read(client: Client, view: LogView) -> Iterator[LogLine]:
    """What there is by now of one attempt, rank by rank."""
    attempt = _newest(client.attempts(view.job_id), view.attempt)
    for log in _logs(client.job(view.job_id), attempt, view.rank) if attempt else ():
        yield from log.more(client)
        yield from log.rest()


def follow(client: Client, view: LogView, sleep: Callable[[float], None] = time.sleep) -> Iterator[LogLine]:
    """Lines as they arrive, from `view.attempt` on, over all later attempts, until the job has ended.

    Goes on while the server is away.
    """
    number = view.attempt
    while True:
        job, attempt = _await_attempt(client, view.job_id, number, sleep)
        if attempt is None:
            return
        yield from _follow_attempt(client, job, attempt, view.rank, sleep)
        number = attempt["number"] + 1


@dataclass(slots=True)
class _RankLog:
    """How far one stream of one rank has been read."""

    job_id: str
    attempt: int
    rank: int
    stream: str
    offset: int = 0
    ended: bool = False
    """The control plane says that nothing will be added."""
    lines: LineSplitter = field(default_factory=LineSplitter)

    def more(self, client: Client) -> Iterator[LogLine]:
        """The lines that are there by now."""
        while not self.ended:
            place = {"attempt": self.attempt, "rank": self.rank, "offset": self.offset}
            piece = client.log_piece(self.job_id, stream=self.stream, **place)
            self.offset, self.ended = piece["next_offset"], piece["ended"]
            data = base64.b64decode(piece["data"])
            yield from map(self._line, self.lines.feed(data))
            if not data:
                return

    def rest(self) -> Iterator[LogLine]:
        yield from map(self._line, self.lines.flush())

    def _line(self, line: bytes) -> LogLine:
        return LogLine(self.attempt, self.rank, self.stream, line)


def _follow_attempt(
    client: Client, job: Answer, attempt: Answer, rank: int | None, sleep: Callable[[float], None]
) -> Iterator[LogLine]:
    logs: list[_RankLog] = []
    while True:
        try:
            now = _newest(client.attempts(job["id"]), attempt["number"]) or attempt
            if not logs and (now["ranks"] or not now["live"]):
                logs = _logs(job, now, rank)
            for log in logs:
                yield from log.more(client)
        except UnavailableError:
            sleep(_PAUSE_S)
            continue
        if not now["live"] and all(log.ended for log in logs):
            for log in logs:
                yield from log.rest()
            return
        sleep(_PAUSE_S)


def _await_attempt(
    client: Client, job_id: str, number: int | None, sleep: Callable[[float], None]
) -> tuple[Answer, Answer | None]:
    """The job and its attempt of that number, once it has begun; no attempt if the job ends without it."""
    while True:
        try:
            job = client.job(job_id)
            attempt = _newest(client.attempts(job_id), number)
        except UnavailableError:
            sleep(_PAUSE_S)
            continue
        if attempt or job["state"] in TERMINAL:
            return job, attempt
        sleep(_PAUSE_S)


def _newest(attempts: list[dict[str, Any]], number: int | None) -> dict[str, Any] | None:
    """The attempt of that number, or with None the newest."""
    wanted = [attempt for attempt in attempts if number in (None, attempt["number"])]
    return max(wanted, key=lambda attempt: int(attempt["number"]), default=None)


def _logs(job: Answer, attempt: Answer, rank: int | None) -> list[_RankLog]:
    # An attempt that never had all its processes lists no ranks, but some of them may have written something.
    ranks = [row["rank"] for row in attempt["ranks"]] or list(range(attempt["chips"] // _chips_per_host(job)))
    return [
        _RankLog(job["id"], attempt["number"], each, stream)
        for each in sorted(ranks)
        if rank in (None, each)
        for stream in _STREAMS
    ]


def _chips_per_host(job: Answer) -> int:
    choice = job["choices"][0]
    return max(1, int(choice["chips"]) // int(choice["hosts"]))
