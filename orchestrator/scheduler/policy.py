"""`Policy`: every choice of the scheduler that a site may make, as one value. Strict FIFO and EASY are values too."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS


class Order(StrEnum):
    """Who goes first within a band."""

    SUBMITTED = "submitted"
    SLOWDOWN = "slowdown"
    """Highest expected slowdown, (waited + runtime) / runtime: short jobs soon, and every job in the end."""


class FairShare(StrEnum):
    """What the recent use of a project does to its jobs' place."""

    OFF = "off"
    TEMPERS = "tempers"
    """The slowdown is divided by how many times its fair share the project has used: no one starves."""
    LEADS = "leads"
    """Projects are put in levels of over-use (powers of two) first; the slowdown decides within a level."""


class Backfill(StrEnum):
    """Who may pass a blocked job."""

    NOBODY = "nobody"
    """Strict: behind a blocked job nothing starts in the pools that it could use."""
    RESERVED = "reserved"
    """Whoever does not delay the reservations of the first blocked jobs, by the estimates."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How to schedule. The defaults and their reasons are in `docs/reference/scheduler.md`."""

    order: Order = Order.SLOWDOWN
    fair_share: FairShare = FairShare.TEMPERS
    usage_half_life_ms: int = 7 * DAY_MS
    slowdown_bound_ms: int = 10_000
    """Jobs shorter than this count as this long: Feitelson's bounded slowdown."""
    backfill: Backfill = Backfill.RESERVED
    reservations: int = 1
    """Blocked jobs per pool whose slices are kept by name."""
    unknown_runtime_ms: int = DAY_MS
    """Assumed where there is neither an estimate nor a history."""
    evict: bool = True
    min_runtime_ms: int = 2 * MINUTE_MS
    """A gang is not evicted or resized earlier; doubled by each eviction that the job has had, so nothing flaps."""
    restart_ms: int = MINUTE_MS
    """What stopping and starting again is assumed to cost where it was not measured."""
    patience_ms: int = 2 * MINUTE_MS
    """Nobody is evicted for a job that starts by itself within this time."""
    claims_at_once: int = 8
    """Jobs for which victims are asked to go in one plan; the next plan asks for more."""
    resize_worth_ms: int = 10 * MINUTE_MS
    """An elastic gang grows only if it runs for at least this long yet."""
    notice_ms: int = 2 * MINUTE_MS
    """Gangs are told to save and go this long before a maintenance window opens."""
    ask_after_ms: int = MINUTE_MS
    """A job has waited this long before capacity is asked for it."""
    idle_after_ms: int = 15 * MINUTE_MS
    """A slice has been idle this long, and nobody could use it, before it is let go."""


DEFAULT: Final = Policy()
FIFO: Final = Policy(
    order=Order.SUBMITTED, fair_share=FairShare.OFF, backfill=Backfill.NOBODY, evict=False, min_runtime_ms=0
)
EASY: Final = Policy(order=Order.SUBMITTED, fair_share=FairShare.OFF, reservations=1, evict=False, min_runtime_ms=0)
"""Lifka, "The ANL/IBM SP scheduling system" (1995): aggressive backfill, one reservation."""

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        "default": DEFAULT,
        "fifo": FIFO,
        "easy": EASY,
        "slowdown": Policy(fair_share=FairShare.OFF),
        "share-first": Policy(fair_share=FairShare.LEADS),
    }
)
"""The policies that have a name on the command line."""
