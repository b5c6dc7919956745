"""A proxy in front of the storage server that breaks what it is told to break: by method, by path, by count.

Rules are set through its control port (`POST /rules` a JSON list, `GET /log`), from any process. The first rule that
matches a request and has some of its count left is applied:

- `status`: answer with this status, and never ask the server
- `delay_s`: wait first (a hanging endpoint is a long one)
- `drop`: close the connection before the server is asked
- `lost_reply`: let the server do it, then answer 503
- `truncate`: let the server do it, and break off in the middle of its answer
- `truncate_body`: pass on half of the request's body, as a connection does that broke
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import threading
import time
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

_HOP_BY_HOP = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive", "host"})


@dataclass
class Rule:
    """One fault. `path` is a regular expression that is searched for in the decoded path, query included."""

    path: str = ""
    method: str = ""
    count: int = 1_000_000
    skip: int = 0
    """Let so many pass first."""
    status: int | None = None
    delay_s: float = 0.0
    drop: bool = False
    lost_reply: bool = False
    truncate: bool = False
    truncate_body: bool = False

    def take(self, method: str, path: str) -> bool:
        """Whether this rule is for that request; it counts it."""
        if (self.method and self.method != method) or not re.search(self.path, path) or self.count <= 0:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.count -= 1
        return True


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients are killed here on purpose: their broken connections are no news."""


class FaultProxy:
    """Listens on `url` and, for its rules, on `control_url`; both on free ports of this machine."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.log: list[tuple[str, str, int]] = []
        """(method, path, answered status; 0 for none) of every request that came since the rules were set. One that
        came before and is answered late, after its client gave up on it, is not among them."""
        self.answered_bytes = 0
        """Of all bodies that were answered since the rules were set."""
        self._lock = threading.Lock()
        self._upstream: tuple[str, int] | None = None
        self._servers = [self._serve(_proxy_handler(self)), self._serve(_control_handler(self))]
        self.url, self.control_url = (f"http://127.0.0.1:{server.server_address[1]}" for server in self._servers)

    def forward_to(self, host: str, port: int) -> None:
        self._upstream = (host, port)

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def break_(self, *rules: Rule) -> None:
        """Replace the rules."""
        with self._lock:
            self.rules = list(rules)
            self.log = []
            self.answered_bytes = 0

    def rule_for(self, method: str, path: str) -> Rule | None:
        with self._lock:
            return next((rule for rule in self.rules if rule.take(method, path)), None)

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, list[Any], bytes]:
        assert self._upstream is not None
        connection = http.client.HTTPConnection(*self._upstream, timeout=60)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    @staticmethod
    def _serve(handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
        server = _QuietServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server


def _proxy_handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _any(self) -> None:
            try:
                self._answer(unquote(self.path))
            except OSError:
                self.close_connection = True

        def _answer(self, path: str) -> None:
            self._log = proxy.log  # of now: new rules begin a new one
            body = self._body()
            rule = proxy.rule_for(self.command, path) or Rule()
            if rule.delay_s:
                time.sleep(rule.delay_s)
            if rule.drop:
                self._log.append((self.command, path, 0))
                self.close_connection = True
                return
            if rule.status is not None:
                self._send(rule.status, [], json.dumps({"error": {"message": "a fault of ours"}}).encode())
                return
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
            if rule.truncate_body:
                body = body[: len(body) // 2]
            status, answer_headers, answer = proxy.ask(self.command, self.path, headers, body)
            if rule.lost_reply:
                self._send(503, [], b"{}")
                return
            if rule.truncate:
                self._send(status, answer_headers, answer, short=True)
                self.close_connection = True
                return
            self._send(status, answer_headers, answer)

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def _send(self, status: int, headers: list[Any], body: bytes, short: bool = False) -> None:
            # Before it is sent: whoever gets the answer may look into the log at once.
            self._log.append((self.command, unquote(self.path), status))
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in _HOP_BY_HOP:
                    self.send_header(name, value)
            bodiless = self.command == "HEAD" or status in (204, 304)
            self.send_header("Content-Length", "0" if bodiless else str(len(body)))
            self.end_headers()
            proxy.answered_bytes += 0 if bodiless else len(body)
            if not bodiless:
                self.wfile.write(body[: len(body) // 2] if short else body)

        def log_message(self, *_: Any) -> None:
            pass

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _any  # the names that http.server calls

    return Handler


def _control_handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            rules = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            proxy.break_(*(Rule(**rule) for rule in rules))
            self._send(b"{}")

        def do_GET(self) -> None:
            self._send(json.dumps({"log": proxy.log, "rules": [asdict(rule) for rule in proxy.rules]}).encode())

        def _send(self, body: bytes) -> None:
            self.send_response_only(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
