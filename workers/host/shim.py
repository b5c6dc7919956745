"""Runs one rank and ends everything it started: `python -I -S shim.py LAUNCH_FILE AGENT_PID`.

A script of its own, standard library only, so that it starts in milliseconds. It is the session leader and subreaper of
the rank: whatever the program forks, also what calls setsid, stays below it and is killed when the rank exits, when the
agent dies, or on SIGINT or SIGHUP. SIGTERM goes on to the rank's process group, which may take its time.

Reads LAUNCH_FILE (JSON: argv, env, folder, code, oom_score_adj), which may hold secrets, and removes it; writes one
line `{"pid": …, "started_at_ms": …}` to stdout, and at the end `exit.json`.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
NOT_FOUND = 127
NOT_RUNNABLE = 126
LISTENS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
SWEEP_S = 0.02
PROGRAM_FOLDER = "cwd"


def main() -> int:
    launch_file, agent = Path(sys.argv[1]), int(sys.argv[2])
    signal.pthread_sigmask(signal.SIG_SETMASK, LISTENS)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an ignored SIGCHLD, inherited, would hide every exit
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGHUP, 0, 0, 0)
    if os.getppid() != agent:
        return 1  # the agent died before the line above
    launch = json.loads(launch_file.read_text(encoding="utf-8"))
    launch_file.unlink()
    os.chdir(launch["folder"])
    rank = start(launch, prctl)
    sys.stdout.write(json.dumps({"pid": rank, "started_at_ms": now_ms()}) + "\n")
    sys.stdout.close()  # the agent reads to the end of the line, and no further
    status, ordered, exited_at_ms = wait(rank)
    sweep()
    write_exit(status, ordered, exited_at_ms)
    return 0


def start(launch: dict[str, Any], prctl: Any) -> int:
    """Fork the rank into a session of its own, its output in files; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        write_oom_score(launch["oom_score_adj"])
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open("stdout.log", flags, 0o600), 1)
        os.dup2(os.open("stderr.log", flags, 0o600), 2)
        os.closerange(3, 256)
        # A folder of the program's own: what it removes or writes there is not our evidence of how it went.
        Path(PROGRAM_FOLDER).mkdir(mode=0o700, exist_ok=True)
        os.chdir(launch["code"] or PROGRAM_FOLDER)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        execute(launch["argv"], launch["env"])
    finally:
        os._exit(NOT_RUNNABLE)


def execute(argv: list[str], env: dict[str, str]) -> None:
    """Become the program, or say on stderr and in the spool why it cannot run, with a shell's exit code."""
    try:
        os.execvpe(argv[0], argv, env)
    except FileNotFoundError:
        why, code = "no such file", NOT_FOUND
    except PermissionError:
        why, code = "permission denied", NOT_RUNNABLE
    except (OSError, ValueError) as error:
        why, code = str(getattr(error, "strerror", None) or error), NOT_RUNNABLE
    message = f"cannot run {argv[0]!r}: {why}"
    os.write(2, f"podwright: {message}\n".encode("utf-8", "replace"))
    claim = {"type": "failure", "reason": "invalid_program", "message": message}
    spool = os.open(env["PODWRIGHT_SPOOL"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(spool, (json.dumps(claim) + "\n").encode())
    os._exit(code)


def wait(rank: int) -> tuple[int, bool, int]:
    """Serve signals until the rank exits: (wait status, whether we ended it or told it to end, when)."""
    ordered = False
    while True:
        number = signal.sigwaitinfo(LISTENS).si_signo
        # Reap before obeying: a rank that died a moment before the order did so on its own.
        status = reap(rank)
        if status is not None:
            return status, ordered, now_ms()
        if number == signal.SIGTERM:
            ordered = True
            signal_group(rank, signal.SIGTERM)
        elif number in (signal.SIGINT, signal.SIGHUP):
            ordered = True
            signal_group(rank, signal.SIGKILL)


def reap(rank: int) -> int | None:
    """Collect every child that ended; the rank's wait status if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == rank:
            found = status


def signal_group(rank: int, number: int) -> None:
    """Once to the rank's group, which it leads and cannot leave; to the rank alone while it has not made one yet.

    Never both: a program that leaves on its first SIGTERM has put the handler away when a second one arrives, and would
    be killed by it instead of choosing its exit.
    """
    try:
        os.killpg(rank, number)
    except ProcessLookupError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rank, number)


def sweep() -> None:
    """SIGKILL all descendants until none is left. Orphans become our children, so none gets away."""
    while True:
        left = descendants()
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap(0)
        time.sleep(SWEEP_S)


def descendants() -> list[int]:
    """All processes below this one, zombies included."""
    parent_of = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                # The command, in parentheses, may itself hold spaces and parentheses.
                parent_of[int(entry.name)] = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
    found: list[int] = []
    level = {os.getpid()}
    while level:
        level = {pid for pid, parent in parent_of.items() if parent in level}
        found.extend(level)
    return found


def write_oom_score(score: int) -> None:
    """Let the kernel take this process first when memory runs out. Some sandboxes do not let us."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(score), encoding="ascii")


def write_exit(status: int, ordered: bool, exited_at_ms: int) -> None:
    """In one rename: an agent never reads half of it."""
    signaled = os.WIFSIGNALED(status)
    report = {
        "exit_code": None if signaled else os.WEXITSTATUS(status),
        "signal": os.WTERMSIG(status) if signaled else None,
        "ordered": ordered,
        "exited_at_ms": exited_at_ms,
    }
    partial = Path("exit.partial")
    partial.write_text(json.dumps(report), encoding="utf-8")
    partial.replace("exit.json")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    sys.exit(main())
