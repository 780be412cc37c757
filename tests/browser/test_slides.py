"""A lecture as slides: `./lockstep lab --slides`, in a browser that reaches no other host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from notebook_page import START
from playwright.sync_api import Browser, Page, expect
from refused_hosts import refuse_other_hosts

from autograde.labs.places import REPOSITORY
from autograde.lectures.notebooks import find_lectures
from autograde.lectures.slides import parts
from conftest import TOKEN, jupyterlab

pytestmark = pytest.mark.timeout(300)
LECTURE = find_lectures(REPOSITORY)[1]


def test_a_heading_with_its_claim_a_box_and_the_rest_are_parts():
    text = "# Title\n\n## One\n\n**A claim.**\n\nMore.\n\nStill more.\n\n> A box.\n\n$$\na\n\n+ b\n$$\n\nMore.\n"
    text += "\n<details><summary>Q?</summary>\n\nA.\n\n</details>\n\n```\n# no heading\n\nb\n```\n"
    assert [*parts(text)] == [
        ("slide", "# Title"),
        ("slide", "## One\n\n**A claim.**"),
        ("notes", "More.\n\nStill more."),
        ("subslide", "> A box."),
        ("subslide", "$$\na\n\n+ b\n$$"),
        ("notes", "More."),
        ("subslide", "<details><summary>Q?</summary>\n\nA.\n\n</details>"),
        ("subslide", "```\n# no heading\n\nb\n```"),
    ]


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The slides of a lecture, on its first one."""
    with jupyterlab(None, tmp_path_factory.mktemp("state"), "--slides") as address:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        asked = refuse_other_hosts(context)
        page = context.new_page()
        page.goto(f"{address}rise/{LECTURE.notebook.relative_to(REPOSITORY)}?token={TOKEN}")
        expect(page.locator(".reveal section.present h1")).to_be_visible(timeout=START)
        yield page
        context.close()
        assert asked == []


@pytest.mark.thorough
def test_slides_go_on_by_key_and_a_cell_runs_on_stage(page: Page, screenshot):
    now = page.locator(".reveal section.present:not(.stack)")
    expect(now).to_contain_text("many ranks")
    page.keyboard.press("Space")
    expect(now.locator(".jp-CodeCell")).to_have_count(1)
    now.locator(".jp-CodeCell .jp-InputPrompt").click()
    page.keyboard.press("Control+Enter")  # runs the cell that starts the ranks
    expect(now.locator(".jp-OutputArea-output").first).to_be_visible(timeout=START)
    screenshot(page, "slides-cell")
    page.keyboard.press("ArrowRight")
    expect(now.locator("h2")).to_be_visible()
    expect(now.locator("strong").first).to_be_visible()
    assert int(now.locator("h2").evaluate("one => parseInt(getComputedStyle(one).fontSize)")) >= 40
    screenshot(page, "slides-claim")
