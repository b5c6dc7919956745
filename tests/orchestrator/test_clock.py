"""Time that decisions may rely on."""

from orchestrator.clock import SteadyWall

HOUR = 3_600_000


class Clocks:
    """A wall clock that may be set, and one that only counts."""

    def __init__(self) -> None:
        self.wall, self.count = 1_000_000_000, 5_000

    def passes(self, span_ms: int) -> None:
        self.wall += span_ms
        self.count += span_ms

    def steady(self) -> SteadyWall:
        return SteadyWall(lambda: self.wall, lambda: self.count)


def test_it_is_the_wall_clock_while_nobody_sets_that():
    clocks = Clocks()
    steady = clocks.steady()
    for span in (1, 999, HOUR):
        clocks.passes(span)
        assert steady.now_ms() == clocks.wall


def test_a_wall_clock_that_is_set_moves_no_deadline_at_once():
    for set_by in (HOUR, -HOUR):
        clocks = Clocks()
        steady = clocks.steady()
        before = steady.now_ms()
        clocks.wall += set_by
        assert steady.now_ms() == before
        clocks.passes(60_000)
        assert abs(steady.now_ms() - before - 60_000) <= 3_000


def test_it_comes_round_to_the_new_wall_time_and_never_goes_back():
    clocks = Clocks()
    steady = clocks.steady()
    clocks.wall -= HOUR
    last = steady.now_ms()
    for _ in range(21 * 60):
        clocks.passes(60_000)
        now = steady.now_ms()
        assert now > last
        last = now
    assert last == clocks.wall
