"""What a job's program knows and nobody shall read: in logs, evidence, events and answers it is masked."""

import base64
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.incident import Claim, RankExit
from orchestrator.domain.job import RankStarted
from orchestrator.protocol import GangEnded, GangReady
from tests.builders import NOW
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio

VALUE, PLAIN = "S3CR3T-xyz", "plain-t0ken-value"
SECRET = "/api/v1/projects/default/secrets/HF_TOKEN"


async def running(rig: Rig) -> str:
    assert (await rig.user.put(SECRET, json={"value": VALUE})).status_code == 204
    job = await rig.running(secrets=["HF_TOKEN"], env_vars={"MY_API_TOKEN": PLAIN, "LR": "0.1"})
    return str(job["attempt"]["id"])


async def log(rig: Rig) -> bytes:
    return base64.b64decode((await rig.user.get("/api/v1/jobs/toy/logs")).json()["data"])


async def test_secrets_in_logs_are_stars_wherever_the_pieces_are_cut(rig: Rig) -> None:
    attempt = await running(rig)
    said = f"a {VALUE} b {PLAIN} c\n".encode()
    sent = 0
    for end in range(1, len(said) + 1):  # byte by byte; what may be a beginning is offered again
        answer = await rig.post(attempt, said[sent:end], stream="stdout", offset=sent)
        sent = answer.json()["offsets"][0]["offset"]
        assert VALUE[:4].encode() not in await log(rig)
    assert sent == len(said)
    assert await log(rig) == b"a ********** b ***************** c\n"


async def test_a_beginning_that_is_the_end_is_taken(rig: Rig) -> None:
    attempt = await running(rig)
    first = await rig.post(attempt, b"x S3CR", stream="stdout")
    assert first.json()["offsets"][0]["offset"] == 2
    last = await rig.post(attempt, b"S3CR", stream="stdout", offset=2, final=True)
    assert (last.json()["offsets"][0]["offset"], await log(rig)) == (6, b"x S3CR")


async def test_a_secret_that_was_changed_is_masked_as_it_was_and_as_it_is(rig: Rig) -> None:
    attempt = await running(rig)
    await rig.post(attempt, b"begins\n", stream="stdout")
    await rig.user.put(SECRET, json={"value": "another-value"})
    await rig.post(attempt, f"{VALUE} another-value\n".encode(), stream="stdout", offset=7)
    assert await log(rig) == b"begins\n********** *************\n"


async def test_evidence_and_messages_of_a_failure_are_masked_everywhere(rig: Rig) -> None:
    attempt = await running(rig)
    spool = f'{{"type": "checkpoint", "at_ms": 5, "event": "trouble", "message": "no {VALUE}"}}\n'
    await rig.post(attempt, spool.encode())
    ranks = tuple(RankStarted(rank, "pool-0", rank, 100 + rank, NOW) for rank in range(2))  # type: ignore[arg-type]
    tail = ("Traceback", f"ValueError: bad {VALUE} and {PLAIN} and ghp_{'a' * 36}")
    exits = (
        RankExit(0, "pool-0", 0, 1, None, False, False, NOW, None, tail, None),
        RankExit(1, "pool-0", 1, 1, None, False, False, NOW, None, tail, Claim("program_error", f"told {VALUE}")),
    )
    ended = GangEnded("gang_ended", attempt, None, f"rank 0 said {VALUE}", exits, NOW, NOW)  # type: ignore[arg-type]
    await rig.tell(GangReady("gang_ready", attempt, ranks, NOW), ended)  # type: ignore[arg-type]
    await rig.tick()
    job = await rig.job()
    assert job["cause"]["evidence"][1] == "ValueError: bad ********** and ***************** and ********"
    seen = [(await rig.user.get(f"/api/v1/jobs/toy{path}")).text for path in ("", "/attempts", "/events", "/ledger")]
    async with rig.deps.database.read() as tx:
        for table in ("facts", "events", "attempts", "jobs"):
            seen.append(str((await tx.ask(text(f"SELECT * FROM {table}"))).all()).replace(PLAIN, "", 1))
    for shown in seen:
        assert VALUE not in shown
        assert PLAIN not in shown or '"MY_API_TOKEN"' in shown
        assert "ghp_aaaa" not in shown


async def test_a_job_whose_secret_was_removed_is_not_started_without_it(rig: Rig) -> None:
    await running(rig)
    assert (await rig.user.delete(SECRET)).status_code == 204
    [run] = (await rig.cluster.get("/api/v1/link/orders")).json()["runs"]
    assert run["impossible"] == "project default has no secret HF_TOKEN any more, which the job needs"
    assert "HF_TOKEN" not in run["env_vars"]
    told = GangEnded("gang_ended", run["attempt_id"], "invalid_program", run["impossible"], (), NOW, NOW)
    await rig.tell(told)
    await rig.tick()
    job = await rig.job()
    assert (job["state"], job["reason"]) == ("FAILED", "invalid_program")
    assert "has no secret HF_TOKEN any more" in job["message"]


async def test_a_secret_sealed_under_another_key_keeps_back_its_own_job_only(rig: Rig) -> None:
    await running(rig)
    await rig.submit(name="other")
    async with rig.deps.database.write() as tx:
        await tx.ask(text("UPDATE secrets SET sealed = 'of another key'"))
    orders: dict[str, Any] = (await rig.cluster.get("/api/v1/link/orders")).json()
    assert "sealed under another server key" in orders["runs"][0]["impossible"]


async def test_tokens_in_addresses_of_requests_do_not_come_back(rig: Rig) -> None:
    answer = await rig.user.get("/api/v1/jobs/pwt_abcdefghijklmnop")
    assert "pwt_abc" not in answer.json()["detail"]
