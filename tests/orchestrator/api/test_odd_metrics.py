"""Non-finite and odd metrics, steps out of order: what is good is kept, what is not is skipped and counted, and every
answer is JSON that any strict reader takes (cases B28 and B29)."""

import json
from typing import Any

import pytest

from orchestrator.store import strict_json
from tests.builders import NOW
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio

ODD_NAMES = ["loss/训练 α", "x" * 300, "a.b", "UPPER", "emoji 🚀", 'quote"', "new\tline"]


def line(step: object, *, raw: str | None = None, **values: object) -> str:
    spelled = raw if raw is not None else json.dumps(values)
    return f'{{"type": "metrics", "at_ms": {NOW}, "step": {json.dumps(step)}, "values": {spelled}}}\n'


async def report(rig: Rig, attempt: str, text: str, offset: int = 0, rank: int = 0) -> int:
    answer = await rig.post(attempt, text.encode(), offset=offset, rank=rank)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["offsets"][0]["offset"])


async def series(rig: Rig, query: str = "") -> dict[str, dict[str, Any]]:
    answer = await rig.user.get(f"/api/v1/jobs/toy/metrics{query}")
    strict_json.parse(answer.content)
    return {one["name"]: one for one in answer.json()["items"]}


VALUES = [
    ('"NaN"', "NaN"),
    ('"Infinity"', "Infinity"),
    ('"-Infinity"', "-Infinity"),
    ("-0.0", 0.0),
    ("1e308", 1e308),
    ("9007199254740993", 9007199254740992.0),
    ("NaN", None),
    ("Infinity", None),
    ("-Infinity", None),
    ("1e309", None),
    ('"1.0"', None),
    ("true", None),
    ("null", None),
    ("[1]", None),
    ("{}", None),
]


async def test_each_value_comes_back_as_documented_or_is_skipped_alone(rig: Rig) -> None:
    attempt = (await rig.running())["attempt"]["id"]
    offset, bare = 0, ("NaN", "Infinity", "-Infinity", "1e309")
    for number, (spelled, _) in enumerate(VALUES):
        text = line(2 * number, raw=f'{{"odd/{number}": {spelled}, "good": 1.5}}') + line(2 * number + 1, good=2.5)
        offset = await report(rig, attempt, text, offset)
    found = await series(rig)
    for number, (spelled, shown) in enumerate(VALUES):
        assert found.get(f"odd/{number}", {"values": []})["values"] == ([] if shown is None else [shown]), spelled
    # Bare NaN makes the line no JSON: it is skipped whole; its neighbours are kept.
    kept = [2 * number for number, (spelled, _) in enumerate(VALUES) if spelled not in bare]
    assert found["good"]["steps"] == sorted([*kept, *(2 * number + 1 for number in range(len(VALUES)))])
    events = (await rig.user.get("/api/v1/jobs/toy/events")).json()["items"]
    assert [one["kind"] for one in events].count("spool.invalid") == 1


async def test_a_nan_in_one_of_five_series_leaves_the_others_to_be_drawn(rig: Rig) -> None:
    attempt = (await rig.running())["attempt"]["id"]
    await report(rig, attempt, "".join(line(step, a=1, b=2, c="NaN", d=4, e=5) for step in range(3)))
    found = await series(rig, "?points_each=5")
    assert {name: one["values"] for name, one in found.items()} == {
        "a": [1.0] * 3,
        "b": [2.0] * 3,
        "c": ["NaN"] * 3,
        "d": [4.0] * 3,
        "e": [5.0] * 3,
    }


async def test_odd_names_and_two_thousand_of_them_are_kept(rig: Rig) -> None:
    attempt = (await rig.running())["attempt"]["id"]
    text = line(1, **dict.fromkeys(ODD_NAMES, 1.0)) + line(2, **{f"key/{n}": n for n in range(2_000)})
    assert await report(rig, attempt, text) == len(text.encode())
    found = await series(rig)
    assert set(ODD_NAMES) <= set(found)
    assert len(found) == len(ODD_NAMES) + 2_000
    names = (await rig.user.get("/api/v1/jobs/toy/metrics/names")).json()["items"]
    assert sorted(names) == sorted(found)
    one = await rig.user.get("/api/v1/jobs/toy/metrics", params={"series": ODD_NAMES[0]})
    assert [each["name"] for each in one.json()["items"]] == [ODD_NAMES[0]]


async def test_steps_and_times_that_are_none_are_skipped_and_their_neighbours_are_kept(rig: Rig) -> None:
    attempt = (await rig.running())["attempt"]["id"]
    offset = 0
    steps = (line(step, loss=9) for step in (-1, "5", 1.5, True, None, 2**63, [1]))
    times = ("253402300800000", "9223372036854775807", "-1", "1e3", '"5"', "null")
    odd = [*steps, *(line(1, loss=9).replace(f'"at_ms": {NOW}', f'"at_ms": {at}') for at in times)]
    for good, text in enumerate(odd):
        offset = await report(rig, attempt, text + line(good, loss=good), offset)
    assert (await series(rig))["loss"]["values"] == [float(n) for n in range(len(odd))]


async def test_steps_out_of_order_repeated_and_of_two_ranks_make_one_sorted_series(rig: Rig) -> None:
    attempt = (await rig.running())["attempt"]["id"]
    batches = [line(5, loss=5), line(3, loss=3), line(4, loss=4)]
    offset = 0
    for batch in batches:
        again = offset
        offset = await report(rig, attempt, batch, offset)
        assert await report(rig, attempt, batch, again) == offset, "the same batch twice"
    await report(rig, attempt, line(5, loss=50) + line(6, loss=60), rank=1)
    await report(rig, attempt, line(2**53 + 1, loss=7), offset)
    joined = (await series(rig))["loss"]
    assert joined["steps"] == [3, 4, 5, 6, 2**53 + 1]
    assert joined["values"] == [3.0, 4.0, 5.0, 60.0, 7.0]
    raw = (await series(rig, "?attempt=1"))["loss"]
    assert sorted(zip(raw["steps"], raw["ranks"], strict=True)) == [
        (3, 0),
        (4, 0),
        (5, 0),
        (5, 1),
        (6, 1),
        (2**53 + 1, 0),
    ]
