"""The client: one method per thing that the API can do. Answers are the API's own JSON, as plain dictionaries."""

import base64
import json
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self
from urllib.parse import quote

import httpx

from orchestrator.client.artifacts import Artifacts
from orchestrator.client.bundles import Bundles
from orchestrator.client.connection import Connection
from orchestrator.client.errors import UnavailableError, WaitTimeout
from orchestrator.client.fleet import Fleet
from orchestrator.client.intent import Intent
from orchestrator.client.maintenance import Maintenance
from orchestrator.client.people import Projects, Users, Webhooks
from orchestrator.client.pools import Pools
from orchestrator.domain.lifecycle import TERMINAL

Answer = dict[str, Any]

_POLL_S: Final = 0.5
_PREFIX: Final = "/api/v1"


class Client:
    """A connection to one control plane. JOB is everywhere an id, or a name: then its newest job.

    Every method raises `ApiError` or one of its kinds.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = Connection(url.rstrip("/"), token, transport, sleep)
        self._sleep = sleep
        self._monotonic = monotonic
        self.artifacts = Artifacts(self._connection)
        self.fleet = Fleet(self._connection)
        self.intent = Intent(self._connection)
        self.projects = Projects(self._connection)
        self.users = Users(self._connection)
        self.webhooks = Webhooks(self._connection)
        self.bundles = Bundles(self._connection)
        self.maintenance = Maintenance(self._connection)
        self.pools = Pools(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    # ------------------------------------------------------------------------------------------------------------ jobs

    def submit(
        self, spec: Mapping[str, Any], idempotency_key: str | None = None, *, folder: Path | None = None
    ) -> Answer:
        """Queue a job. Without a key each call is a submission of its own, which a lost answer does not double.

        Where `program.code` is a folder, it is packed and uploaded first; a relative one is below `folder`, or else the
        working folder.
        """
        spec = self.bundles.with_code(spec, folder or Path.cwd())
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return self._object(self._connection.post(f"{_PREFIX}/jobs", dict(spec), headers))

    def jobs(
        self,
        *,
        state: str | None = None,
        name: str | None = None,
        project: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Answer:
        """A page of jobs, newest first: `items` and `next_cursor`."""
        asked = {"state": state, "name": name, "project": project, "limit": limit, "cursor": cursor}
        return self._object(self._connection.get(f"{_PREFIX}/jobs", asked))

    def job(self, job: str) -> Answer:
        return self._object(self._connection.get(_path(job)))

    def cancel(self, job: str) -> Answer:
        """Ask for the job's end; the job as it is now. Its state follows."""
        return self._object(self._connection.post(_path(job, "cancel")))

    def wait(self, job: str, timeout_s: float | None = None) -> Answer:
        """Wait until the job has ended; the job. Goes on while the server is away.

        Raises:
            WaitTimeout: it had not ended after `timeout_s`.
        """
        deadline = None if timeout_s is None else self._monotonic() + timeout_s
        job_id = self.job(job)["id"]  # a name could mean another job by the time it is asked again
        while True:
            found = self._job_or_none(job_id)
            if found is not None and found["state"] in TERMINAL:
                return found
            if deadline is not None and self._monotonic() >= deadline:
                state = found["state"] if found else "not known: the server does not answer"
                raise WaitTimeout(f"job {job} had not ended after {timeout_s:g} s; its state is {state}")
            self._sleep(_POLL_S)

    # ------------------------------------------------------------------------------------------------ of one job

    def attempts(self, job: str) -> list[Answer]:
        return self._items(self._connection.get(_path(job, "attempts")))

    def events(self, job: str) -> list[Answer]:
        """The job's whole history."""
        found: list[Answer] = []
        after: int | None = 0
        while after is not None:
            page = self._connection.get(_path(job, "events"), {"after": after, "limit": 1000})
            found += page["items"]
            after = page["next_after"]
        return found

    def follow_events(self, job: str | None = None, after: int | None = None) -> Generator[Answer, None, None]:
        """Events as they happen, without a gap over broken connections. Never ends by itself."""
        while True:
            try:
                for event in self._stream_events(job, after):
                    yield event
                    after = event["id"]
            except UnavailableError:
                self._sleep(_POLL_S)

    def metrics(
        self,
        job: str,
        series: Sequence[str] = (),
        attempt: int | None = None,
        last: int | None = None,
        points_each: int | None = None,
    ) -> list[Answer]:
        """Series as columns, joined over all attempts unless one is named: of each the `last` points or all, or thinned
        to about `points_each` that keep its least and greatest values."""
        asked = {"series": list(series), "attempt": attempt, "last": last, "points_each": points_each}
        return self._items(self._connection.get(_path(job, "metrics"), asked))

    def checkpoints(self, job: str) -> list[Answer]:
        return self._items(self._connection.get(_path(job, "checkpoints")))

    def pin_checkpoint(
        self, job: str, step: int, *, pinned: bool = True, note: str | None = None, attempt: int | None = None
    ) -> Answer:
        """Keep a step from retention and deletion, or no longer."""
        address = _with_attempt(_path(job, f"checkpoints/{step}/pin"), attempt)
        return self._object(self._connection.post(address, {"pinned": pinned, "note": note}))

    def delete_checkpoint(self, job: str, step: int, attempt: int | None = None) -> Answer:
        """Have a step deleted; refused for the newest commit and for pinned ones."""
        return self._object(self._connection.delete(_with_attempt(_path(job, f"checkpoints/{step}"), attempt)))

    def verify_checkpoint(self, job: str, step: int, attempt: int | None = None) -> Answer:
        """Have every byte of a step compared with what was committed; the errand, which `errand` follows."""
        address = _with_attempt(_path(job, f"checkpoints/{step}/errands"), attempt)
        return self._object(self._connection.post(address, {"kind": "verify"}))

    def export_checkpoint(self, job: str, step: int, target: str, attempt: int | None = None) -> Answer:
        """Have a step copied to a folder, local to the cluster or `gs://…`; the errand."""
        address = _with_attempt(_path(job, f"checkpoints/{step}/errands"), attempt)
        return self._object(self._connection.post(address, {"kind": "export", "target": target}))

    def collect_orphans(self, job: str) -> Answer:
        """Have what dead attempts left uncommitted deleted; the errand."""
        return self._object(self._connection.post(_path(job, "checkpoints/orphans")))

    def errand(self, job: str, errand: str) -> Answer:
        return self._object(self._connection.get(_path(job, f"checkpoints/errands/{quote(errand, safe='')}")))

    def continue_job(
        self,
        job: str,
        *,
        step: int | None = None,
        attempt: int | None = None,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> Answer:
        """A new job from a committed step: `job`, `continues`, and the `differences` of its spec."""
        body = {"step": step, "attempt": attempt, "set": dict(settings)}
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        return self._object(self._connection.post(_path(job, "continue"), body, headers))

    def why(self, job: str) -> Answer:
        """Why the job does not run yet: `blockers`, its `place`, an estimated `start` with a range, `ways_out`."""
        return self._object(self._connection.get(_path(job, "why")))

    def ledger(self, job: str) -> Answer:
        return self._object(self._connection.get(_path(job, "ledger")))

    def logs(
        self,
        job: str,
        *,
        attempt: int | None = None,
        rank: int = 0,
        stream: str = "stdout",
        offset: int = 0,
        follow: bool = False,
    ) -> Iterator[bytes]:
        """What a rank wrote, in pieces; with `follow` until its attempt is over, else what there is by now."""
        while True:
            piece = self.log_piece(job, attempt=attempt, rank=rank, stream=stream, offset=offset)
            # The first attempt that answers is the one that is followed, whatever starts later.
            attempt = piece["attempt"]
            offset = piece["next_offset"]
            if data := base64.b64decode(piece["data"]):
                yield data
            elif piece["ended"] or not follow:
                return
            else:
                self._sleep(_POLL_S)

    def log_piece(
        self, job: str, *, attempt: int | None = None, rank: int = 0, stream: str = "stdout", offset: int = 0
    ) -> Answer:
        """What there is from `offset` on, at most some tens of KiB: `data` in base64, `next_offset`, and `ended`."""
        asked = {"attempt": attempt, "rank": rank, "stream": stream, "offset": offset}
        return self._object(self._connection.get(_path(job, "logs"), asked))

    # ------------------------------------------------------------------------------------------------------------ fleet

    def version(self) -> Answer:
        return self._object(self._connection.get(f"{_PREFIX}/version"))

    # ------------------------------------------------------------------------------------------------------------------

    def _job_or_none(self, job_id: str) -> Answer | None:
        try:
            return self.job(job_id)
        except UnavailableError:
            return None

    def _stream_events(self, job: str | None, after: int | None) -> Iterator[Answer]:
        lines = self._connection.lines(f"{_PREFIX}/events/stream", {"job": job, "after": after}, {})
        for line in lines:
            if line.startswith("data:"):
                yield json.loads(line.removeprefix("data:"))

    @staticmethod
    def _object(answer: Any) -> Answer:
        return dict(answer)

    @staticmethod
    def _items(answer: Any) -> list[Answer]:
        return list(answer["items"])


def _with_attempt(path: str, attempt: int | None) -> str:
    return path if attempt is None else f"{path}?attempt={attempt}"


def _path(job: str, part: str | None = None) -> str:
    # Quoted whole: a name with a slash must not become another address.
    return f"{_PREFIX}/jobs/{quote(job, safe='')}" + (f"/{part}" if part else "")
