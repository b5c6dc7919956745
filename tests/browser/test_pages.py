"""Every page, light and dark: it shows its own, axe finds nothing, the console stays empty.

With PODWRIGHT_PICTURES=FOLDER each is also drawn for the guide.
"""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessible import assert_accessible
from tests.browser.history import SHOWCASE

LARGEST = 200_000
PAGES = {
    # name: (path, what shows that it is there)
    "sign-in": ("/sign-in", "form.card"),
    "overview": ("/", ".lines a"),
    "jobs": ("/jobs", ".sparkline"),
    "job": (f"/jobs/{SHOWCASE}", ".chart canvas"),
    "queue": ("/queue", ".planned, tbody tr"),
    "fleet": ("/fleet", ".slice .RUNNING"),
    "usage": ("/usage", ".bars[aria-busy=false] .pile i[style]"),
    "admin": ("/admin", "tbody tr"),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_its_own_and_axe_finds_nothing(
    request: pytest.FixtureRequest, axe: str, name: str, theme: str
) -> None:
    path, shows = PAGES[name]
    page: Page = request.getfixturevalue("stranger" if name == "sign-in" else "page")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(path)
    expect(page.locator(shows).first).to_be_visible()
    if folder := os.environ.get("PODWRIGHT_PICTURES"):
        file = Path(folder) / f"{name}-{theme}.png"
        page.screenshot(path=file)
        assert file.stat().st_size < LARGEST
    assert_accessible(page, axe, f"{name}, {theme}")
