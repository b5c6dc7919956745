"""`bucket_server`: a storage server for the session; `root`: an empty storage, once in a folder, once in a bucket."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest

from tests.fakes.bucket_server import BucketServer, serving
from workers.storage import Storage, open_storage


@pytest.fixture(scope="session")
def _bucket_server() -> Iterator[BucketServer]:
    with serving() as server:
        before = {name: os.environ.get(name) for name in server.variables}
        os.environ.update(server.variables)
        yield server
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@pytest.fixture
def bucket_server(_bucket_server: BucketServer) -> Iterator[BucketServer]:
    """The session's server, with no fault set."""
    _bucket_server.proxy.break_()
    yield _bucket_server
    _bucket_server.proxy.break_()


@pytest.fixture(params=["folder", "bucket"])
def root(request: pytest.FixtureRequest) -> Storage:
    """An empty storage."""
    if request.param == "folder":
        return open_storage(str(request.getfixturevalue("tmp_path") / "checkpoints"))
    server: BucketServer = request.getfixturevalue("bucket_server")
    return open_storage(server.address(uuid.uuid4().hex))
