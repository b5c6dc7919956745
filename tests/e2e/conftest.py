"""A Podwright for each file of end-to-end tests: the cluster is the session's, and only one process may drive it."""

from collections.abc import Iterator

import pytest

from tests.e2e.podwright import Podwright
from tests.emulated import Emulated


@pytest.fixture(scope="module")
def whole_podwright(emulated: Emulated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podwright]:
    podwright = Podwright(tmp_path_factory.mktemp("podwright"), emulated)
    try:
        podwright.start_server()
        podwright.start_workers()
        yield podwright
    finally:
        podwright.stop()


@pytest.fixture
def podwright(whole_podwright: Podwright) -> Podwright:
    """With both slices up and free, whatever the test before did to them."""
    whole_podwright.wait_for_slices()
    return whole_podwright
