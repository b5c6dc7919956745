"""`why` for people: reasons, an estimated start with its range, ways out, and what is said when there are none."""

from typing import Any

from orchestrator.cli.remote.why import why_page

NOW, MINUTE = 1_000_000_000, 60_000
JOB = {"name": "shakespeare", "id": "job_1"}
WAITS: dict[str, Any] = {
    "state": "QUEUED",
    "waits": True,
    "message": "",
    "blockers": [{"kind": "busy", "says": "wants v5e:4x4: 1 of that shape are up, 0 free, 1 needed", "counts": {}}],
    "place": 3,
    "of": 12,
    "start": {"at_ms": NOW + 12 * MINUTE, "earliest_ms": NOW + 4 * MINUTE, "latest_ms": NOW + 36 * MINUTE},
    "not_before_ms": None,
    "as_of_ms": NOW - 3_000,
    "ways_out": [{"says": "take v5e:2x4 (8 chips)", "jobs": []}, {"says": "priority: production", "jobs": []}],
    "ways_as_of_ms": NOW,
}


def page(**changed: Any) -> list[str]:
    return [line.plain.strip() for line in why_page(JOB, WAITS | changed, NOW)]


def test_a_job_that_waits_gets_reasons_a_start_and_ways_out() -> None:
    head, waits, start, first, second, age = page()
    assert head == "shakespeare  job_1  QUEUED, 3rd of 12 that wait for slices"
    assert waits == "waits     wants v5e:4x4: 1 of that shape are up, 0 free, 1 needed"
    assert start.startswith("start     probably in 12m 00s (")
    assert start.endswith("between 4m 00s and 36m 00s from now")
    assert (first, second) == ("ways out  take v5e:2x4 (8 chips)", "priority: production")
    assert age == "as of 3.0 s ago"


def test_a_job_that_does_not_wait_says_so_and_nothing_else() -> None:
    ended = page(state="FAILED", waits=False, message="rank 0 exited with 1\x1b[31m", place=None)
    assert ended == ["shakespeare  job_1  FAILED", r"it does not wait: rank 0 exited with 1\x1b[31m"]


def test_what_is_not_known_is_not_made_up() -> None:
    assert "start     not within 5m 00s" in page(start=None, not_before_ms=NOW + 5 * MINUTE)
    assert "start     not known yet" in page(start=None, as_of_ms=None)
    assert any("never, as things are" in line for line in page(start=None))
    assert "ways out  no single change would start it now" in page(ways_out=[])
    assert not any("ways out" in line for line in page(ways_out=[], ways_as_of_ms=None))


def test_places_are_ordinals() -> None:
    said = {place: page(place=place)[0].split(", ")[1].split()[0] for place in (1, 2, 11, 12, 22, 113)}
    assert list(said.values()) == ["1st", "2nd", "11th", "12th", "22nd", "113th"]
