"""A bucket in trouble: what is tried again, what is not, and what a lost reply does to the fence."""

from __future__ import annotations

import json
import uuid

import pytest

from tests.fakes.fault_proxy import Rule
from workers.rank import latest
from workers.rank.failure import PerhapsCommitted, Superseded
from workers.storage import StorageError
from workers.storage.google import Bucket
from workers.storage.patience import Patience

UPLOAD = "^/upload/"


@pytest.fixture
def troubles() -> list[str]:
    return []


@pytest.fixture
def address(bucket_server) -> str:
    address = bucket_server.address(uuid.uuid4().hex)
    Bucket(address).read("x")  # importing the client alone may take 3 s
    bucket_server.proxy.break_()
    return address


@pytest.fixture
def bucket(address, troubles) -> Bucket:
    """A bucket whose client takes no busy machine for a silent server."""
    return Bucket(address, troubles.append, lambda: Patience(limit_s=60.0), timeout_s=(20.0, 20.0))


@pytest.fixture
def hasty(address, troubles) -> Bucket:
    """A bucket whose client calls a server silent after 1 s, and gives up after 3 s."""
    return Bucket(address, troubles.append, lambda: Patience(limit_s=3.0), timeout_s=(1.0, 1.0))


def uploads(bucket_server) -> list[int]:
    """How the writes were answered. Google's client also asks about the bucket, in a thread of its own."""
    return [status for _, path, status in bucket_server.proxy.log if path.startswith("/upload/")]


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Rule(UPLOAD, "POST", count=2, status=429), id="429"),
        pytest.param(Rule(UPLOAD, "POST", count=2, status=503), id="503"),
        pytest.param(Rule(UPLOAD, "POST", count=2, drop=True), id="dropped"),
        pytest.param(Rule(UPLOAD, "POST", count=1, truncate_body=True), id="truncated write"),
        pytest.param(Rule(UPLOAD, "POST", count=1, lost_reply=True), id="lost reply"),
    ],
)
def test_a_write_in_passing_trouble_succeeds_and_says_so(bucket, bucket_server, troubles, rule):
    bucket_server.proxy.break_(rule)
    bucket.write("1/5.manifest.json", b"0123456789")
    assert bucket.read("1/5.manifest.json") == b"0123456789"
    assert troubles
    assert troubles[0].startswith("cannot write 1/5.manifest.json: ")


def test_a_write_whose_first_try_hangs_succeeds(address, bucket_server, troubles):
    bucket = Bucket(address, troubles.append, lambda: Patience(limit_s=60.0), timeout_s=(1.0, 1.0))
    bucket_server.proxy.break_(Rule(UPLOAD, "POST", count=1, delay_s=1.5))
    bucket.write("1/5.manifest.json", b"0123456789")
    assert bucket.read("1/5.manifest.json") == b"0123456789"
    assert troubles


@pytest.mark.parametrize("rule", [Rule("alt=media", count=1, truncate=True), Rule("/o/", "GET", count=3, status=500)])
def test_a_read_in_passing_trouble_is_whole(bucket, bucket_server, rule):
    bucket.write("x", b"0123456789" * 100)
    bucket_server.proxy.break_(rule)
    assert bucket.read("x") == b"0123456789" * 100


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Rule(UPLOAD, status=403), r"cannot write x: this identity may not do that in checkpoints \(403\)"),
        (Rule(UPLOAD, status=401), r"cannot write x: no usable credentials: .*"),
        (Rule(UPLOAD, status=404), r"cannot write x: there is no bucket checkpoints \(404\)"),
        (Rule(UPLOAD, status=503), r"cannot write x: the storage answered 503 \(\d+ tries in 3 s\)"),
        (Rule(UPLOAD, delay_s=5), r"cannot write x: .*timed out.* \(\d+ tries in 3 s\)"),
    ],
    ids=["403", "401", "404", "503 for ever", "hanging"],
)
def test_lasting_trouble_ends_in_one_sentence(hasty, bucket_server, rule, message):
    bucket_server.proxy.break_(rule)
    with pytest.raises(StorageError, match=message):
        hasty.write("x", b"1")


def test_what_no_other_try_would_change_is_not_tried_again(bucket, bucket_server, troubles):
    bucket_server.proxy.break_(Rule(UPLOAD, status=403))
    with pytest.raises(StorageError):
        bucket.write("x", b"1")
    assert troubles == []
    assert uploads(bucket_server) == [403]


def test_a_missing_bucket_is_never_an_empty_one(bucket_server):
    missing = Bucket("gs://no-such-bucket/job", patience=lambda: Patience(limit_s=2.0))
    with pytest.raises(StorageError, match="there is no bucket no-such-bucket"):
        latest.claim(missing, 1, "a")
    with pytest.raises(StorageError, match="there is no bucket no-such-bucket"):
        missing.folder("")


def test_a_commit_whose_reply_is_lost_is_recognised_as_our_own(bucket, bucket_server):
    latest.claim(bucket, 1, "a")
    bucket_server.proxy.break_(Rule(UPLOAD, "POST", count=1, lost_reply=True))
    latest.advance(bucket, 1, "a", 5, "1/5")
    assert latest.read(bucket).path == "1/5"
    assert uploads(bucket_server) == [503], "it was written once, and read back"


class Intruder(Bucket):
    """Lets something happen after the next write has failed."""

    def __init__(self, bucket, happens):
        super().__init__(bucket.address, None, bucket._patience, bucket._timeout_s)
        self._happens = happens

    def _give_up_or_pause(self, what, error, patience):
        if what.startswith("write"):
            self._happens()
        super()._give_up_or_pause(what, error, patience)


def test_a_commit_whose_reply_is_lost_and_that_the_next_attempt_took_over_is_a_commit(bucket, bucket_server):
    latest.claim(bucket, 1, "a")
    slow = Intruder(bucket, lambda: latest.claim(bucket, 2, "b"))
    bucket_server.proxy.break_(Rule(UPLOAD, "POST", count=1, lost_reply=True))
    latest.advance(slow, 1, "a", 5, "1/5")
    owner = latest.read(bucket)
    assert (owner.attempt, owner.path) == (2, "1/5")


def test_a_commit_whose_reply_is_lost_and_that_was_overtaken_keeps_its_data(bucket, bucket_server):
    latest.claim(bucket, 1, "a")

    def overtake():
        latest.claim(bucket, 2, "b")
        latest.advance(bucket, 2, "b", 9, "2/9")

    bucket_server.proxy.break_(Rule(UPLOAD, "POST", count=1, lost_reply=True))
    with pytest.raises(PerhapsCommitted):
        latest.advance(Intruder(bucket, overtake), 1, "a", 5, "1/5")


def test_a_failed_write_that_was_overtaken_is_never_sent_again(bucket, bucket_server):
    latest.claim(bucket, 1, "a")
    zombie = Intruder(bucket, lambda: latest.claim(bucket, 2, "b"))
    bucket_server.proxy.break_(Rule(UPLOAD, "POST", count=1, status=503))
    with pytest.raises(Superseded):
        latest.advance(zombie, 1, "a", 5, "1/5")
    assert (latest.read(bucket).attempt, latest.read(bucket).path) == (2, None)


def test_a_write_that_was_held_up_on_its_way_cannot_undo_a_claim(bucket, bucket_server):
    """The zombie's request itself sleeps in the network and arrives after the next attempt's claim."""
    latest.claim(bucket, 1, "a")
    frozen = Intruder(bucket, lambda: None)
    bucket_server.proxy.break_(Rule(UPLOAD, "POST", count=1, delay_s=1.0))
    import threading

    refused = []

    def late():
        try:
            latest.advance(frozen, 1, "a", 5, "1/5")
        except Superseded as error:
            refused.append(str(error))

    thread = threading.Thread(target=late)
    thread.start()
    while not bucket_server.proxy.rules or bucket_server.proxy.rules[0].count:
        pass
    latest.claim(bucket, 2, "b")
    thread.join()
    assert len(refused) == 1
    assert json.loads(bucket.read("LATEST"))["attempt"] == 2
    assert latest.read(bucket).path is None


def test_pauses_double_are_drawn_and_never_pass_the_limit():
    now, slept = [0.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    patience = Patience(10.0, sleep, lambda: now[0], draw=lambda _, longest: longest)
    while patience.pause():
        pass
    assert slept == [0.2, 0.4, 0.8, 1.6, 3.2]
    assert now[0] < 10.0
