"""`chain`: real attempts, one after the other, on an empty storage; once in a folder and once in a bucket."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fakes.bucket_server import BucketServer
from tests.workers.rank.forks import Forks, forking


@dataclass
class ForkServers:
    """One process that forks for each kind of storage: importing JAX and Orbax takes most of an attempt."""

    stack: ExitStack
    started: dict[str, Forks] = field(default_factory=dict)

    def of(self, kind: str, folder: Path, variables: Mapping[str, str]) -> Forks:
        if kind not in self.started:
            self.started[kind] = self.stack.enter_context(forking(folder / "server", variables))
        forks = self.started[kind]
        forks.attempt, forks.folder = 0, folder
        return forks


@pytest.fixture(scope="session")
def fork_servers() -> Iterator[ForkServers]:
    with ExitStack() as stack:
        yield ForkServers(stack)


@pytest.fixture(params=["folder", "bucket"])
def chain(request: pytest.FixtureRequest, fork_servers: ForkServers, tmp_path: Path) -> tuple[Forks, str]:
    """(the next attempts, the address of their storage)"""
    if request.param == "folder":
        return fork_servers.of("folder", tmp_path, {}), str(tmp_path / "checkpoints")
    server: BucketServer = request.getfixturevalue("bucket_server")
    return fork_servers.of("bucket", tmp_path, server.variables), server.address(uuid.uuid4().hex)
