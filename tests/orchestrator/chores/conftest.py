"""The API's `rig`: chores work on what it made."""

from tests.orchestrator.api.conftest import anyio_backend, rig, template

__all__ = ["anyio_backend", "rig", "template"]
