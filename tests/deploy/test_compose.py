"""compose.yaml and the Dockerfile name only what is there: files, options, variables."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.settings import read_settings
from tests.deploy.release import DEPLOY, REPOSITORY
from workers.cluster.main import _parser as cluster_parser
from workers.cluster.providers import ray

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
GIVEN = {
    "POSTGRES_PASSWORD": "secret",
    "PODWRIGHT_SERVER": "http://10.0.0.5:8470",
    "PODWRIGHT_LISTEN": "10.0.0.5",
    "PODWRIGHT_CHECKPOINTS": "gs://bucket/checkpoints",
}


def filled_in(value: str) -> str:
    return re.sub(r"\$\{(\w+)[^}]*\}", lambda name: GIVEN[name[1]], value)


def test_every_variable_is_in_the_example_and_the_other_way_round() -> None:
    used = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    named = set(re.findall(r"^(\w+)=", (DEPLOY / "env.example").read_text(), re.MULTILINE))
    assert used == named == set(GIVEN)


def test_the_servers_are_told_what_their_settings_know() -> None:
    module, *options = map(filled_in, SERVICES["server"]["command"])
    environ = {name: filled_in(value) for name, value in SERVICES["server"]["environment"].items()}
    settings = read_settings(options, environ)
    assert module == "orchestrator.main"
    assert settings.database_url == "postgresql://podwright:secret@postgres/podwright"
    assert settings.checkpoint_root == "gs://bucket/checkpoints"
    assert [(token.kind, token.name, token.made) for token in settings.tokens] == [
        ("admin", "root", False),
        ("cluster", "pod", False),
    ]
    assert SERVICES["server"]["deploy"] == {"replicas": 2}
    # What two servers must share is not in a folder of one container alone.
    mounted = [volume.split(":")[1] for volume in SERVICES["server"]["volumes"]] + ["/run/secrets"]
    for shared in (settings.blobs, settings.server_key_file, *(token.path for token in settings.tokens)):
        assert any(shared.is_relative_to(folder) for folder in mounted), shared


def test_the_ray_head_is_told_what_its_parser_knows() -> None:
    module, *options = map(filled_in, SERVICES["ray-head"]["command"])
    given = ray._parser().parse_args(options)
    assert (module, given.role, given.server) == ("workers.cluster.providers.ray", "head", GIVEN["PODWRIGHT_SERVER"])
    started = ["--ray", "10.0.0.5:6379", "--server", given.server, "--token-file", str(given.token_file)]
    assert cluster_parser().parse_args([*started, "--work-dir", str(given.work_dir)]).ray == "10.0.0.5:6379"


@pytest.mark.parametrize("service", SERVICES)
def test_secrets_volumes_and_services_that_are_named_are_declared(service: str) -> None:
    told = SERVICES[service]
    assert set(told.get("secrets", ())) <= set(COMPOSE["secrets"])
    assert {volume.split(":")[0] for volume in told.get("volumes", ())} <= set(COMPOSE["volumes"])
    assert set(told.get("depends_on", ())) <= set(SERVICES)
    for awaited in told.get("depends_on", ()):
        assert "healthcheck" in SERVICES[awaited]
    read = {Path(path).name for path in re.findall(r"/run/secrets/\w+", str(told))}
    assert read == set(told.get("secrets", ()))


def test_prepare_makes_every_secret_that_compose_mounts() -> None:
    made = re.findall(r"(\w+):\w*", re.search(r"for pair in (.+); do", (DEPLOY / "prepare.sh").read_text())[1])  # type: ignore[index]
    assert {f"secrets/{name}" for name in made} == {secret["file"] for secret in COMPOSE["secrets"].values()}


def test_the_image_copies_what_is_there_and_runs_as_nobody_special() -> None:
    copied = [
        name for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE) for name in line.split()[:-1]
    ]
    assert [name for name in copied if not (REPOSITORY / name).exists()] == []
    allowed = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert set(copied) == allowed
    last = DOCKERFILE.split("\nFROM ")[-1]
    assert re.search(r"^USER 10001$", last, re.MULTILINE)
    assert last.index("USER") < last.index("ENTRYPOINT")
    command = yaml.safe_load(re.search(r"^CMD (.+)$", last, re.MULTILINE)[1])  # type: ignore[index]
    assert read_settings(command[1:], {}).port == 8470


def test_nothing_is_installed_but_by_hash() -> None:
    steps = re.findall(r"pip install|-m pip .*install.*|uv pip.*", DOCKERFILE)
    assert all("--require-hashes" in step for step in steps)
    script = (DEPLOY / "install.sh").read_text()
    assert '--require-hashes -r "$file"' in script
    assert '--no-deps --force-reinstall "$file"' in script
