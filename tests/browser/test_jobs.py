"""The list of ten thousand jobs: quick to use, live, searched and filtered from the address bar, driven by keys."""

import re
import time

import httpx
from playwright.sync_api import Browser, CDPSession, Page, expect

from tests.browser.history import MARKUP, SHOWCASE
from tests.browser.site import Site
from tests.browser.tasks import traced
from tests.orchestrator.api.rig import SPEC

USABLE_SCRIPT_S = 1.5
LONG_TASK_MS = 100
ON_SCREEN_S = 1.0


def rows(page: Page) -> list[str]:
    return page.locator(".jobs .name").all_inner_texts()


def api(site: Site) -> httpx.Client:
    return httpx.Client(base_url=f"{site.url}/api/v1", headers={"Authorization": f"Bearer {site.token}"}, timeout=30)


def script_seconds(session: CDPSession) -> float:
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(found["ScriptDuration"])


def test_a_stranger_signs_in_with_a_token_that_no_address_shows(stranger: Page, site: Site, watch: object) -> None:
    watch.allowed = ("401",)  # type: ignore[attr-defined]  # the browser reports every refused request
    stranger.goto("/jobs")
    stranger.get_by_label("Token").fill("pwt_wrong")
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger.get_by_role("alert")).to_contain_text("does not know this token")
    stranger.get_by_label("Token").fill(site.token)
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger.locator(".jobs .name").first).to_be_visible()
    assert site.token not in stranger.url
    assert site.token not in site.server.log
    assert stranger.evaluate("localStorage.length + document.cookie.length") == 0


def test_the_list_is_soon_usable_and_scrolls_without_long_tasks(page: Page, browser: Browser) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto("/jobs")
    expect(page.locator(".jobs .name").first).to_be_visible()
    spent = script_seconds(session)
    expect(page.locator("h1 + span")).to_have_text(re.compile(r"\d+,\d{3}"))
    page.locator(".jobs .scroll").hover()
    before = rows(page)
    with traced(browser, page) as tasks:
        for _ in range(60):
            page.mouse.wheel(0, 700)
            page.evaluate("new Promise(requestAnimationFrame)")
        expect(page.locator("[data-job]").last).to_be_visible()
    drawn = page.locator("[data-job]").count()
    print(f"\nlist: {spent:.2f} s of script until usable; longest task while scrolling {tasks[0]:.0f} ms of CPU")
    assert rows(page) != before
    assert drawn < 80, "only what is in sight exists"
    assert spent < USABLE_SCRIPT_S
    assert tasks[0] < LONG_TASK_MS


def test_a_change_of_state_is_on_screen_within_a_second(page: Page, site: Site) -> None:
    page.goto("/jobs?search=held-for-review")
    expect(page.locator(".live")).to_have_attribute("data-state", "live")
    # The best of a few: another program on this machine may hold up any one of them.
    took_s = [_until_seen(page, site) for _ in range(3)]
    print(f"\nlist: a state change is on screen after {min(took_s):.2f} s, at most {max(took_s):.2f} s")
    assert min(took_s) < ON_SCREEN_S


def _until_seen(page: Page, site: Site) -> float:
    """Seconds from the recorded moment of a release until the list shows it; the job is held again afterwards."""
    expect(page.locator(".jobs .state")).to_have_text("Held")
    page.evaluate("""() => {
        delete document.documentElement.dataset.changedAt;
        new MutationObserver((_, self) => {
            if (document.querySelector(".jobs .body-line.HELD")) return;
            document.documentElement.dataset.changedAt = Date.now();
            self.disconnect();
        }).observe(document.querySelector(".jobs"), { subtree: true, childList: true, attributes: true });
    }""")
    with api(site) as client:
        found = client.get("/jobs", params={"search": "held-for-review"}).json()["items"][0]
        client.post(f"/jobs/{found['id']}/release").raise_for_status()
        expect(page.locator("html")).to_have_attribute("data-changed-at", re.compile("."))
        told = client.get(f"/jobs/{found['id']}/events").json()["items"]
        client.post(f"/jobs/{found['id']}/hold").raise_for_status()
    changed = [event["at_ms"] for event in told if event["data"].get("from") == "HELD"][-1]
    return (int(page.evaluate("document.documentElement.dataset.changedAt")) - int(changed)) / 1_000


def test_a_new_job_appears_on_top_and_one_that_fits_the_filters_no_more_goes(page: Page, site: Site) -> None:
    page.goto("/jobs?search=appears")
    expect(page.get_by_text("No job fits these filters")).to_be_visible()
    with api(site) as client:
        spec = SPEC | {"name": "appears", "slices": "v5p:4x4x4", "program": {"command": ["sleep", "60"]}}
        job = client.post("/jobs", json=spec).raise_for_status().json()
        expect(page.locator(".jobs .name")).to_have_text(["appears"])
        page.goto("/jobs?search=appears&state=QUEUED")
        expect(page.locator(".jobs .name")).to_have_text(["appears"])
        client.post(f"/jobs/{job['id']}/cancel").raise_for_status()
    expect(page.get_by_text("No job fits these filters")).to_be_visible()


def test_filters_live_in_the_address_and_search_finds(page: Page) -> None:
    page.goto("/jobs")
    expect(page.locator(".jobs .name").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("llama-8b-pre")
    expect(page.locator(".jobs .name")).to_have_text(["llama-8b-pretrain"])
    expect(page).to_have_url(re.compile("search=llama-8b-pre$"))
    page.get_by_label("Search").fill("")
    page.get_by_role("button", name=re.compile("^Failed")).click()
    expect(page.locator(".jobs .body-line.FAILED").first).to_be_visible()
    expect(page.locator(".jobs .body-line:not(.FAILED)")).to_have_count(0)
    expect(page).to_have_url(re.compile("state=FAILED"))
    page.reload()
    expect(page.locator(".jobs .body-line.FAILED").first).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Failed"))).to_have_attribute("aria-pressed", "true")


def test_keys_move_select_and_open(page: Page) -> None:
    page.goto("/jobs?search=sweep-lr&state=RUNNING")
    expect(page.locator(".jobs .name")).to_have_count(2)
    for key in ("j", "j", "k", "x"):
        page.keyboard.press(key)
    expect(page.locator("[data-cursor=true]")).to_have_count(1)
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next and previous row")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_bulk_action_says_first_what_it_would_do(page: Page, site: Site) -> None:
    with api(site) as client:
        spec = SPEC | {"slices": "v5p:4x4x4", "program": {"command": ["sleep", "60"]}}
        for number in range(3):
            client.post("/jobs", json=spec | {"name": f"bulk-{number}"}).raise_for_status()
        page.goto("/jobs?search=bulk-")
        expect(page.locator(".jobs .name")).to_have_count(3)
        page.get_by_label("Select all that are listed").check()
        page.get_by_role("button", name="Cancel", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Of 3 selected jobs 3 would change")
        states = {job["state"] for job in client.get("/jobs", params={"search": "bulk-"}).json()["items"]}
        assert states == {"QUEUED"}, "a dry run changes nothing"
        dialog.get_by_role("button", name="Cancel 3").click()
        expect(page.locator(".jobs .body-line.CANCELLED")).to_have_count(3)


def test_progress_has_a_finish_and_curves_are_drawn(page: Page) -> None:
    page.goto("/jobs?search=llama-8b-pretrain")
    expect(page.get_by_role("img", name=re.compile("^loss, last"))).to_be_visible()
    expect(page.locator(".progress")).to_contain_text("left")


def test_markup_in_texts_is_shown_as_text(page: Page, site: Site) -> None:
    with api(site) as client:
        client.post("/projects", json={"name": "markup", "description": MARKUP}).raise_for_status()
    page.goto("/jobs?search=fails-invalid-program")
    expect(page.locator(".body-line .why")).to_contain_text("the program cannot run as it is")
    page.goto(f"/jobs?search={MARKUP}")
    expect(page.get_by_label("Search")).to_have_value(MARKUP)
    expect(page.get_by_text("No job fits these filters")).to_be_visible()
    assert page.locator("img:not([alt=''])").count() == 0
    assert page.title() != "1"


def test_the_clock_of_the_last_update_goes_on(page: Page) -> None:
    page.goto(f"/jobs?search={SHOWCASE}")
    step = page.locator(".progress .ellipsis")
    expect(step).to_contain_text("/")
    before = step.inner_text()
    deadline = time.monotonic() + 60
    while step.inner_text() == before and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    assert step.inner_text() != before
