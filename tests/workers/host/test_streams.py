"""Evidence from files in which a program may have written anything."""

import json
from pathlib import Path

import pytest

from workers.host.streams import FILES, LONGEST_CLAIM, spool_evidence, stderr_tail


def a_spool(folder: Path, *lines: bytes) -> Path:
    (folder / FILES["spool"]).write_bytes(b"".join(line + b"\n" for line in lines))
    return folder


def failure(reason: str, message: str) -> bytes:
    return json.dumps({"type": "failure", "reason": reason, "message": message}).encode()


def test_a_claim_is_text_that_can_be_sent_and_of_bounded_length(tmp_path: Path) -> None:
    _, claim, _ = spool_evidence(a_spool(tmp_path, failure("r\ud800", "\udfff\0" + "x" * 9_999)))
    assert claim is not None
    assert claim.reason == "r\ufffd"
    assert claim.message == "\ufffd\ufffd" + "x" * (LONGEST_CLAIM - 2)


def test_lines_that_cannot_be_read_hide_no_others(tmp_path: Path) -> None:
    nested = b'{"type": "metrics", "step": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    lines = b'{"type": "progress", "step": 7}', nested, b"[1]", b"\xff", failure("nan_loss", "loss is nan")
    step, claim, _ = spool_evidence(a_spool(tmp_path, *lines))
    assert step == 7
    assert claim is not None
    assert claim.reason == "nan_loss"


@pytest.mark.parametrize("step", ["-1", "true", "9223372036854775808", '"8"'])
def test_a_step_that_is_none_is_not_the_last(tmp_path: Path, step: str) -> None:
    lines = b'{"step": 7}', b'{"step": ' + step.encode() + b"}"
    assert spool_evidence(a_spool(tmp_path, *lines))[:2] == (7, None)


def test_the_end_of_stderr_can_be_sent_whatever_its_bytes(tmp_path: Path) -> None:
    (tmp_path / FILES["stderr"]).write_bytes(b"\xed\xa0\x80 and \0\nlast")
    tail = stderr_tail(tmp_path)
    assert tail[1] == "last"
    assert "\0" not in tail[0]
    "".join(tail).encode()
