"""One measured figure as one line of JSON."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, what is wanted of it, and how it was measured."""

    figure: str
    value: float
    unit: str
    goal: str
    met: bool
    how: str

    def line(self) -> str:
        fields = {slot: getattr(self, slot) for slot in self.__slots__}
        return json.dumps(fields | {"value": round(self.value, 4)}, ensure_ascii=False)


def at_most(figure: str, value: float, limit: float, unit: str, how: str, goal: str = "") -> Figure:
    return Figure(figure, value, unit, goal or f"at most {limit:,.4g}", value <= limit, how)


def within(figure: str, value: float, wanted: float, share: float, unit: str, how: str) -> Figure:
    return Figure(figure, value, unit, f"{wanted:,.0f} within {share:.0%}", abs(value - wanted) <= share * wanted, how)
