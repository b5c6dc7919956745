"""The client against answers that a real server gives only on bad days."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from orchestrator.client import Client, ServerError, UnavailableError


def client_of(answers: Iterator[Any], seen: list[httpx.Request]) -> Client:
    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        given: httpx.Response | Exception = next(answers)
        if isinstance(given, Exception):
            raise given
        return given

    return Client("http://server", "token", transport=httpx.MockTransport(answer), sleep=lambda _: None)


def busy() -> httpx.Response:
    return httpx.Response(503, json={"status": 503, "detail": "try again"})


def test_a_submit_that_lost_its_answer_is_repeated_with_the_same_key() -> None:
    seen: list[httpx.Request] = []
    answers = iter([httpx.ReadError("reset"), busy(), httpx.Response(200, json={"id": "job_1"})])
    assert client_of(answers, seen).submit({"name": "a"})["id"] == "job_1"
    assert len({request.headers["idempotency-key"] for request in seen}) == 1
    assert [json.loads(request.content) for request in seen] == [{"name": "a"}] * 3


def test_two_submits_have_two_keys() -> None:
    seen: list[httpx.Request] = []
    client = client_of(iter([httpx.Response(201, json={"id": n}) for n in range(2)]), seen)
    client.submit({})
    client.submit({})
    assert len({request.headers["idempotency-key"] for request in seen}) == 2


def test_a_server_that_stays_away_is_unavailable_after_some_tries() -> None:
    seen: list[httpx.Request] = []
    with pytest.raises(UnavailableError, match="refused"):
        client_of(iter([httpx.ConnectError("refused")] * 9), seen).jobs()
    assert 2 < len(seen) < 9


def test_an_answer_that_is_no_json_is_a_fault_of_the_server() -> None:
    with pytest.raises(ServerError):
        client_of(iter([httpx.Response(200, text="<html>")]), []).jobs()
    with pytest.raises(ServerError, match="502"):
        client_of(iter([httpx.Response(502, text="<html>")]), []).jobs()


def test_a_name_never_becomes_another_address() -> None:
    seen: list[httpx.Request] = []
    client_of(iter([httpx.Response(200, json={})]), seen).job("a/../b?c#d")
    assert seen[0].url.raw_path == b"/api/v1/jobs/a%2F..%2Fb%3Fc%23d"


def test_logs_are_followed_to_their_end() -> None:
    def piece(data: str, offset: int, ended: bool) -> httpx.Response:
        return httpx.Response(200, json={"attempt": 2, "data": data, "next_offset": offset, "ended": ended})

    seen: list[httpx.Request] = []
    answers = iter([piece("YWI=", 2, False), piece("", 2, False), piece("Yw==", 3, False), piece("", 3, True)])
    assert list(client_of(answers, seen).logs("toy", follow=True)) == [b"ab", b"c"]
    assert [request.url.params["offset"] for request in seen] == ["0", "2", "2", "3"]
    assert "attempt" not in seen[0].url.params
    assert seen[1].url.params["attempt"] == "2"
