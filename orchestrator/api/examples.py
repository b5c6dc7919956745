"""What the API's document shows of bodies: an example of each, and the models of those that routes read themselves."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from orchestrator.api.checkpoints import ErrandBody, PinBody
from orchestrator.api.continuing import ContinueBody

EXAMPLE_SPEC: Final[dict[str, Any]] = {
    "name": "shakespeare",
    "project": "default",
    "program": {"builtin": "train", "config": {"preset": "tiny", "steps": 200}},
    "slices": "v5e:2x4",
    "priority": "normal/0",
    "retry": {"failures": 2},
    "labels": {"team": "x"},
}

BODIES: Final[Mapping[str, type[BaseModel]]] = {
    "POST /api/v1/jobs/{job}/checkpoints/{step}/pin": PinBody,
    "POST /api/v1/jobs/{job}/checkpoints/{step}/errands": ErrandBody,
    "POST /api/v1/jobs/{job}/continue": ContinueBody,
}
"""Of routes that read their body by themselves: the framework does not see it."""

_REASON: Final = {"reason": "its host 2 ran hot twice today"}
EXAMPLES: Final[Mapping[str, Any]] = {
    "POST /api/v1/jobs": EXAMPLE_SPEC,
    "POST /api/v1/jobs/bulk": {"jobs": [EXAMPLE_SPEC, {**EXAMPLE_SPEC, "name": "shakespeare-2"}]},
    "POST /api/v1/jobs/ask": {"verb": "cancel", "which": {"project": "default", "state": "QUEUED"}, "dry_run": True},
    "POST /api/v1/jobs/{job}/priority": {"priority": "production/10"},
    "POST /api/v1/jobs/{job}/clone": {"changes": {"name": "shakespeare-again"}},
    "POST /api/v1/jobs/{job}/continue": {"step": 400, "set": {"program": {"config": {"steps": 800}}}},
    "POST /api/v1/jobs/{job}/checkpoints/{step}/pin": {"pinned": True, "note": "the one of the paper"},
    "POST /api/v1/jobs/{job}/checkpoints/{step}/errands": {"kind": "export", "target": "gs://bucket/folder"},
    "POST /api/v1/arrays": {"spec": EXAMPLE_SPEC, "grid": {"program.config.seed": [1, 2, 3]}, "at_once": 2},
    "POST /api/v1/pools/{pool}/{verb}": _REASON,
    "PUT /api/v1/pools/{pool}/limits": {"least": 0, "most": 8},
    "POST /api/v1/slices/{slice_id}/{verb}": _REASON,
    "POST /api/v1/slices/{slice_id}/hosts/{host}/{verb}": _REASON,
    "POST /api/v1/projects": {"name": "research", "description": "language models", "weight": 2.0},
    "PATCH /api/v1/projects/{project}": {"weight": 3.0},
    "PUT /api/v1/projects/{project}/members/{user}": {"role": "submitter"},
    "PUT /api/v1/projects/{project}/quotas/{pool}": {"guarantee_chips": 64, "limit_chips": 256},
    "PUT /api/v1/projects/{project}/secrets/{name}": {"value": "never shown again"},
    "PUT /api/v1/projects/{project}/bundles/{digest}/origin": {"commit": "0" * 40, "dirty": False},
    "POST /api/v1/projects/{project}/webhooks": {"url": "https://example.org/hook", "kinds": ["job.state"]},
    "POST /api/v1/users": {"name": "ann"},
    "PATCH /api/v1/users/{user}": {"disabled": True},
    "POST /api/v1/tokens": {"name": "laptop", "scope": "write", "expires_in_s": 2_592_000},
    "POST /api/v1/maintenance": {
        "target": "slice",
        "name": "pool-0",
        "since_ms": 1_790_000_000_000,
        "until_ms": 1_790_003_600_000,
        "reason": "the provider changes a rack",
    },
}
