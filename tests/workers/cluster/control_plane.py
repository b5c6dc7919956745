"""A control plane for tests: speaks the link and ingest protocol over real HTTP, decides nothing."""

import base64
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from orchestrator.protocol import (
    ARTIFACTS_POST,
    ARTIFACTS_REPLY,
    FACTS_POST,
    INGEST_POST,
    INGEST_REPLY,
    ORDERS,
    VERSION,
    ArtifactOffset,
    ArtifactsReply,
    Chunk,
    Fact,
    FactBody,
    FactsReply,
    IngestReply,
    Offset,
    Orders,
    RunOrder,
)
from orchestrator.store.spool import read_spool

T = TypeVar("T")
POLL_S = 5.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that are killed in the middle of a request are part of the tests."""


class ControlPlane:
    """Holds the orders that a test sets, and everything that came up, each fact once."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.facts: list[Fact] = []
        self.streams: defaultdict[tuple[str, int, str], bytearray] = defaultdict(bytearray)
        self.refused: set[str] = set()
        """Attempts whose reports get 409."""
        self.superseded: set[str] = set()
        """Attempts whose spools get 409."""
        self.posts: list[tuple[Chunk, ...]] = []
        """What was taken in, post by post."""
        self.code: dict[str, bytes] = {}
        """The archive that each attempt's job runs; 404 for others."""
        self.code_asked = 0
        self.artifacts: defaultdict[tuple[str, int, str, int, int], bytearray] = defaultdict(bytearray)
        self.skipped: list[tuple[int, str, str]] = []
        self.appetite = 1 << 30
        """How many bytes of a file are taken at once."""
        self.foreign: bytes | None = None
        """What a foreign process on this address answers to everything, with 200."""
        self.away = False
        """Nobody takes facts or streams: 503."""
        self._runs: dict[str, RunOrder] = {}
        self._revision = 1
        self._changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def order(self, *runs: RunOrder) -> None:
        """Add or replace orders."""
        with self._changed:
            self._runs |= {run.attempt_id: run for run in runs}
            self._revise()

    def withdraw(self, *attempt_ids: str) -> None:
        """Want these attempts no more."""
        with self._changed:
            self._runs = {name: run for name, run in self._runs.items() if name not in attempt_ids}
            self._revise()

    def wait_for(self, look: Callable[[FactBody], T | None], what: str, timeout_s: float = 60.0) -> T:
        """The first answer of `look` over the facts, in order of arrival."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                for fact in self.facts:
                    if (found := look(fact.body)) is not None:
                        return found
                left = deadline - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"not within {timeout_s} s: {what}; facts: {[f.body for f in self.facts]}")
                self._changed.wait(left)

    def stream(self, attempt_id: str, rank: int, name: str) -> bytes:
        return bytes(self.streams[attempt_id, rank, name])

    # ------------------------------------------------------------------------------------------------------- protocol

    def _revise(self) -> None:
        self._revision += 1
        self._changed.notify_all()

    def orders_after(self, revision: int) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._revision != revision, POLL_S)
            if self._revision == revision:
                return None
            return ORDERS.dump_json(Orders(VERSION, self._revision, 1, tuple(self._runs.values())))

    def take_facts(self, body: bytes) -> bytes:
        with self._changed:
            known = {(fact.source, fact.sequence) for fact in self.facts}
            acknowledged: dict[str, int] = {}
            for fact in FACTS_POST.validate_json(body).facts:
                if (fact.source, fact.sequence) not in known:
                    self.facts.append(fact)
                acknowledged[fact.source] = max(fact.sequence, acknowledged.get(fact.source, 0))
            self._changed.notify_all()
        return json.dumps({"acknowledged": FactsReply(acknowledged).acknowledged}).encode()

    def take_streams(self, attempt_id: str, body: bytes) -> bytes | None:
        """None for what is refused. Of a spool whole lines are taken, as the real control plane does."""
        offsets = []
        with self._changed:
            chunks = INGEST_POST.validate_json(body).chunks
            if attempt_id in self.superseded and any(chunk.stream == "spool" for chunk in chunks):
                return None
            self.posts.append(chunks)
            for chunk in chunks:
                stored = self.streams[attempt_id, chunk.rank, chunk.stream]
                if chunk.offset <= len(stored):
                    new = base64.b64decode(chunk.data)[len(stored) - chunk.offset :]
                    if chunk.stream == "spool":
                        new = new[: read_spool(new, len(stored), grows=not chunk.final).length]
                    stored.extend(new)
                offsets.append(Offset(chunk.rank, chunk.stream, len(stored)))
            self._changed.notify_all()
        return bytes(INGEST_REPLY.dump_json(IngestReply(tuple(offsets))))

    def take_artifacts(self, attempt_id: str, body: bytes) -> bytes:
        """Files by (attempt, rank, path, size, time); what was not sent, with why, in `skipped`."""
        offsets = []
        with self._changed:
            post = ARTIFACTS_POST.validate_json(body)
            self.skipped += [(one.rank, one.path, one.why) for one in post.skipped]
            for one in post.chunks:
                stored = self.artifacts[attempt_id, one.rank, one.path, one.size, one.modified_ns]
                if one.offset == len(stored):
                    stored.extend(base64.b64decode(one.data)[: self.appetite])
                offsets.append(ArtifactOffset(one.rank, one.path, one.size, one.modified_ns, len(stored)))
        return bytes(ARTIFACTS_REPLY.dump_json(ArtifactsReply(tuple(offsets))))

    def files(self, attempt_id: str) -> dict[tuple[int, str], bytes]:
        """The files that are whole, each rank's newest version."""
        found = sorted(self.artifacts.items(), key=lambda one: one[0][-1])
        return {
            (rank, path): bytes(data)
            for (attempt, rank, path, size, _), data in found
            if attempt == attempt_id and len(data) == size
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        plane = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                if url.path.endswith("/code"):
                    return self._code(url.path.split("/")[-2])
                if self.headers["Authorization"] != f"Bearer {plane.token}":
                    return self._answer(401)
                assert url.path == "/api/v1/link/orders"
                orders = plane.orders_after(int(parse_qs(url.query)["revision"][0]))
                return self._answer(204) if orders is None else self._answer(200, orders)

            def _code(self, attempt_id: str) -> None:
                plane.code_asked += 1
                if plane.away:
                    return self._answer(503)
                mine = self.headers["Authorization"] == f"Bearer token-of-{attempt_id}"
                archive = plane.code.get(attempt_id) if mine else None
                return self._answer(404) if archive is None else self._answer(200, archive)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if plane.away:
                    return self._answer(503)
                if plane.foreign is not None:
                    return self._answer(200, plane.foreign)
                if self.path == "/api/v1/link/facts":
                    return self._answer(200, plane.take_facts(body))
                attempt_id = self.path.removeprefix("/api/v1/ingest/").removesuffix("/artifacts")
                if self.headers["Authorization"] != f"Bearer token-of-{attempt_id}":
                    return self._answer(403)
                if attempt_id in plane.refused:
                    return self._answer(409)
                if self.path.endswith("/artifacts"):
                    return self._answer(200, plane.take_artifacts(attempt_id, body))
                taken = plane.take_streams(attempt_id, body)
                return self._answer(409) if taken is None else self._answer(200, taken)

            def _answer(self, status: int, body: bytes = b"") -> None:
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
