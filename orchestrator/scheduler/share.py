"""Weighted fair share: how many times its share a project has used lately. Pure arithmetic."""

from collections.abc import Iterable, Mapping

from orchestrator.domain.sharing import Project


def decayed(usage_chip_ms: float, span_ms: float, half_life_ms: float) -> float:
    """What is left of a use after `span_ms`: half of it after each half-life."""
    return float(usage_chip_ms * 0.5 ** (span_ms / half_life_ms))


def accrued(chips: int, span_ms: float, half_life_ms: float) -> float:
    """The decayed use, at its end, of `chips` held for `span_ms`: the integral of chips * 0.5 ** (age / half-life)."""
    mean_life = half_life_ms / 0.6931471805599453
    return float(chips * mean_life * (1 - 0.5 ** (span_ms / half_life_ms)))


def overuse(projects: Mapping[str, Project], waiting: Iterable[str]) -> dict[str, float]:
    """For each project that counts (it waits, or has used something): its use over its fair share.

    With u the decayed use and w the weight: (u / sum of u) / (w / sum of w). 1 is its exact share, 2 twice as much, 0
    nothing yet. When nobody has used anything it is 0 for all.
    """
    counting = {name: projects.get(name) or Project(name) for name in waiting}
    counting |= {name: project for name, project in projects.items() if project.usage_chip_ms > 0}
    used = sum(project.usage_chip_ms for project in counting.values())
    weights = sum(project.weight for project in counting.values())
    if used <= 0:
        return dict.fromkeys(counting, 0.0)
    return {name: (project.usage_chip_ms / used) * (weights / project.weight) for name, project in counting.items()}
