"""Which reason an exception stands for, and which exceptions only echo another rank's end."""

from __future__ import annotations

import pytest

from orchestrator.domain.endings import Reason
from workers.rank import failure


class JaxError(RuntimeError):
    """Like jax.errors.JaxRuntimeError, which says what XLA said."""

    __module__ = "jax.errors"


KNOWN = [failure.NanLoss, failure.NothingRestorable, failure.StorageUnavailable, failure.InvalidProgram]


@pytest.mark.parametrize("kind", KNOWN)
def test_a_known_failure_carries_a_reason_of_the_endings_table(kind):
    assert failure.reason_of(kind("why")) == kind.reason
    assert kind.reason in set(Reason)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (failure.Superseded("late"), "superseded"),
        (JaxError("RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes"), "hbm_oom"),
        (RuntimeError("RESOURCE_EXHAUSTED: the user's own words"), "program_error"),
        (KeyError("loss"), "program_error"),
    ],
)
def test_reason_of(error, reason):
    assert failure.reason_of(error) == reason


@pytest.mark.parametrize(
    ("error", "echo"),
    [
        (JaxError("INTERNAL: Gloo AllReduce failed: Connection closed by peer [127.0.0.1]:1234"), True),
        (JaxError("UNAVAILABLE: The coordination service found tasks unhealthy"), True),
        (JaxError("INVALID_ARGUMENT: shapes do not match"), False),
        (failure.StorageUnavailable("connection reset by peer"), False),
    ],
)
def test_is_echo(error, echo):
    assert failure.is_echo(error) is echo
