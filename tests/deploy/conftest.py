"""The wheel, built once."""

from pathlib import Path

import pytest

from tests.deploy.release import build_wheel, environment_with


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="package")
def python_with_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment_with(wheel, tmp_path_factory.mktemp("installed") / "venv")
