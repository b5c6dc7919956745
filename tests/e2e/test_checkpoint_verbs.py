"""`podwright checkpoints …` and `podwright continue` as a person types them: a real server, real errands on real files.

The cluster is played (a slice that is up, an attempt that reports commits), so that no Ray is needed.
"""

import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orchestrator.clock import SystemClock
from orchestrator.protocol import (
    ERRANDS_POST,
    FACTS_POST,
    INGEST_POST,
    ORDERS,
    VERSION,
    Chunk,
    ErrandsPost,
    Fact,
    FactsPost,
    HostInfo,
    IngestPost,
    Orders,
    SliceUp,
)
from tests.builders import a_slice
from tests.e2e.podwright import Podwright
from tests.emulated import until
from workers.cluster.errands import perform
from workers.rank import latest, manifest
from workers.rank.manifest import Commit
from workers.storage import open_storage

pytestmark = pytest.mark.timeout(300)

NOW = SystemClock().now_ms()
STEPS = (4, 8, 12)


class PlayedCluster:
    """One slice; does what errands ask for until it is closed."""

    def __init__(self, podwright: Podwright) -> None:
        token = (podwright.state_dir / "cluster.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._link = httpx.Client(base_url=f"{podwright.url}/api/v1", headers=headers, timeout=60, trust_env=False)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        known = a_slice()
        hosts = tuple(HostInfo(host, f"node-{host}", "127.0.0.1", 4) for host in range(2))
        up = SliceUp("slice_up", known.id, known.incarnation, "pool", str(known.shape), "spot", hosts, NOW)
        facts = FACTS_POST.dump_json(FactsPost(VERSION, (Fact("tests", 1, up),)))
        self._link.post("/link/facts", content=facts).raise_for_status()
        self._thread.start()

    def orders(self) -> Orders:
        return ORDERS.validate_json(self._link.get("/link/orders", params={"revision": -1}).content)

    def report(self, orders: Orders, *records: dict) -> None:
        data = b"".join(json.dumps({"at_ms": NOW, **one}).encode() + b"\n" for one in records)
        post = IngestPost(VERSION, (Chunk(0, "spool", 0, base64.b64encode(data).decode()),))
        headers = {"Authorization": f"Bearer {orders.runs[0].token}"}
        path = f"/ingest/{orders.runs[0].attempt_id}"
        self._link.post(path, content=INGEST_POST.dump_json(post), headers=headers).raise_for_status()

    def close(self) -> None:
        self._closed.set()
        self._thread.join(60)

    def _serve(self) -> None:
        while not self._closed.wait(0.1):
            done = tuple(perform(order, NOW) for order in self.orders().errands)
            if done:
                self._link.post("/link/errands", content=ERRANDS_POST.dump_json(ErrandsPost(VERSION, done)))


@pytest.fixture(scope="module")
def podwright(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podwright]:
    podwright = Podwright(tmp_path_factory.mktemp("verbs"), None)  # type: ignore[arg-type]  # no cluster of its own
    try:
        podwright.start_server()
        yield podwright
    finally:
        podwright.stop()


@pytest.fixture
def source(podwright: Podwright) -> Iterator[Path]:
    """The checkpoint folder of the job `source`, whose attempt has committed `STEPS`."""
    cluster = PlayedCluster(podwright)
    try:
        job_id = podwright.submit("source", "sleep", "60", checkpoint={"keep_last": 5})
        orders = until(lambda: found if (found := cluster.orders()).runs else None, "the attempt is ordered")
        root = open_storage(orders.runs[0].checkpoint.root)
        latest.claim(root, 1, "a")
        told = []
        for step in STEPS:
            root.write(f"1/{step}/state/array", bytes(range(100)))
            manifest.write(root, Commit(1, step))
            latest.advance(root, 1, "a", step, f"1/{step}")
            told.append({"type": "metrics", "step": step, "values": {"loss": 1 / step}})
            told.append({"type": "checkpoint", "event": "committed", "step": step, "path": f"1/{step}", "bytes": 100})
        cluster.report(orders, *told)
        assert root.address.endswith(job_id)
        yield Path(root.address)
    finally:
        cluster.close()


def test_checkpoints_are_shown_verified_pinned_copied_deleted_and_continued_from(
    podwright: Podwright, source: Path, tmp_path: Path
) -> None:
    def said(*words: str, code: int = 0) -> str:
        done = podwright.cli(*words)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def states() -> dict[int, str]:
        return {one["step"]: one["state"] for one in podwright.client.checkpoints("source")}

    listed = said("checkpoints", "list", "source")
    assert all(word in listed for word in ("4", "8", "12", "newest", "last"))
    shown = json.loads(said("checkpoints", "show", "source", "8", "--json"))
    assert (shown["path"], shown["state"], shown["metrics"]) == ("1/8", "committed", {"loss": 0.125})
    assert "intact: 100 bytes read" in said("checkpoints", "verify", "source", "8")
    assert "0 orphans deleted" in said("checkpoints", "orphans", "source")
    assert "is pinned" in said("checkpoints", "pin", "source", "4", "--note", "the paper's")
    assert "unpin it first" in said("checkpoints", "delete", "source", "4", code=1)
    assert "newest commit" in said("checkpoints", "delete", "source", "12", code=1)
    assert "100 bytes copied to" in said("checkpoints", "export", "source", "4", str(tmp_path / "out"))
    assert manifest.verify(open_storage(str(tmp_path / "out")), Commit(1, 4)) is None
    assert "is deleting" in said("checkpoints", "delete", "source", "8")
    until(lambda: states()[8] == "deleted" or None, "step 8 is deleted")
    assert not (source / "1" / "8").exists()

    told = said("continue", "source", "--from", "4", "--set", "name=tuned", "--set", "max_wait=1h")
    assert f"it begins at {source.name}/1/4" in told
    assert "name: source -> tuned" in told
    assert "max_wait: unlimited -> 1h" in told

    (source / "1" / "4" / "state" / "array").write_bytes(bytes(99))
    assert "has 99 bytes instead of 100" in said("checkpoints", "verify", "source", "4", code=1)
    assert states() == {4: "quarantined", 8: "deleted", 12: "committed"}
    assert "is quarantined" in said("continue", "source", "--from", "4", code=1)
