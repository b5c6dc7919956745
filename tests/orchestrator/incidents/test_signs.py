"""Which kind of end a rank's own signs stand for, and which they do not."""

import signal

import pytest

from orchestrator.domain.endings import Reason
from orchestrator.domain.incident import Claim
from orchestrator.incidents.signs import is_echo, reason_of
from tests.builders import an_exit

HBM = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes."
TPU = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 22.05G of 15.75G hbm."
QUOTA = "google.api_core.exceptions.ResourceExhausted: 429 RESOURCE_EXHAUSTED: Too many requests"
GRPC = (
    "client.h:80] Terminating process because the JAX distributed service detected fatal errors. absl::Status:"
    " DEADLINE_EXCEEDED: Deadline Exceeded",
    "RPC: /xla.coordination.CoordinationService/RegisterTask",
)
TABLE = tuple(f"  buffer {n}: 1.0G" for n in range(30))

SIGNS = {
    "device memory": ({"code": 1, "stderr_tail": (HBM,)}, Reason.HBM_OOM),
    "device memory, with a table of buffers after it": ({"code": 1, "stderr_tail": (TPU, *TABLE)}, Reason.HBM_OOM),
    "device memory, that a built-in program only calls an error": (
        {"code": 1, "claim": Claim("program_error", HBM)},
        Reason.HBM_OOM,
    ),
    "a storage server that has had too much": ({"code": 1, "stderr_tail": (QUOTA,)}, Reason.PROGRAM_ERROR),
    "host memory, as Python sees it": ({"code": 1, "stderr_tail": ("Traceback", "MemoryError")}, Reason.HOST_OOM),
    "host memory, as numpy sees it": (
        {"code": 1, "stderr_tail": ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 9 TiB",)},
        Reason.HOST_OOM,
    ),
    "a MemoryError that was only logged, long before": (
        {"code": 1, "stderr_tail": ("MemoryError", *TABLE, "ValueError: no")},
        Reason.PROGRAM_ERROR,
    ),
    "killed with evidence": ({"signal": signal.SIGKILL, "memory": "the OOM killer"}, Reason.HOST_OOM),
    "killed without evidence": ({"signal": signal.SIGKILL}, Reason.PROGRAM_ERROR),
    "disk": ({"code": 1, "stderr_tail": ("OSError: [Errno 28] No space left on device",)}, Reason.DISK_FULL),
    "a bus error on a full disk": ({"signal": signal.SIGBUS, "disk": "its disk was full"}, Reason.DISK_FULL),
    "a bus error": ({"signal": signal.SIGBUS}, Reason.PROGRAM_ERROR),
    "the barrier": ({"signal": signal.SIGABRT, "stderr_tail": GRPC}, Reason.INIT_TIMEOUT),
    "a deadline after some steps": (
        {"signal": signal.SIGABRT, "stderr_tail": GRPC, "last_step": 7},
        Reason.PROGRAM_ERROR,
    ),
    "not a number": ({"code": 1, "claim": Claim("nan_loss", "loss became nan")}, Reason.NAN_LOSS),
}


@pytest.mark.parametrize("case", SIGNS)
def test_the_reason_follows_from_signs(case: str) -> None:
    fields, reason = SIGNS[case]
    assert reason_of(an_exit(**fields)) is reason


def test_an_abort_of_its_own_is_no_echo() -> None:
    assert not is_echo(an_exit(signal=signal.SIGABRT, stderr_tail=("assertion failed",)))
    assert is_echo(an_exit(signal=signal.SIGABRT, stderr_tail=("Gloo: Connection closed by peer",)))
