"""The SDK's nouns against a real server: every method once, with what it changes seen by another."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.client import ApiError, Client, ConflictError, NotFoundError
from tests.emulated import until
from tests.orchestrator.client.server import Server

SPEC = {"name": "toy", "program": {"command": ["true"]}, "slices": "v5e:2x4"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    server = Server.start(tmp_path_factory.mktemp("nouns") / "state")
    with server.client() as opened:
        yield opened
    server.stop()


def test_projects_their_members_quotas_and_secrets(client: Client) -> None:
    projects, made = client.projects, client.projects.create("research", description="ours", weight=2)
    client.users.create("ann")
    assert [one["name"] for one in projects.list()] == ["default", "research"]
    changed = projects.change("research", weight=3, version=made["version"])
    assert (changed["weight"], changed["description"]) == (3, "ours")
    with pytest.raises(ApiError) as stale:
        projects.change("research", weight=4, version=made["version"])
    assert (stale.value.status, projects.get("research")["weight"]) == (412, 3)
    projects.put_member("research", "ann", "submitter")
    assert {one["user"]: one["role"] for one in projects.members("research")} == {"ann": "submitter"}
    projects.put_quota("research", guarantee_chips=8)
    assert [(one["pool"], one["guarantee_chips"]) for one in projects.quotas("research")] == [("*", 8)]
    projects.put_secret("research", "KEY", "value")
    assert [(one["name"], one["version"]) for one in projects.secrets("research")] == [("KEY", 1)]
    assert projects.usage("research")["attempts"] == 0
    with pytest.raises(ConflictError):
        projects.remove("research")
    projects.remove_secret("research", "KEY")
    projects.remove_quota("research")
    projects.remove_member("research", "ann")
    projects.remove("research")
    with pytest.raises(NotFoundError):
        projects.get("research")


def test_users_and_tokens(client: Client) -> None:
    users = client.users
    users.create("bob")
    assert users.me()["admin"] is True
    assert users.change("bob", disabled=True)["disabled"] is True
    assert users.get("bob")["admin"] is False
    assert "bob" in [one["name"] for one in users.list()]
    users.change("bob", disabled=False)
    made = users.make_token("laptop", user="bob", scope="read", expires_in_s=3600)
    assert made["token"].startswith("pwt_")
    assert made["id"] in [one["id"] for one in users.tokens()]
    users.revoke_token(made["id"])
    assert made["id"] not in [one["id"] for one in users.tokens()]


def test_webhooks_and_notifications(client: Client) -> None:
    made = client.webhooks.add("default", "https://example.org/hook", ["job."])
    assert [one["id"] for one in client.webhooks.list("default")] == [made["id"]]
    assert client.webhooks.deliveries("default", made["id"])["items"] == []
    client.webhooks.remove("default", made["id"])
    job = client.submit(SPEC | {"notify": [{"webhook": "https://example.org/x"}]})
    assert client.webhooks.notifications(job["id"])["items"] == []


def test_what_is_wanted_of_jobs(client: Client) -> None:
    intent, job = client.intent, client.submit(SPEC | {"name": "wanted"})
    # A tick writes once why the job waits, which is a change too.
    seen = until(lambda: ((now := client.job(job["id"]))["message"] and now) or None, "the job says why it waits")
    held = intent.hold(job["id"], version=seen["version"])
    assert held["desired"] == "held"
    with pytest.raises(ApiError) as stale:
        intent.release(job["id"], version=seen["version"])
    assert stale.value.status == 412
    intent.release(job["id"])
    assert intent.change_priority(job["id"], "batch/1")["priority"] == "batch/1"
    assert intent.clone(job["id"], {"name": "again"})["origin"] == job["id"]
    with pytest.raises(ConflictError):
        intent.retry(job["id"])
    many = intent.submit_many([SPEC | {"name": f"many-{n}"} for n in range(3)])
    assert len(many["items"]) == 3
    array = intent.submit_array(SPEC | {"name": "array"}, grid={"env_vars.A": ["1", "2"]}, at_once=1)
    assert len(intent.array(array["id"])["jobs"]) == 2
    dry = intent.ask_many("cancel", {"name": "many-1"}, dry_run=True)
    assert (dry["dry_run"], len(dry["asked"])) == (True, 1)
    assert len(intent.ask_many("cancel", {"all": True})["asked"]) >= 6


def test_the_fleet_is_listed_and_what_is_not_there_is_not_restricted(client: Client) -> None:
    fleet = client.fleet
    assert (client.pools.list(), fleet.slices(), fleet.hosts()) == ([], [], [])
    assert isinstance(fleet.clusters(), list)
    for ask in (
        lambda: fleet.restrict_pool("none", "cordon", "test"),
        lambda: fleet.restrict_slice("none", "drain", "test"),
        lambda: fleet.restrict_host("none", 0, "quarantine", "test"),
    ):
        with pytest.raises(NotFoundError):
            ask()


def test_bundles_are_paged_and_removed(client: Client, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("1")
    digest = client.bundles.upload("default", tmp_path)["digest"]
    assert [one["digest"] for one in client.bundles.list("default")["items"]] == [digest]
    client.bundles.remove("default", digest)
    assert client.bundles.list("default")["items"] == []
