"""What the scheduler wishes of each pool that has limits, as it is kept."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from orchestrator.domain.ids import ClusterId, SliceId
from orchestrator.domain.job import Slice
from orchestrator.domain.sharing import PoolLimits, PoolWish
from orchestrator.scheduler.snapshot import OfferedSlice
from orchestrator.scheduler.wishes import Ask, LetGo, Wish

PoolKey = tuple[ClusterId, str]


def with_pending(
    limits: Iterable[PoolLimits], known: Iterable[Slice], offered: Iterable[OfferedSlice]
) -> tuple[PoolLimits, ...]:
    """The limits, and as pending what is known of each pool and cannot be used now: it is expected back."""
    there = {one.id for one in offered}
    away = Counter((one.cluster_id, one.pool) for one in known if one.id not in there)
    return tuple(replace(one, pending=away[one.cluster_id, str(one.pool)]) for one in limits)


def by_pool(
    wishes: Sequence[Wish], limits: Sequence[PoolLimits], pool_of: Mapping[SliceId, PoolKey], now_ms: int
) -> dict[PoolKey, PoolWish]:
    """What is wished of each pool that has limits; of some nothing."""
    found = {(one.cluster_id, str(one.pool)): PoolWish(0, (), now_ms) for one in limits}
    for wish in wishes:
        match wish:
            case Ask(cluster_id, pool, _, count):
                found[cluster_id, pool] = PoolWish(count, (), now_ms)
            case LetGo(slice_id):
                known = found[pool_of[slice_id]]
                found[pool_of[slice_id]] = PoolWish(0, (*known.let_go, slice_id), now_ms)
    return found
