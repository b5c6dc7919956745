"""Whatever is added between two pages, and whatever the pages' size: nothing comes twice, and nothing is left out."""

import asyncio
import itertools
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.ids import JobId
from orchestrator.store.commands import jobs as commands
from orchestrator.store.database import Database
from orchestrator.store.queries import jobs
from orchestrator.store.queries.jobs import JobFilter
from tests.builders import NOW, a_spec
from tests.contracts.stores import open_store

plans = st.tuples(
    st.integers(0, 12),
    st.integers(1, 5),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6),
)
"""How many jobs there are, the pages' size, oldest first, and after each page how many jobs come: ours or another's."""


def test_pages_are_exact_whatever_is_added_between_them(database_url: str, tmp_path: Path) -> None:
    examples = itertools.count()
    with asyncio.Runner() as runner:
        opened = open_store(database_url, tmp_path)
        store = runner.run(opened.__aenter__())

        @settings(max_examples=40)
        @given(plans)
        def check(plan: tuple[int, int, bool, list[tuple[int, bool]]]) -> None:
            runner.run(_check(store.database, f"example-{next(examples)}", *plan))

        check()
        runner.run(opened.__aexit__(None, None, None))


async def _check(
    database: Database, name: str, there: int, limit: int, oldest_first: bool, comes: list[tuple[int, bool]]
) -> None:
    numbers = itertools.count()

    async def add(count: int, of: str) -> list[str]:
        ids = [f"job_{name}_{next(numbers)}" for _ in range(count)]
        async with database.write() as tx:
            for one in ids:
                await commands.submit(tx, a_spec(name=of), JobId(one), NOW)
        return ids

    first, added = await add(there, name), list[str]()
    seen: list[str] = []
    after: int | None = None
    arriving = iter(comes)
    while True:
        async with database.read() as tx:
            page = await jobs.page(tx, JobFilter(name=name), limit, after, oldest_first=oldest_first)
        assert len(page.jobs) <= limit
        seen += [job.id for job in page.jobs]
        after = page.next_after
        if after is None:
            break
        count, ours = next(arriving, (0, True))
        arrived = await add(count, name if ours else "another")
        added += arrived if ours else []
    assert seen == (first + added if oldest_first else first[::-1])
