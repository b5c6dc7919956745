"""`site`: one server for all of these tests, with its history; `page`: a fresh tab that is signed in.

Whatever a page writes to the console, and whatever it asks of anybody but its server, fails the test.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from orchestrator.api.dashboard import BUNDLE
from tests.browser.site import Site, open_site

DEADLINE_MS = 60_000
_ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-gpu"]


def _needed(found: object, what: str) -> None:
    """In CI nothing may be skipped."""
    if not found:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{what}, and in CI nothing may be skipped")
        pytest.skip(what)


@pytest.fixture(scope="session")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    _needed(found, "no chromium was found; on Debian: apt-get install chromium")
    return str(found)


@pytest.fixture(scope="session")
def site(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    _needed((BUNDLE / "index.html").exists(), "the dashboard is not built: make dashboard")
    with open_site(tmp_path_factory.mktemp("site")) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Not for the whole session: while it is open its event loop stands in the way of other tests."""
    expect.set_options(timeout=DEADLINE_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        yield launched
        launched.close()


class Watch:
    """What must not happen on any page."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.seen: list[str] = []
        self.allowed: tuple[str, ...] = ()
        context.on("console", lambda message: self._note(f"console {message.type}: {message.text}"))
        context.on("weberror", lambda error: self._note(f"error: {error.error}"))
        context.on("request", lambda asked: self._foreign(asked.url, url))

    def _foreign(self, asked: str, url: str) -> None:
        if not asked.startswith((f"{url}/", "blob:")):
            self._note(f"a request to {asked}")

    def _note(self, what: str) -> None:
        if not any(part in what for part in self.allowed):
            self.seen.append(what)


@pytest.fixture
def context(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    opened = browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 900})
    opened.set_default_timeout(DEADLINE_MS)
    yield opened
    opened.close()


@pytest.fixture
def watch(context: BrowserContext, site: Site) -> Iterator[Watch]:
    watching = Watch(context, site.url)
    yield watching
    assert watching.seen == []


@pytest.fixture
def page(context: BrowserContext, watch: Watch, site: Site) -> Page:
    context.add_init_script(f"if (origin !== 'null') sessionStorage.setItem('podwright.token', {site.token!r})")
    return context.new_page()


@pytest.fixture
def stranger(context: BrowserContext, watch: Watch) -> Page:
    """A tab that nobody has signed in."""
    return context.new_page()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    found = BUNDLE.parent / "node_modules" / "axe-core" / "axe.min.js"
    _needed(found.exists(), "axe-core is not installed: make test-browser")
    return Path(found).read_text()
