"""Faults of real ranks on a real Ray cluster, and the verdict on each: the labels come from evidence, never from us.

The other faults of the table are tried without Ray, in `tests/workers/slice/test_faults.py`.
"""

import sys
from dataclasses import replace

import pytest

from orchestrator.domain.incident import Cause
from orchestrator.incidents.card import with_card
from orchestrator.incidents.verdict import judge
from orchestrator.protocol import FactBody, GangEnded, RunOrder
from tests.workers.cluster.rig import Rig, an_order
from tests.workers.faults import FAULTS, LIMITS, RANK

pytestmark = pytest.mark.ray

SLICE = "emulated-v5e-0"


@pytest.mark.parametrize("fault", ["stopped", "never joins"])
def test_a_fault_is_found_and_the_right_rank_blamed(rig: Rig, fault: str) -> None:
    program, blamed, words = FAULTS[fault]
    rig.wait_for_slice(SLICE)
    name = fault.replace(" ", "-")
    rig.plane.order(patient(an_order(name, SLICE, sys.executable, "-c", RANK + program)))
    cause = cause_of(rig, name)
    assert (cause.reason, cause.rank) == blamed
    assert words in cause.sentence
    assert cause.card is not None
    assert cause.card.detect_ms is not None
    assert [one.rank for one in cause.card.collateral] == [1 - blamed[1]]


def patient(order: RunOrder) -> RunOrder:
    return replace(order, limits=LIMITS)


def cause_of(rig: Rig, attempt_id: str) -> Cause:
    def look(body: FactBody) -> GangEnded | None:
        return body if isinstance(body, GangEnded) and body.attempt_id == attempt_id else None

    found = rig.plane.wait_for(look, f"{attempt_id} ended")
    rig.plane.withdraw(attempt_id)
    cause = judge(found.trouble, found.message, found.exits, None, launched=True, overdue=found.overdue)
    cause = with_card(cause, found.exits, found.detected_at_ms, found.last_sign_at_ms, found.overdue)
    print(f"{attempt_id}: {cause.reason}, detected after {cause.card and cause.card.detect_ms} ms: {cause.sentence}")
    return cause
