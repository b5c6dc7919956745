"""Following a job's logs: what ends it is the control plane's word, whatever the clocks of the machines say."""

import base64
from typing import Any

import httpx

from orchestrator.cli.remote.follow import LogView, follow
from orchestrator.client import Client

ATTEMPT = {"number": 1, "live": False, "ended_at_ms": 0, "ranks": [{"rank": 0}], "chips": 4}
JOB = {"id": "job_1", "state": "SUCCEEDED", "choices": [{"chips": 4, "hosts": 1}]}


class Server:
    """A job that ended long ago by its host's clock, whose last line comes after two looks."""

    def __init__(self) -> None:
        self.looks = 0

    def answer(self, request: httpx.Request) -> httpx.Response:
        path, asked = request.url.path, request.url.params
        if path.endswith("/attempts"):
            return httpx.Response(200, json={"items": [ATTEMPT]})
        if not path.endswith("/logs"):
            return httpx.Response(200, json=JOB)
        stored = b"first\nlast" if self.looks >= 2 and asked["stream"] == "stdout" else b""
        data = stored[int(asked["offset"]) :]
        return httpx.Response(200, json=self._piece(data, int(asked["offset"])))

    def _piece(self, data: bytes, offset: int) -> dict[str, Any]:
        encoded, after = base64.b64encode(data).decode(), offset + len(data)
        return {"attempt": 1, "data": encoded, "next_offset": after, "ended": self.looks >= 2}

    def look_again(self, _: float) -> None:
        self.looks += 1


def test_a_log_is_followed_until_the_control_plane_says_that_it_has_ended() -> None:
    server = Server()
    with Client("http://server", "token", transport=httpx.MockTransport(server.answer)) as client:
        lines = [line.line for line in follow(client, LogView("job_1"), server.look_again)]
    assert lines == [b"first", b"last"]
    assert server.looks == 2
