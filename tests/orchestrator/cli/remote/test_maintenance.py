"""Moments as people write them."""

from datetime import datetime, timedelta, timezone

import pytest

from orchestrator.cli.failures import CommandFailed
from orchestrator.cli.remote.maintenance import read_moment

ZONE = timezone(timedelta(hours=2))
NOW = datetime(2026, 12, 1, 15, 30, tzinfo=ZONE)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("now", "2026-12-01T15:30:00+02:00"),
        ("18:00", "2026-12-01T18:00:00+02:00"),
        ("14:00", "2026-12-02T14:00:00+02:00"),
        ("15:30", "2026-12-01T15:30:00+02:00"),
        ("2026-12-24", "2026-12-24T00:00:00+02:00"),
        ("2026-12-24T14:00", "2026-12-24T14:00:00+02:00"),
        ("2026-12-24T14:00+00:00", "2026-12-24T14:00:00+00:00"),
    ],
)
def test_a_moment_is_read_in_the_readers_zone(text: str, read: str) -> None:
    assert read_moment(text, NOW, "--from").isoformat() == read


@pytest.mark.parametrize("text", ["", "soon", "25:00", "2026-13-01", "14:00:xx"])
def test_what_is_no_moment_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(CommandFailed, match=r"--from: .* is not a moment; write 14:00"):
        read_moment(text, NOW, "--from")
