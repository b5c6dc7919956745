"""What in a job's folder is nobody's, and since when."""

from workers.rank.orphans import find
from workers.storage import Stored

DAY = 86_400_000
NOW = 10 * DAY


def stored(path, days_old=5.0, size=10):
    return Stored(path, size, updated_ms=round(NOW - days_old * DAY))


def found(*objects, newest_attempt=3):
    return find(objects, newest_attempt, NOW, DAY)


def test_a_committed_or_quarantined_step_is_no_orphan():
    steps = [stored("1/5/data"), stored("1/5.manifest.json"), stored("1/6/data"), stored("1/6.quarantined.json")]
    assert found(*steps, stored("LATEST"), stored(".LATEST.lock")).orphans == ()


def test_left_overs_of_dead_attempts_go_after_their_age_and_not_before():
    result = found(
        stored("1/7/data"),
        stored("1/8.orbax-checkpoint-tmp/x"),
        stored("2/9/old"),
        stored("2/9/young", days_old=0.5),
    )
    assert (result.orphans, result.young, result.orphan_bytes) == (("1/7", "1/8.orbax-checkpoint-tmp"), ("2/9",), 20)


def test_the_newest_attempt_may_be_alive_and_is_spared():
    result = found(stored("3/7/data"), stored("4/7/data"))
    assert (result.orphans, result.young) == ((), ())


def test_foreign_objects_are_told_and_never_touched():
    result = found(stored("notes.txt"), stored("backup/5/data"), stored("1/readme"), stored("1/100/data"))
    assert (result.orphans, result.foreign) == (("1/100",), ("1/readme", "backup/5/data", "notes.txt"))
