"""`store` on every kind of database that we support, with the same tests for all."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestrator.domain.job import Attempt
from tests.contracts.stores import Store, open_store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(anyio_backend: str, database_url: str, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(database_url, tmp_path) as opened:
        yield opened


@pytest.fixture
async def attempt(store: Store) -> Attempt:
    return await store.start(await store.submit())
