"""How long the page's own thread was busy at a stretch, in processor time: a busy machine does not make it longer."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page


@contextmanager
def traced(browser: Browser, page: Page) -> Iterator[list[float]]:
    """Milliseconds of each task of the main thread while the block ran, the longest first; known after the block."""
    tasks: list[float] = []
    browser.start_tracing(page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"])
    yield tasks
    events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
    names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    ours = [one for one in events if names.get((one["pid"], one["tid"])) == "CrRendererMain"]
    spans = (one["tdur"] / 1_000 for one in ours if one["name"].endswith("RunTask") and "tdur" in one)
    tasks += sorted(spans, reverse=True)
    assert tasks, "the trace holds no task of the page"
