"""Projects, users, tokens, quotas, secrets, webhooks and the fleet from the command line, against a live server."""

import json

from tests.orchestrator.cli.conftest import Podwright


def test_a_project_from_its_making_to_its_removal(podwright: Podwright) -> None:
    assert podwright("projects", "create", "vision", "--weight", "2").code == 0
    assert podwright("users", "create", "ada").code == 0
    assert podwright("projects", "admit", "vision", "ada", "submitter").out == "ada is submitter of vision\n"
    assert json.loads(podwright("projects", "members", "vision", "--json").out)[0]["user"] == "ada"
    assert "vision" in podwright("projects", "list").out
    assert podwright("quotas", "set", "vision", "--guarantee", "8", "--limit", "16").out == (
        "vision in all pools: 8 chips guaranteed, at most 16\n"
    )
    assert podwright("quotas", "list", "vision").out.splitlines()[1].split() == ["*", "8", "16"]
    assert podwright("quotas", "remove", "vision").code == 0
    assert podwright("quotas", "list", "vision").out == "vision has no quota: it takes its share\n"
    assert podwright("projects", "expel", "vision", "ada").code == 0
    assert podwright("projects", "remove", "vision").out == "project vision is removed\n"
    assert podwright("projects", "members", "vision").code == 1


def test_a_secret_is_read_from_a_pipe_and_never_shown(podwright: Podwright) -> None:
    done = podwright("secrets", "set", "default", "HF_TOKEN", stdin="hush-hush\n")
    assert done.out == "HF_TOKEN is set; a job of default gets it with: secrets: [HF_TOKEN]\n"
    shown = podwright("secrets", "list", "default")
    assert "HF_TOKEN" in shown.out
    assert "hush" not in shown.out + shown.err
    assert podwright("secrets", "remove", "default", "HF_TOKEN").code == 0
    assert podwright("secrets", "set", "default", "EMPTY").code == 2


def test_a_token_is_shown_once_works_and_is_revoked(podwright: Podwright) -> None:
    podwright("users", "create", "grace")
    made = json.loads(podwright("tokens", "create", "laptop", "--user", "grace", "--days", "1", "--json").out)
    assert made["token"] not in podwright("tokens", "list", "--json").out
    assert podwright("tokens", "revoke", made["id"]).code == 0
    assert podwright("users", "disable", "grace").out == "grace is disabled\n"
    assert podwright("users", "enable", "grace").code == 0


def test_webhooks_tell_their_key_once(podwright: Podwright) -> None:
    done = podwright("webhooks", "add", "default", "https://hooks.example/x", "--kind", "job.ended")
    assert "its key, shown only now: " in done.out
    [hook] = json.loads(podwright("webhooks", "list", "default", "--json").out)
    assert podwright("webhooks", "deliveries", "default", hook["id"]).out == "nothing was posted yet\n"
    assert podwright("webhooks", "remove", "default", hook["id"]).code == 0
    assert podwright("webhooks", "list", "default").out == "default has no webhooks\n"


def test_an_empty_fleet_says_so_and_what_is_not_there_cannot_be_drained(podwright: Podwright) -> None:
    assert podwright("pools", "list").out.startswith("no pools")
    assert podwright("hosts").out == "no hosts: no slice is up\n"
    assert podwright("clusters").out == "no cluster has connected yet\n"
    for verb in ("cordon", "drain", "quarantine", "readmit"):
        refused = podwright(verb, "slice-x", "--reason", "smoke")
        assert refused.code in (1, 2)
        assert "slice-x" in refused.err
    assert podwright("cordon", "x", "--pool", "--host", "1", "--reason", "r").code == 2
