"""Which steps of other jobs a job begins from, wherever its spec says so."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.domain.spec import JobSpec


def origins_of(spec: JobSpec) -> dict[str, str]:
    """Path of a field -> the `<job id>/<attempt>/<step>` in it: of the job that it continues, or takes weights from."""
    found = {"checkpoint.continue_from": spec.checkpoint.continue_from}
    named = (spec.program.config or {}).get("init_from")
    if isinstance(named, Mapping):
        found["program.config.init_from.checkpoint"] = named.get("checkpoint")
    return {path: origin for path, origin in found.items() if isinstance(origin, str)}
