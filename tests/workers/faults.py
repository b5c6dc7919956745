"""Programs whose ranks come to grief, each with the verdict that is right: (program, (reason, rank), words)."""

from orchestrator.domain.endings import Reason
from orchestrator.domain.patience import Patience, limits_of

LIMITS = limits_of(Patience(init="5s", step="4s"), hosts=2, builtin=False)
RANK = "import os, sys, time, signal; rank = int(os.environ['PODWRIGHT_RANK'])\n"
STEPS = (
    "def say(step):\n"
    "  with open(os.environ['PODWRIGHT_SPOOL'], 'a') as spool:\n"
    '    spool.write(\'{"type": "progress", "step": %d}\\n\' % step)\n'
    "for step in range(5): say(step); time.sleep(0.7)\n"
)
MEET = (
    "import socket; host, port = os.environ['PODWRIGHT_COORDINATOR'].split(':')\n"
    "def meet():\n"
    "  if rank == 0: here = socket.create_server((host, int(port))); here.accept()\n"
    "  else: socket.create_connection((host, int(port)))\n"
    "  time.sleep(600)\n"
)
FAULTS = {
    "stopped": (
        STEPS + "if rank == 1: os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(600)",
        (Reason.STALLED, 1),
        "/1 was stopped, as by SIGSTOP",
    ),
    "never joins": (
        MEET + "def busy(): time.sleep(600)\nbusy() if rank == 1 else meet()",
        (Reason.INIT_TIMEOUT, 1),
        "stood in busy (",
    ),
    "host memory": (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))\n"
        "if rank == 0: time.sleep(600)\nheld = [bytearray(2**26) for _ in range(9)]",
        (Reason.HOST_OOM, 1),
        "exited with code 1: MemoryError",
    ),
    "killed": (
        "if rank == 0: os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(600)",
        (Reason.PROGRAM_ERROR, 0),
        "was killed by SIGKILL (killed)",
    ),
    "a port of its own": (
        "import socket; s = socket.create_server(('127.0.0.1', 0))\n"
        "if rank == 0: socket.create_server(s.getsockname())\ntime.sleep(600)",
        (Reason.PROGRAM_ERROR, 0),
        "Address already in use",
    ),
}
