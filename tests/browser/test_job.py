"""The page of a job: one moment in everything, curves joined over restarts, odd numbers and markup that do no harm."""

import re

from playwright.sync_api import Page, expect

from tests.browser.history import MARKUP, ODD, SCRIPT, SHOWCASE
from tests.browser.site import Site
from tests.browser.test_jobs import api
from tests.orchestrator.api.rig import SPEC


def test_hovering_shows_one_moment_in_all_and_dragging_zooms_all(page: Page) -> None:
    page.goto(f"/jobs/{SHOWCASE}")
    charts = page.locator(".chart canvas")
    expect(charts.nth(3)).to_be_visible()
    newest = page.locator(".chart figcaption strong").all_inner_texts()
    shown = page.locator(".zoom span").inner_text()
    box = page.locator(".stack").bounding_box()
    assert box is not None
    middle, top = box["x"] + box["width"] / 2, box["y"] + 20
    page.mouse.move(middle, top)
    expect(page.locator(".crosshair")).to_be_visible()
    under = page.locator(".chart figcaption strong").all_inner_texts()
    assert all(here != last for here, last in zip(under, newest, strict=True)), "all curves show that moment"
    page.mouse.down()
    page.mouse.move(middle + 150, top, steps=4)
    page.mouse.up()
    expect(page.locator(".zoom span")).not_to_have_text(shown)
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.get_by_role("button", name="Later")).to_be_disabled()


def test_the_first_failure_restarts_and_commits_are_told(page: Page) -> None:
    page.goto(f"/jobs/{SHOWCASE}")
    expect(page.get_by_label("Why it failed")).to_contain_text("a loss that is not a number at step 8,650")
    expect(page.locator(".stretch.attempt")).to_have_count(3)
    expect(page.locator(".mark.commit").first).to_be_visible()
    page.get_by_role("tab", name="Attempts").click()
    expect(page.locator(".attempts li")).to_have_count(3)
    expect(page.locator(".attempts li").first.locator(".chip-cell")).to_have_count(64)
    page.get_by_role("tab", name="Checkpoints").click()
    expect(page.get_by_role("cell", name=MARKUP)).to_be_visible()


def test_odd_metrics_and_markup_in_their_names_do_not_stop_the_others(page: Page) -> None:
    page.goto(f"/jobs/{ODD}")
    expect(page.locator(".chart canvas").first).to_be_visible()
    expect(page.get_by_label(re.compile("^loss over time"))).to_contain_text("40 not finite")
    page.locator(".metric-picker summary").click()
    expect(page.locator(".metric-picker summary")).to_contain_text("of 2,006 shown")
    for name in (MARKUP, "loss/训练 α", "all_nan", "layer/1999/norm"):
        page.get_by_label("Search the metrics").fill(name)
        page.get_by_role("checkbox", name=name, exact=True).check()
    expect(page.locator(".chart")).to_have_count(6)
    expect(page.locator(".chart figcaption", has_text=MARKUP)).to_be_visible()
    assert page.locator("main img").count() == 0
    assert page.title() != "1"


def test_output_has_its_colours_and_markup_in_it_is_text(page: Page) -> None:
    page.goto(f"/jobs/{SHOWCASE}?tab=output")
    log = page.get_by_role("log")
    expect(log).to_contain_text("the tokenizer saw")
    expect(log).to_contain_text(SCRIPT)
    expect(log.locator(".ansi-yellow").first).to_have_text("WARNING")
    page.get_by_label("Rank").select_option("1")
    page.get_by_label("Search the output").fill("joined 16")
    expect(log.locator("mark")).to_have_text("joined 16")
    page.get_by_label("Attempt", exact=True).select_option("2")
    page.get_by_label("Search the output").fill("error")
    expect(log.locator(".ansi-red")).to_contain_text("ERROR")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert SCRIPT in download.value.path().read_text()


def test_secrets_are_masked_in_the_spec(page: Page) -> None:
    page.goto(f"/jobs/{SHOWCASE}?tab=spec")
    spec = page.locator(".spec pre")
    expect(spec).to_contain_text("name: llama-8b-pretrain")
    expect(spec).to_contain_text("xla_dump_to")
    assert "not-for-eyes" not in page.content()


def test_a_live_job_can_be_cancelled_and_retried_from_its_page(page: Page, site: Site) -> None:
    with api(site) as client:
        spec = SPEC | {"name": "from-its-page", "program": {"command": ["sleep", "600"]}}
        job = client.post("/jobs", json=spec).raise_for_status().json()
    page.goto(f"/jobs/{job['id']}")
    expect(page.locator(".head .state")).to_have_text("Running")
    expect(page.get_by_role("log")).to_contain_text(re.compile(r"step \d+ ok"))
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".head .state")).to_have_text("Cancelled")
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("link", name=job["id"])).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".head .state")).to_have_text("Cancelled")


def test_a_waiting_job_says_why_and_when(page: Page) -> None:
    page.goto("/jobs/queued-5")
    why = page.get_by_label("Why it waits")
    expect(why).to_contain_text("v5e")
    expect(why).to_contain_text(re.compile(r"Place \d+ of \d+"))


def test_an_unknown_job_says_what_to_do(page: Page, watch: object) -> None:
    watch.allowed = ("404",)  # type: ignore[attr-defined]
    page.goto("/jobs/job_that_is_not")
    expect(page.get_by_role("alert")).to_contain_text("there is no job")
    expect(page.get_by_role("link", name="All jobs")).to_be_visible()
