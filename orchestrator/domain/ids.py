"""Typed identifiers. Ids are made by the control plane, never reused, and never parsed for meaning."""

from collections.abc import Callable
from typing import NewType

JobId = NewType("JobId", str)
ArrayId = NewType("ArrayId", str)
AttemptId = NewType("AttemptId", str)
ClusterId = NewType("ClusterId", str)
PoolName = NewType("PoolName", str)
SliceId = NewType("SliceId", str)

NewId = Callable[[str], str]
"""Makes a fresh id with the given prefix: `new_id("job") -> "job_7k3f…"`."""
