from pathlib import Path

from orchestrator.cli.reference import cli_page, spec_page

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def test_the_commands_page_is_what_the_code_says() -> None:
    assert (REFERENCE / "cli.md").read_text() == cli_page(), "write it again: make reference"


def test_the_spec_page_is_what_the_code_says() -> None:
    assert (REFERENCE / "spec.md").read_text() == spec_page(), "write it again: make reference"
