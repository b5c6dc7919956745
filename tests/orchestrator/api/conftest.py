"""`rig`: the application over a database of the test's own."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.orchestrator.api.rig import Rig, make_template, open_rig


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "migrated.db"
    asyncio.run(make_template(path))
    return path


@pytest.fixture
async def rig(anyio_backend: str, template: Path, tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_rig(template, tmp_path) as opened:
        yield opened
