"""How many bytes a chip sends in one run of a compiled program, counted in its optimized HLO.

Each collective counts as its ring algorithm sends, times the trips of the loops around it. What is in doubt counts
rather too much than too little, and a loop whose trips are not known is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_BYTES = {
    "pred": 1, "s8": 1, "u8": 1, "f8e4m3fn": 1, "f8e5m2": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s32": 4,
    "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8,
}  # fmt: skip
_KINDS = ("all-gather", "reduce-scatter", "all-reduce", "all-to-all", "collective-permute")
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([a-z][\w\-]*)\((.*)$")
_ARRAY = re.compile(r"\b([a-z]+\d*(?:e\dm\d(?:fn)?)?)\[([\d,]*)\]")
_CALLED = re.compile(r"\b(?:calls|to_apply|body|called_computations)=\{?%?([\w.\-]+)")
_CONDITION = re.compile(r"\bcondition=%?([\w.\-]+)")
_LIMIT = re.compile(r", %?([\w.\-]+)\), direction=LT")
_KNOWN_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


@dataclass(frozen=True, slots=True)
class Sent:
    """One collective: its kind, number type, devices in a group, and what a device sends over all its trips."""

    kind: str
    dtype: str
    devices: int
    bytes: float
    name: str


@dataclass(frozen=True, slots=True)
class _Instruction:
    name: str
    result: str
    op: str
    rest: str
    is_root: bool


def sent(hlo: str) -> list[Sent]:
    """All collectives that the program runs. Raises ValueError where it cannot tell how often or to how many."""
    computations, entry = _read(hlo)
    return list(_of(entry, computations))


def by_kind(collectives: list[Sent]) -> dict[str, int]:
    """Bytes by kind and number type."""
    found: dict[str, float] = {}
    for each in collectives:
        key = f"{each.kind} {each.dtype}"
        found[key] = found.get(key, 0) + each.bytes
    return {key: round(found[key]) for key in sorted(found, key=lambda key: -found[key])}


def _read(hlo: str) -> tuple[dict[str, list[_Instruction]], str]:
    computations: dict[str, list[_Instruction]] = {}
    entry, current = "", list[_Instruction]()
    for line in hlo.splitlines():
        if (begins := _COMPUTATION.match(line)) is not None:
            current = computations.setdefault(begins[2], [])
            entry = begins[2] if begins[1] else entry
        elif (match := _INSTRUCTION.match(line)) is not None:
            current.append(_Instruction(match[2], match[3], match[4], match[5], match[1] is not None))
    if not entry:
        raise ValueError("this is no HLO text: it has no ENTRY")
    return computations, entry


def _of(name: str, computations: dict[str, list[_Instruction]]) -> Iterator[Sent]:
    for each in computations[name]:
        kind = each.op.removesuffix("-start")
        if kind in _KINDS:
            yield _sent(kind, each)
            continue
        called = _CALLED.findall(each.rest)
        inside = [one for name in called for one in _of(name, computations)]
        if each.op == "conditional" and any(_of_branches(each, computations)):
            raise ValueError(f"{each.name}: which branch runs, and its collectives with it, is not known")
        if not inside:
            continue
        trips = _trips(each, computations) if each.op == "while" else 1
        # The TPU's reduce-scatter by ring (emitter AllReduceScatterFusion) is written as a fusion of an all-reduce, of
        # which each device cuts its piece.
        scatters = [name for name in called if name.startswith("all-reduce-scatter")]
        for one in inside:
            halved = one.kind == "all-reduce" and scatters and computations[scatters[0]][-1].op == "dynamic-slice"
            kind, share = ("reduce-scatter", 0.5) if halved else (one.kind, 1.0)
            yield replace(one, kind=kind, bytes=one.bytes * share * trips)


def _of_branches(each: _Instruction, computations: dict[str, list[_Instruction]]) -> Iterator[Sent]:
    named = re.findall(r"(?:branch_computations=\{|(?:true|false)_computation=)([^}]*?)(?:\}|,|$)", each.rest)
    for branch in re.findall(r"[\w.\-]+", " ".join(named)):
        if branch in computations:
            yield from _of(branch, computations)


def _sent(kind: str, each: _Instruction) -> Sent:
    arrays = [
        (_BYTES[dtype] * math.prod(int(size) for size in sizes.split(",") if size), dtype)
        for dtype, sizes in _ARRAY.findall(each.result)
        if dtype in _BYTES
    ]
    largest, dtype = max(arrays)
    # The result of a start holds its operand beside what it makes; of these two one is the whole.
    whole = largest if each.op.endswith("-start") else sum(size for size, _ in arrays)
    devices = 2 if kind == "collective-permute" else _group(each)
    share = (devices - 1) / devices
    times = {
        "all-gather": share,
        "reduce-scatter": devices - 1 if not each.op.endswith("-start") else share,
        "all-reduce": 2 * share,
        "all-to-all": share,
        "collective-permute": 1.0,
    }
    return Sent(kind, dtype, devices, whole * times[kind], each.name)


def _group(each: _Instruction) -> int:
    """Devices in one of its replica groups, which HLO spells in three ways."""
    if (listed := re.search(r"replica_groups=\{\{([\d,]+)\}", each.rest)) is not None:
        return len(listed[1].split(","))
    if (counted := re.search(r"replica_groups=\[(\d+),(\d+)\]<=", each.rest)) is not None:
        return int(counted[2])
    if (mesh := re.search(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}", each.rest)) is not None:
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", mesh[1]))
        return math.prod(int(sizes[axis]) for axis in re.findall(r"'(\w+)'", mesh[2]))
    raise ValueError(f"{each.name}: its replica groups are spelled in a way that is not known here")


def _trips(loop: _Instruction, computations: dict[str, list[_Instruction]]) -> int:
    """From its annotation, else from a condition `counter < constant`: scans count from 0 by 1."""
    if (known := _KNOWN_TRIPS.search(loop.rest)) is not None:
        return int(known[1])
    condition = _CONDITION.search(loop.rest)
    instructions = {each.name: each for each in computations[condition[1]]} if condition else {}
    for each in instructions.values():
        compared = _LIMIT.search(each.rest) if each.op == "compare" and each.is_root else None
        if compared is not None and instructions[compared[1]].op == "constant":
            return int(instructions[compared[1]].rest.split(")")[0])
    raise ValueError(f"{loop.name}: how often this loop runs is not known")
