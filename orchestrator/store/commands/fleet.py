"""What clusters tell: that they are there, and what they saw."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Final

import structlog
from sqlalchemy import delete, insert, select, update

from orchestrator.domain.ids import ClusterId
from orchestrator.domain.job import Event
from orchestrator.protocol import Fact, FactBody, SliceDown, SliceUp
from orchestrator.store import rows
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import attempts, clusters, fact_sources, facts, hosts, slices

_NEWS_AFTER_MS: Final = 30_000
"""A cluster that was silent for this long and speaks again may change what the scheduler can do."""

log = structlog.get_logger()


async def see_cluster(tx: WriteTx, cluster_id: ClusterId, now_ms: int) -> None:
    """Note that the cluster's process spoke."""
    seen = (await tx.ask(select(clusters.c.seen_at_ms).where(clusters.c.id == cluster_id))).scalar_one_or_none()
    if seen is None:
        # Begins at the wall clock and not at 1: a cluster that outlived a lost database must not find its old revision.
        await tx.tell(insert(clusters).values(id=cluster_id, seen_at_ms=now_ms, order_revision=now_ms))
    else:
        await tx.tell(update(clusters).where(clusters.c.id == cluster_id).values(seen_at_ms=now_ms))
    if seen is None or now_ms - seen > _NEWS_AFTER_MS:
        await events.stir(tx)


async def note_storage(tx: WriteTx, cluster_id: ClusterId, fault: str | None, now_ms: int) -> None:
    """Keep why the cluster cannot write checkpoints, or that it can; only news is an event."""
    await see_cluster(tx, cluster_id, now_ms)
    this = clusters.c.id == cluster_id
    known: str | None = (await tx.ask(select(clusters.c.storage_fault).where(this))).scalar_one()
    if known == fault:
        return
    await tx.tell(update(clusters).where(this).values(storage_fault=fault and fault[:2000]))
    if (known is None) != (fault is None):
        kind = "cluster.storage_restored" if fault is None else "cluster.storage_refused"
        says = "can write checkpoints again" if fault is None else f"cannot write checkpoints: {fault}"
        await events.append(tx, [Event(kind, now_ms, f"{cluster_id} {says}"[:2000])])
    await events.stir(tx)


async def add_facts(tx: WriteTx, cluster_id: ClusterId, seen: Iterable[Fact]) -> Mapping[str, int]:
    """Keep the facts that are new, each source's in order; for each source the highest number that is kept by now.

    Facts about what belongs to another cluster are dropped, and acknowledged lest they come again for ever.
    """
    acknowledged: dict[str, int] = {}
    in_order = sorted(seen, key=lambda fact: (fact.source, fact.sequence))
    for source, of_source in groupby(in_order, key=lambda fact: fact.source):
        acknowledged[source] = await _add_facts_of(tx, cluster_id, source, of_source)
    return acknowledged


async def _add_facts_of(tx: WriteTx, cluster_id: ClusterId, source: str, seen: Iterable[Fact]) -> int:
    mine = (fact_sources.c.cluster_id == cluster_id) & (fact_sources.c.source == source)
    before = (await tx.ask(select(fact_sources.c.acknowledged).where(mine))).scalar_one_or_none() or 0
    new = {fact.sequence: fact for fact in seen if fact.sequence > before}
    if not new:
        return before
    foreign = await _foreign(tx, cluster_id, [fact.body for fact in new.values()])
    added = [
        {
            "cluster_id": cluster_id,
            "source": source,
            "sequence": fact.sequence,
            "body": rows.FACT_BODY.dump_json(fact.body).decode(),
        }
        for fact in new.values()
        if _subject(fact.body) not in foreign
    ]
    if added:
        await tx.tell(insert(facts), added)
    if len(added) < len(new):
        dropped = len(new) - len(added)
        log.warning("facts about another cluster were dropped", cluster=cluster_id, source=source, count=dropped)
    for fact in new.values():
        if isinstance(fact.body, SliceUp) and fact.body.slice_id not in foreign:
            await _describe_hosts(tx, fact.body)
    high = max(new)
    await tx.put(fact_sources, [{"cluster_id": cluster_id, "source": source, "acknowledged": high}])
    await events.stir(tx)
    return high


async def _foreign(tx: WriteTx, cluster_id: ClusterId, bodies: Iterable[FactBody]) -> frozenset[str]:
    """Ids of the attempts and slices among them that another cluster has. What is not known yet is nobody's."""
    subjects = {_subject(body) for body in bodies}
    found: set[str] = set()
    for table in (attempts, slices):
        asked = select(table.c.id).where(table.c.id.in_(subjects), table.c.cluster_id != cluster_id)
        found.update((await tx.ask(asked)).scalars())
    return frozenset(found)


def _subject(body: FactBody) -> str:
    return body.slice_id if isinstance(body, SliceUp | SliceDown) else body.attempt_id


async def _describe_hosts(tx: WriteTx, up: SliceUp) -> None:
    """Keep who a slice's hosts are: for people; no decision rests on it."""
    await tx.tell(delete(hosts).where(hosts.c.slice_id == up.slice_id))
    described = [
        {"slice_id": up.slice_id, "host": h.host, "node_id": h.node_id, "address": h.address, "chips": h.chips}
        for h in up.hosts
    ]
    await tx.put(hosts, described)
