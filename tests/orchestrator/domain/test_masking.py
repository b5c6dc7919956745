"""Secrets are masked wherever a stream is cut, and what looks like a token in every text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.masking import Masker, is_secret_name, mask_tokens


def test_every_byte_of_a_secret_becomes_a_star_and_no_byte_moves() -> None:
    masker = Masker(["S3CR3T-xyz", "größe"])
    assert masker.mask("a S3CR3T-xyz, größe. S3CR3T".encode()) == b"a **********, *******. S3CR3T"


def test_secrets_that_overlap_or_hold_each_other_leave_nothing() -> None:
    masker = Masker(["abcdef", "defghi", "cdef"])
    assert masker.mask(b"xabcdefghix cdefx") == b"x*********x ****x"
    assert Masker(["aaaa"]).mask(b"aaaaaab") == b"******b"


def test_a_secret_of_several_lines_is_masked_line_by_line_and_short_ones_are_not() -> None:
    masker = Masker(["-----BEGIN-----\nabcdefgh\nxy\n"])
    assert masker.mask(b"abcdefgh xy") == b"******** xy"
    assert not Masker(["abc", ""])


def test_what_may_be_the_beginning_of_a_secret_waits_for_the_rest() -> None:
    masker = Masker(["secret", "ets-more"])
    # "secret" ends like the other one begins: it waits as a whole, else its end would be shown without it
    takes = {b"a se": 2, b"secret": 0, b"a secret\n": 9, b"secre": 0, b"x": 1, b"": 0, b"ets-mor": 0}
    assert {data: masker.whole(data) for data in takes} == takes
    assert Masker(["aaaa"]).whole(b"a" * 100) == 97, "never more than twice the longest"


@given(st.lists(st.integers(0, 40), max_size=6), st.sampled_from(["S3CR3T-xyz-tail S3CR3T-x", "S3CR3T-xyz S3CR3T-xy"]))
def test_no_cut_of_a_stream_shows_a_secret(cuts: list[int], said: str) -> None:
    """As ingest does it: what may be a beginning is not taken until the rest is there."""
    masker = Masker(["S3CR3T-xyz", "xyz-tail"])
    data = b"... " + said.encode()
    stored, shown = 0, b""
    for cut in [*sorted(cuts), len(data)]:
        piece = data[stored : max(cut, stored)]
        final = cut >= len(data)
        taken = len(piece) if final else masker.whole(piece)
        shown += masker.mask(piece)[:taken]
        stored += taken
    assert shown == masker.mask(data)


@pytest.mark.parametrize(
    "token",
    [
        "pwt_abcdefghijkl",
        "pwa_0123456789abcdef",
        "ghp_" + "a" * 36,
        "hf_" + "b" * 34,
        "sk-" + "c" * 40,
        "AKIA" + "D" * 16,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_token_is_masked(token: str) -> None:
    assert mask_tokens(f"it said {token} twice") == "it said ******** twice"


def test_passwords_in_addresses_and_bearers_are_masked_and_plain_text_stays() -> None:
    assert mask_tokens("postgresql://u:hunter2@db/x") == "postgresql://********@db/x"
    assert mask_tokens("Authorization: Bearer abcdefghij") == "Authorization: Bearer ********"
    plain = "rank 2 on slice-a/2 ran out of memory at step 1,240: http://host:80/x pw_ key"
    assert mask_tokens(plain) == plain
    assert Masker(["hunter22"]).text("the word is hunter22") == "the word is ********"


@pytest.mark.parametrize(("name", "secret"), [("MY_API_TOKEN", True), ("hf_key", True), ("LR", False), ("PATH", False)])
def test_names_tell_what_is_secret(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret
