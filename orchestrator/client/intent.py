"""What is wanted of jobs, one by one or many at once."""

import uuid
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from orchestrator.client.connection import Connection
from orchestrator.client.people import if_version

Answer = dict[str, Any]
_JOBS: Final = "/api/v1/jobs"
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Intent:
    """Verbs of jobs; with `version`, only if nobody has changed it since. Methods raise `ApiError` or its kinds."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def hold(self, job: str, *, version: int | None = None) -> Answer:
        """Keep it from running until it is released."""
        return self._ask(job, "hold", None, version)

    def release(self, job: str, *, version: int | None = None) -> Answer:
        return self._ask(job, "release", None, version)

    def change_priority(self, job: str, priority: str, *, version: int | None = None) -> Answer:
        return self._ask(job, "priority", {"priority": priority}, version)

    def clone(self, job: str, changes: Mapping[str, Any] = _NOTHING) -> Answer:
        """A new job of the same spec, with other values for some of its fields."""
        return self._make(f"{_JOBS}/{quote(job, safe='')}/clone", {"changes": dict(changes)})

    def retry(self, job: str) -> Answer:
        """A new job after one that has ended."""
        return self._make(f"{_JOBS}/{quote(job, safe='')}/retry", None)

    def submit_many(self, specs: Sequence[Mapping[str, Any]]) -> Answer:
        """All of them, or none."""
        return self._make(f"{_JOBS}/bulk", {"jobs": [dict(spec) for spec in specs]})

    def ask_many(
        self, verb: str, which: Mapping[str, Any], *, priority: str | None = None, dry_run: bool = False
    ) -> Answer:
        """Cancel, hold, release, or give a priority to the open jobs that `which` names: `asked` and `refused`."""
        body = {"verb": verb, "which": dict(which), "dry_run": dry_run}
        return dict(self._connection.post(f"{_JOBS}/ask", body | ({} if priority is None else {"priority": priority})))

    def submit_array(
        self,
        spec: Mapping[str, Any],
        *,
        grid: Mapping[str, Sequence[Any]] | None = None,
        sets: Sequence[Mapping[str, Any]] | None = None,
        at_once: int | None = None,
    ) -> Answer:
        """One spec with a grid or list of parameter sets, at most `at_once` of them running together."""
        body: Answer = {"spec": dict(spec), "at_once": at_once}
        if grid is not None:
            body["grid"] = {name: list(values) for name, values in grid.items()}
        if sets is not None:
            body["sets"] = [dict(one) for one in sets]
        return self._make("/api/v1/arrays", body)

    def array(self, array: str) -> Answer:
        return dict(self._connection.get(f"/api/v1/arrays/{quote(array, safe='')}"))

    def _ask(self, job: str, verb: str, body: Any, version: int | None) -> Answer:
        return dict(self._connection.post(f"{_JOBS}/{quote(job, safe='')}/{verb}", body, if_version(version)))

    def _make(self, path: str, body: Any) -> Answer:
        return dict(self._connection.post(path, body, {"Idempotency-Key": uuid.uuid4().hex}))
