"""The server as a process, and the client that talks to it over a socket."""

import hashlib
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orchestrator.client import Client, ConflictError, InvalidError, NotFoundError, UnauthenticatedError, WaitTimeout
from orchestrator.settings import BadSettings, read_settings
from tests.emulated import until
from tests.orchestrator.client.server import Server
from tests.orchestrator.driver import Driver

SPEC = {"name": "toy", "program": {"command": ["true"]}, "slices": "v5e:2x4"}
CLEAN_STOP_S = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    state = tmp_path_factory.mktemp("server") / "state"
    state.mkdir(mode=0o755)  # as an older version, or somebody's mkdir, left it
    started = Server.start(state)
    yield started
    started.stop()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as opened:
        yield opened


def test_a_job_is_submitted_found_and_cancelled(client: Client) -> None:
    job = client.submit(SPEC | {"name": "first"})
    assert client.job("first")["id"] == job["id"]
    assert client.jobs(name="first")["items"][0]["state"] == "QUEUED"
    client.cancel("first")
    ended = client.wait("first", timeout_s=10)
    assert (ended["state"], ended["reason"]) == ("CANCELLED", "cancelled")
    assert client.cancel("first")["state"] == "CANCELLED"
    assert client.events("first")[0]["kind"] == "job.submitted"
    assert (client.attempts("first"), client.metrics("first"), client.checkpoints("first")) == ([], [], [])
    assert list(client.logs("first", follow=True)) == []


def test_errors_carry_what_the_problem_says(client: Client, server: Server) -> None:
    with pytest.raises(InvalidError) as refused:
        client.submit(SPEC | {"nmae": "x"})
    assert [fault.path for fault in refused.value.faults] == ["nmae"]
    assert (refused.value.status, refused.value.kind) == (422, "urn:podwright:problem:invalid-input")
    with pytest.raises(NotFoundError):
        client.job("no/such/../job")
    client.submit(SPEC, idempotency_key="k")
    with pytest.raises(ConflictError):
        client.submit(SPEC | {"name": "other"}, idempotency_key="k")
    with Client(server.url, "wrong") as stranger, pytest.raises(UnauthenticatedError):
        stranger.jobs()


def test_wait_gives_up_at_its_deadline(client: Client) -> None:
    client.submit(SPEC | {"name": "patient"})
    with pytest.raises(WaitTimeout, match="QUEUED"):
        client.wait("patient", timeout_s=0.1)


def test_events_are_followed_from_the_first_and_as_they_happen(client: Client, server: Server) -> None:
    job = client.submit(SPEC | {"name": "followed"})
    with server.client() as another:
        following = another.follow_events(job["id"])
        assert next(following)["kind"] == "job.submitted"
        client.cancel(job["id"])
        assert next(following)["kind"] == "job.cancel_requested"
        following.close()


def test_a_stream_resumes_after_last_event_id(client: Client, server: Server) -> None:
    job = client.submit(SPEC | {"name": "resumed"})
    client.cancel(job["id"])
    client.wait(job["id"], timeout_s=10)
    seen = [event["id"] for event in client.events(job["id"])]
    headers = {"Authorization": f"Bearer {server.token()}", "Last-Event-ID": str(seen[0])}
    ids = []
    with httpx.stream("GET", f"{server.url}/api/v1/events/stream?job={job['id']}", headers=headers) as answer:
        for line in answer.iter_lines():
            if line.startswith("id:"):
                ids.append(int(line.removeprefix("id:")))
            if len(ids) == len(seen) - 1:
                break
    assert ids == seen[1:]


def test_secrets_are_files_that_only_the_owner_reads(server: Server) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in server.state_dir.iterdir() if path.is_file()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(server.state_dir.stat().st_mode) == 0o700


def test_the_server_stops_cleanly_under_open_streams_and_comes_back_where_it_was(tmp_path: Path) -> None:
    first = Server.start(tmp_path / "state")
    url, token = first.url, first.token()
    with first.client() as client:
        job = client.submit(SPEC)
    as_cluster = {"Authorization": f"Bearer {first.token('cluster')}"}
    revision = httpx.get(f"{url}/api/v1/link/orders", headers=as_cluster).json()["revision"]
    with first.client() as client:
        seen_at_ms = client.fleet.clusters()[0]["seen_at_ms"]
    open_ended = (("events/stream", "admin"), (f"link/orders?revision={revision}", "cluster"))
    polling = []
    for path, kind in open_ended:
        opened = threading.Event()
        polling.append(threading.Thread(target=_hold, args=(f"{url}/api/v1/{path}", first.token(kind), opened)))
        polling[-1].start()
        assert kind == "cluster" or opened.wait(10)
    with first.client() as client:
        # The poll's answer does not begin before there is news; that the cluster was seen again says that it is held.
        until(lambda: client.fleet.clusters()[0]["seen_at_ms"] > seen_at_ms or None, "the poll is held", 10)
    assert first.stop() < CLEAN_STOP_S, first.log
    for thread in polling:
        thread.join(5)
    assert first.process.returncode == 0, first.log
    second = Server.start(tmp_path / "state")
    try:
        assert (second.url, second.token()) == (url, token)
        with second.client() as client:
            client.cancel(job["id"])
            # At once, not after the old lease has lapsed: it was given back.
            assert client.wait(job["id"], timeout_s=4)["state"] == "CANCELLED"
        assert token not in second.log
    finally:
        second.stop()


def test_what_a_killed_server_had_accepted_or_ordered_its_successor_runs_once(tmp_path: Path) -> None:
    server = Server.start(tmp_path / "state")
    cluster = Driver(lambda: (server,), slices=1)
    try:
        with server.client() as client, httpx.Client() as http:
            cluster.tell(http, f"{server.url}/api/v1")
            ordered = client.submit(SPEC)["id"]  # there is a slice: an order goes out, which nobody hears
            until(lambda: client.job(ordered)["state"] == "STARTING" or None, "it is ordered")
            accepted = [client.submit(SPEC)["id"] for _ in range(3)]
            unwanted = client.submit(SPEC)["id"]
            client.cancel(unwanted)
            server.kill()
        server = Server.start(tmp_path / "state", "--lease-seconds", "1")
        cluster.start()
        with server.client() as client:
            for job in (ordered, *accepted):
                ended = client.wait(job, timeout_s=60)
                assert (ended["state"], ended["attempts"]) == ("SUCCEEDED", 1)
            assert client.wait(unwanted, timeout_s=60)["state"] == "CANCELLED"
        cluster.stop()
        assert sorted(job for job, _ in cluster.cluster.starts) == sorted((ordered, *accepted))
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("pod", False)]
)
def test_a_host_that_others_reach_needs_to_be_allowed(host: str, loopback: bool) -> None:
    asked = ["--state-dir", "state", "--host", host]
    assert read_settings([*asked, "--allow-remote"], {}).loopback is loopback
    if not loopback:
        with pytest.raises(BadSettings, match="--allow-remote"):
            read_settings(asked, {})


def _hold(url: str, token: str, opened: threading.Event) -> None:
    """Read an answer until the server ends it; sets `opened` when it begins."""
    try:
        with httpx.stream("GET", url, headers={"Authorization": f"Bearer {token}"}, timeout=30) as answer:
            opened.set()
            for _ in answer.iter_bytes():
                pass
    except httpx.TransportError:
        pass


def test_a_folder_in_a_spec_is_uploaded_once_and_the_job_names_its_digest(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "main.py").write_text("print('from a bundle')")
    spec = SPEC | {"program": {"command": ["python", "main.py"], "code": "code"}}
    with server.client() as client:
        first, again = (client.submit(spec, folder=tmp_path) for _ in range(2))
        digest = first["spec"]["program"]["code"]
        assert (len(digest), again["spec"]["program"]["code"]) == (64, digest)
        [found] = client.bundles.list("default")["items"]
        assert (found["digest"], found["files"], found["dirty"]) == (digest, 1, None)
        assert hashlib.sha256(b"".join(client.bundles.download("default", digest))).hexdigest() == digest
        with pytest.raises(ConflictError):
            client.bundles.remove("default", digest)
