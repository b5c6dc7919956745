"""Nested quotas: what a project, its team and its organisation hold, are sure of, and may not exceed. In chips."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.domain.ids import SliceId
from orchestrator.domain.sharing import Project, Quota
from orchestrator.scheduler.snapshot import RunningGang


@dataclass(frozen=True, slots=True)
class OverLimit:
    """A limit that a start would exceed."""

    owner: str
    pool: str | None
    wants_chips: int
    used_chips: int
    limit_chips: int

    @property
    def says(self) -> str:
        where = f"in pool {self.pool}" if self.pool else "in all pools"
        return (
            f"{self.owner} uses {self.used_chips} of its limit of {self.limit_chips} chips {where}; "
            f"{self.wants_chips} more would exceed it"
        )


class Meter:
    """What every owner of a quota uses, kept up to date within one plan."""

    def __init__(
        self,
        quotas: Iterable[Quota],
        projects: Mapping[str, Project],
        running: Iterable[RunningGang],
        pool_of: Mapping[SliceId, str],
    ) -> None:
        self._projects = projects
        self._quotas: defaultdict[str, list[Quota]] = defaultdict(list)
        for quota in quotas:
            self._quotas[quota.owner].append(quota)
        self._used: Counter[tuple[str, str | None]] = Counter()
        for gang in running:
            self.take(gang.project, pool_of.get(gang.slices[0], ""), gang.chips)

    def take(self, project: str, pool: str, chips: int) -> None:
        """Count chips to a project and all that hold it; negative gives them back."""
        for owner in self._owners(project):
            self._used[owner, pool] += chips
            self._used[owner, None] += chips

    def over_limit(self, project: str, pool: str, chips: int) -> OverLimit | None:
        """The first limit, from the project upwards, that `chips` more in `pool` would exceed."""
        for quota in self._quotas_of(project, pool):
            used = self._used[quota.owner, quota.pool]
            if quota.limit_chips is not None and used + chips > quota.limit_chips:
                return OverLimit(quota.owner, quota.pool, chips, used, quota.limit_chips)
        return None

    def guarantor(self, project: str, pool: str, chips: int) -> str | None:
        """Who is owed `chips` in `pool`: the project, or a group that holds it, whose guarantee covers them."""
        for quota in self._quotas_of(project, pool):
            if quota.guarantee_chips and self._used[quota.owner, quota.pool] + chips <= quota.guarantee_chips:
                return quota.owner
        return None

    def lends(self, project: str, pool: str, chips: int, to: str) -> bool:
        """Whether `chips` that the project holds in `pool` are borrowed, and may be called back for owner `to`.

        They are not if `to` holds the project too, or if a guarantee of the project's own would be broken.
        """
        if to in self._owners(project):
            return False
        return all(
            self._used[quota.owner, quota.pool] - chips >= quota.guarantee_chips
            for quota in self._quotas_of(project, pool)
            if quota.guarantee_chips
        )

    def _owners(self, project: str) -> tuple[str, ...]:
        known = self._projects.get(project)
        return (project, *known.parents) if known else (project,)

    def _quotas_of(self, project: str, pool: str) -> list[Quota]:
        owners = self._owners(project)
        return [quota for owner in owners for quota in self._quotas.get(owner, ()) if quota.pool in (None, pool)]
