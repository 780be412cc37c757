"""Without a network JupyterLab, formgrader, feedback and class report show all they have, and ask no other host."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from classroom import Classroom
from example_labs import lab_of_the_story
from notebook_page import START
from playwright.sync_api import Browser, Locator, Page, expect
from refused_hosts import refuse_other_hosts
from small_clone import ROOT

from conftest import TOKEN, jupyterlab

pytestmark = [pytest.mark.timeout(600), pytest.mark.thorough]
LAB = lab_of_the_story("01_sgd_trajectories").name
FORMULAS = 10


@dataclass
class Offline:
    """A page that reaches no other host. asked: the addresses of other hosts that it asked for."""

    page: Page
    asked: list[str]


@pytest.fixture
def offline(browser: Browser) -> Iterator[Offline]:
    """A new browser's page."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    asked = refuse_other_hosts(context)
    yield Offline(context.new_page(), asked)
    context.close()


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class on lab 01, graded: one student, who has done nothing yet."""
    root = tmp_path_factory.mktemp("class") / "course"
    shutil.copytree(ROOT / "solutions" / LAB, root / "solutions" / LAB)
    room = Classroom(root, LAB)
    assert room.lockstep("build").exit_code == 0
    room.put("ada", room.released())
    assert room.grade().exit_code == 0
    assert room.lockstep("report", LAB).exit_code == 0
    return room


@pytest.fixture(scope="module")
def server(room: Classroom, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab on the whole course, as its instructor has it: the address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCKSTEP_COURSE", str(room.root))
        with jupyterlab(room.root, tmp_path_factory.mktemp("state")) as address:
            yield address


def test_a_browser_that_is_offline_notes_what_it_refuses(offline: Offline) -> None:
    offline.page.set_content('<img src="https://elsewhere.example/a.png"><img src="http://127.0.0.1:1/b.png">')
    assert offline.asked == ["https://elsewhere.example/a.png"]


def test_jupyterlab_draws_a_labs_formulas(server: str, offline: Offline, screenshot) -> None:
    offline.page.goto(f"{server}lab/tree/labs/{LAB}/{LAB}.ipynb?token={TOKEN}")
    drawn = offline.page.locator(".jp-Notebook mjx-container")
    expect(drawn.first).to_be_visible(timeout=START)
    drawn.first.scroll_into_view_if_needed()
    expect(offline.page.get_by_text("| Idle")).to_be_visible(timeout=START)
    screenshot(offline.page, "offline-jupyterlab")
    assert offline.asked == []


def test_the_formgrader_draws_them(server: str, offline: Offline, screenshot) -> None:
    page = offline.page
    page.goto(f"{server}formgrader/?token={TOKEN}")
    expect(page.get_by_text(LAB, exact=True).first).to_be_visible(timeout=START)
    for place in f"gradebook/{LAB}/{LAB}", "manage_students", f"manage_submissions/{LAB}":
        page.goto(f"{server}formgrader/{place}")
        expect(page.get_by_text("Loading, please wait")).to_have_count(0)
    page.goto(f"{server}formgrader/manage_students/ada/{LAB}")
    page.get_by_role("link", name=LAB).last.click()
    expect(page.locator("input.score").first).to_be_visible()
    assert_drawn(page.locator("math"))
    page.locator("math").first.scroll_into_view_if_needed()
    screenshot(page, "offline-formgrader")
    assert offline.asked == []


def test_feedback_opened_from_disk_draws_them(room: Classroom, offline: Offline, screenshot) -> None:
    path = room.root / "class" / "feedback" / "ada" / LAB / f"{LAB}.html"
    offline.page.goto(path.as_uri())
    assert_drawn(offline.page.locator("math"))
    screenshot(offline.page, "offline-feedback")
    assert offline.asked == []


def test_the_class_report_opened_from_disk_asks_no_other_host(room: Classroom, offline: Offline) -> None:
    offline.page.goto((Path(room.root) / "class" / LAB / "report.html").as_uri())
    expect(offline.page.get_by_role("heading", name="Scores")).to_be_visible()
    assert offline.asked == []


def assert_drawn(formulas: Locator) -> None:
    """All formulas are there, and have the shape of formulas: a fraction is higher than a line of text."""
    expect(formulas).to_have_count(FORMULAS)
    heights = [formula.bounding_box()["height"] for formula in formulas.all()]
    assert min(heights) > 5
    assert formulas.locator("mfrac").first.bounding_box()["height"] > 1.5 * min(heights)
