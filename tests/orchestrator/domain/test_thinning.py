import math

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.thinning import thinned

values = st.lists(st.floats(), max_size=300)


def identity(value: float) -> float:
    return value


@given(values, st.integers(5, 60))
def test_thinning_keeps_the_extremes_and_the_ends_and_no_more_than_asked(found: list[float], most: int) -> None:
    kept = thinned(found, most, identity)
    assert len(kept) <= max(most, 5)
    finite = [value for value in found if math.isfinite(value)]
    if finite:
        kept_finite = [value for value in kept if math.isfinite(value)]
        assert (min(kept_finite), max(kept_finite)) == (min(finite), max(finite))
    assert any(math.isnan(value) for value in kept) <= any(math.isnan(value) for value in found)
    assert all(math.isfinite(value) for value in found) == all(math.isfinite(value) for value in kept)


@given(values)
def test_few_points_stay_as_they_are(found: list[float]) -> None:
    assert thinned(found, 300, identity) == tuple(found)
