"""Whether checkpoints can be written, as a cluster finds out, and whom it tells."""

from __future__ import annotations

import queue
import re
import uuid

import pytest

from tests.fakes.fault_proxy import Rule
from workers.cluster.probing import Probing, probe


def test_a_storage_that_takes_gives_and_deletes_has_no_fault_and_is_left_as_it_was(root):
    assert probe(root.address) is None
    assert root.tree("") == ()


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (Rule("^/upload/", "POST", status=403), "cannot write .*may not do that in checkpoints \\(403\\)"),
        (Rule("^/upload/", "POST", status=401), "cannot write .*no usable credentials"),
        (Rule("alt=media", "GET", status=403), "cannot read .*\\(403\\)"),
        (Rule("", "DELETE", status=403), "cannot delete .*\\(403\\)"),
        (Rule("^/upload/", "POST", status=503), "cannot write .*answered 503 \\(\\d+ tries in 2 s\\)"),
    ],
    ids=["no right to write", "credentials", "no right to read", "no right to delete", "down"],
)
def test_what_is_refused_is_told_in_a_sentence(bucket_server, rule, says):
    bucket_server.proxy.break_(rule)
    fault = probe(bucket_server.address(uuid.uuid4().hex), patience_s=2)
    assert fault is not None

    assert re.search(says, fault), fault


def test_a_missing_bucket_and_a_folder_that_is_none_are_told(bucket_server, tmp_path):
    assert "there is no bucket no-such-bucket (404)" in probe("gs://no-such-bucket/x", patience_s=2)
    (tmp_path / "file").write_text("")
    assert "Not a directory" in probe(str(tmp_path / "file"))
    assert "neither a local folder nor gs://" in probe("s3://x")


def test_the_root_of_the_newest_orders_is_tried_and_told(tmp_path):
    told = queue.Queue()
    probing = Probing(lambda root, fault: told.put((root, fault)) or True)
    probing.follow("")
    probing.follow(str(tmp_path / "a"))
    assert told.get(timeout=60) == (str(tmp_path / "a"), None)
    (tmp_path / "file").write_text("")
    probing.follow(str(tmp_path / "file"))
    root, fault = told.get(timeout=60)
    assert root == str(tmp_path / "file")
    assert "Not a directory" in fault
