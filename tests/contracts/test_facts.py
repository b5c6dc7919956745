"""What the store promises to clusters that tell it facts, whatever database is behind it."""

import pytest

from orchestrator.changes import Changes
from orchestrator.domain.job import RankStarted
from orchestrator.protocol import Fact, GangReady, SliceDown
from orchestrator.store.commands import fleet as fleet_commands
from tests.builders import LOCAL, NOW, a_slice, an_attempt
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


def down(sequence: int, source: str = "cluster") -> Fact:
    return Fact(source, sequence, SliceDown("slice_down", a_slice().id, "inc-1", f"told {sequence}", NOW))


async def test_repeated_facts_have_no_effect(store: Store) -> None:
    async with store.database.write() as tx:
        assert await fleet_commands.add_facts(tx, LOCAL, [down(2), down(1)]) == {"cluster": 2}
    async with store.database.write() as tx:
        assert await fleet_commands.add_facts(tx, LOCAL, [down(1), down(2), down(3)]) == {"cluster": 3}
        assert await fleet_commands.add_facts(tx, LOCAL, [down(2)]) == {"cluster": 3}
    assert [fact.body.message for fact in (await store.world()).facts] == ["told 1", "told 2", "told 3"]  # type: ignore[union-attr]


async def test_facts_that_were_taken_in_do_not_come_back(store: Store) -> None:
    async with store.database.write() as tx:
        await fleet_commands.add_facts(tx, LOCAL, [down(1)])
    await store.apply(Changes(ignored=tuple(fact.row_id for fact in (await store.world()).facts)))
    async with store.database.write() as tx:
        assert await fleet_commands.add_facts(tx, LOCAL, [down(1)]) == {"cluster": 1}
    assert (await store.world()).facts == ()


async def test_each_source_counts_for_itself(store: Store) -> None:
    ready = GangReady("gang_ready", an_attempt().id, (RankStarted(0, a_slice().id, 0, 1, NOW),), NOW)
    async with store.database.write() as tx:
        kept = await fleet_commands.add_facts(tx, LOCAL, [down(7), Fact("slice/pool-0", 1, ready)])
    assert kept == {"cluster": 7, "slice/pool-0": 1}
    assert [fact.source for fact in (await store.world()).facts] == ["cluster", "slice/pool-0"]
