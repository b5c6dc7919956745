"""Reported numbers, as columns. NaN and the infinities travel as text: every body is strict JSON."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.api.views import number_view
from orchestrator.domain.thinning import thinned
from orchestrator.store.queries import jobs, metrics
from orchestrator.store.queries.metrics import Point

router = APIRouter(prefix="/api/v1/jobs/{job}/metrics", tags=["metrics"])


class SeriesView(BaseModel):
    """Equally long columns, by step."""

    name: str
    steps: list[int]
    values: list[float | str]
    attempts: list[int]
    ranks: list[int]
    at_ms: list[int]

    @classmethod
    def of(cls, name: str, points: list[Point]) -> "SeriesView":
        return cls(
            name=name,
            steps=[point.step for point in points],
            values=[number_view(point.value) for point in points],
            attempts=[point.attempt for point in points],
            ranks=[point.rank for point in points],
            at_ms=[point.at_ms for point in points],
        )


class SeriesNames(BaseModel):
    items: list[str]


class MetricsView(BaseModel):
    items: list[SeriesView]

    @classmethod
    def of(cls, points: Iterable[Point]) -> "MetricsView":
        by_series = groupby(points, key=lambda point: point.series)
        return cls(items=[SeriesView.of(name, list(of_series)) for name, of_series in by_series])


@router.get("")
async def get_metrics(
    job: str,
    who: User,
    deps: WithDeps,
    series: Annotated[list[str] | None, Query()] = None,
    attempt: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    last: Annotated[int | None, Query(ge=1, le=10_000)] = None,
    points_each: Annotated[int | None, Query(ge=5, le=100_000, description="thins series, keeps min and max")] = None,
) -> MetricsView:
    """One point per step over all attempts, what restarts undid left out, after the curve of the job that it continues
    (attempt 0); with `attempt` all that it reported. With `last` only the last points of each series.
    """
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        if last is not None:
            return MetricsView.of(await metrics.last_points(tx, found.id, last, series or (), attempt))
        if attempt is None:
            shown = await metrics.curve(tx, found, series or (), who.projects)
        else:
            shown = await metrics.raw_points(tx, found.id, series or (), attempt)
    return MetricsView.of(shown if points_each is None else _thinned(shown, points_each))


@router.get("/names")
async def get_names(job: str, who: User, deps: WithDeps) -> SeriesNames:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        names = await metrics.names(tx, found.id)
    return SeriesNames(items=list(names))


def _thinned(points: Iterable[Point], most: int) -> Iterator[Point]:
    for _, of_series in groupby(points, key=lambda point: point.series):
        yield from thinned(list(of_series), most, lambda point: point.value)
