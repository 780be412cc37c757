"""`./lockstep lab` as students have it: the labs and nothing else, without the menus of instructors."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from conftest import TOKEN, jupyterlab
from notebook_page import START
from playwright.sync_api import Browser, Page, expect
from small_clone import ROOT

pytestmark = [pytest.mark.timeout(300), pytest.mark.alone]


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """JupyterLab as it opens."""
    with jupyterlab(None, tmp_path_factory.mktemp("state")) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=address)
        page = context.new_page()
        page.goto(f"{address}lab?token={TOKEN}")
        expect(page.locator(".jp-DirListing-item").first).to_be_visible(timeout=START)
        yield page
        context.close()


def test_the_file_browser_shows_the_labs_and_nothing_else(page, screenshot):
    there = {path.name for path in (ROOT / "labs").glob("[!.]*")}
    assert {*page.locator(".jp-DirListing-itemText").all_text_contents()} == there
    assert "GLOSSARY.md" in there
    for path in ("../solutions", "..%2Fsolutions", "solutions", "%2e%2e/solutions/01_sgd_trajectories/lab.py"):
        assert page.request.get(f"api/contents/{path}?token={TOKEN}").status in (400, 404), path
    screenshot(page, "students-lab")


def test_no_menu_or_tab_of_instructors_shows(page):
    assert "Nbgrader" not in page.locator(".lm-MenuBar-itemLabel").all_text_contents()
    tabs = [tab.get_attribute("title") for tab in page.locator(".jp-SideBar .lm-TabBar-tab").all()]
    assert len(tabs) >= 4
    assert [title for title in tabs if "nbgrader" in title.lower() or "parallel" in title.lower()] == []


def test_a_lab_finds_the_kit_and_its_data(page):
    for name in ("06_distributed_sampler", "06_distributed_sampler.ipynb"):
        page.locator(".jp-DirListing-itemText", has_text=re.compile(f"^{re.escape(name)}$")).dblclick()
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=START)
    page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt").first.click()  # the cell is folded
    page.keyboard.press("Control+Enter")
    expect(page.locator(".jp-Notebook .jp-OutputArea-output img").first).to_be_visible(timeout=START)
