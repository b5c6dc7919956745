"""Each project's decayed use of the fleet, kept up to date as the virtual clock moves."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace

from orchestrator.domain.sharing import Project
from orchestrator.scheduler.share import accrued, decayed


class UsageMeter:
    """Chip-milliseconds by project, halved with each half-life."""

    def __init__(self, projects: Mapping[str, Project], half_life_ms: int) -> None:
        self._projects = dict(projects)
        self._half_life_ms = half_life_ms
        self._used: defaultdict[str, float] = defaultdict(float)
        self._held: Counter[str] = Counter()
        self._at_ms = 0

    def hold(self, project: str, chips: int) -> None:
        """From now on the project holds so many chips more; negative: fewer."""
        self._held[project] += chips

    def advance(self, now_ms: int) -> None:
        span = now_ms - self._at_ms
        if span <= 0:
            return
        self._at_ms = now_ms
        kept, per_chip = decayed(1, span, self._half_life_ms), accrued(1, span, self._half_life_ms)
        for project in self._used.keys() | self._held.keys():
            self._used[project] = self._used[project] * kept + self._held[project] * per_chip

    def projects(self) -> dict[str, Project]:
        """Every project that is known or has used something."""
        found = dict(self._projects)
        for name, used in self._used.items():
            known = self._projects.get(name)
            found[name] = Project(name, used) if known is None else replace(known, usage_chip_ms=used)
        return found
