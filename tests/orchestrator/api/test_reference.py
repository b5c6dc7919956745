from orchestrator.api.reference import page
from tests.orchestrator.client.server import REPOSITORY


def test_the_reference_page_is_what_the_code_says() -> None:
    assert (REPOSITORY / "docs" / "reference" / "api.md").read_text() == page()
