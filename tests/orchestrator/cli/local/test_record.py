"""What is on file about started processes."""

import dataclasses
import os
from pathlib import Path

import pytest

from orchestrator.cli.local.processes import identify
from orchestrator.cli.local.record import Entry, ProcessRecord


def _this_process() -> Entry:
    process = identify(os.getpid())
    assert process is not None
    return Entry(process, "a mark", ("python", "-m", "something"))


def test_an_entry_survives_on_disk_until_it_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "processes.json"
    ProcessRecord.load(path).put("server", _this_process())
    again = ProcessRecord.load(path)
    assert again.alive("server") == _this_process()
    again.drop("server")
    assert ProcessRecord.load(path).entries == {}


def test_an_entry_whose_pid_was_recycled_is_not_alive(tmp_path: Path) -> None:
    entry = _this_process()
    former = dataclasses.replace(entry.process, boot_id="of an earlier boot")
    record = ProcessRecord(tmp_path / "processes.json")
    record.put("server", dataclasses.replace(entry, process=former))
    assert record.alive("server") is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"server": {"pid": 1}}', '{"server": null}'])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, text: str) -> None:
    path = tmp_path / "processes.json"
    path.write_text(text)
    assert ProcessRecord.load(path).entries == {}
