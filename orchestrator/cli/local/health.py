"""Whether the siblings are well, as they and the control plane's own API say."""

from pathlib import Path
from typing import Any

import httpx

from orchestrator.cli.local.siblings import LocalPlan, Sibling, description

_TIMEOUT_S = 2.0


def server_url(plan: LocalPlan, pid: int) -> str | None:
    """The address of the server with this pid, once it answers that it is ready."""
    said = description(plan, Sibling.SERVER, pid)
    if said is None:
        return None
    url = str(said["url"])
    try:
        # Proxies are for other machines: the environment's are not asked about loopback.
        ready = httpx.get(f"{url}/readyz", timeout=_TIMEOUT_S, trust_env=False).is_success
    except httpx.HTTPError:
        return None
    return url if ready else None


def cluster_hosts(plan: LocalPlan, pid: int) -> list[dict[str, Any]] | None:
    """The hosts of the cluster with this pid, once all its nodes answer."""
    said = description(plan, Sibling.CLUSTER, pid)
    return None if said is None else list(said["hosts"])


def slices_up(plan: LocalPlan, url: str) -> int:
    """How many slices the control plane may offer; 0 also while it does not answer."""
    try:
        answer = httpx.get(f"{url}/api/v1/slices", headers=_as_admin(plan), timeout=_TIMEOUT_S, trust_env=False)
        rows = answer.raise_for_status().json()
    except (httpx.HTTPError, ValueError, FileNotFoundError):
        return 0
    items = rows["items"] if isinstance(rows, dict) else rows
    return sum(row["state"] == "up" for row in items)


def log_tail(log: Path, lines: int = 12) -> str:
    """The end of a sibling's log, for a message about its death."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""


def _as_admin(plan: LocalPlan) -> dict[str, str]:
    return {"Authorization": f"Bearer {(plan.state_dir / 'admin.token').read_text().strip()}"}
