"""A rubric as people see it: in the notebook, in the formgrader and in the feedback, light and dark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from classroom import Classroom
from example_labs import lab_of_the_story
from notebook_page import START, NotebookPage
from playwright.sync_api import Browser, Page, expect
from small_clone import ROOT

from autograde.labs.folder import load_variants
from conftest import TOKEN, jupyterlab

pytestmark = [pytest.mark.timeout(600), pytest.mark.thorough]
LAB = lab_of_the_story("03_pi_allreduce").name
RUBRIC = '[role="status"][aria-label="Result of the check of parallel_pi"]'
# One TODO is right, one has a wrong criterion, one a deadlock; the fourth is not begun.
MISTAKES = {"parallel_pi": "average", "parallel_pi_horovod": "only_rank_0"}


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class on lab 03, graded: one student."""
    root = tmp_path_factory.mktemp("class") / "course"
    shutil.copytree(ROOT / "solutions" / LAB, root / "solutions" / LAB)
    room = Classroom(root, LAB)
    assert room.lockstep("build").exit_code == 0
    right, wrong = load_variants(ROOT / "solutions" / LAB / "variants")
    answers = {todo: wrong[todo][name].source for todo, name in MISTAKES.items()}
    answered = room.answered(answers | {"partial_sum": right["partial_sum"]["blocks"]})
    room.put("ada", answered)
    nbformat.write(answered, root / "labs" / LAB / f"{LAB}.ipynb")
    assert room.grade().exit_code == 0
    room.lockstep("feedback", LAB)
    return room


@pytest.fixture(scope="module")
def server(room: Classroom, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab on the whole course, as its instructor has it: the address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCKSTEP_COURSE", str(room.root))
        with jupyterlab(room.root, tmp_path_factory.mktemp("state"), "--LabApp.expose_app_in_browser=True") as address:
            yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A new browser's page."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    yield context.new_page()
    context.close()


def assert_readable(page: Page) -> None:
    """The rubric says which rows hold, and axe has nothing against it."""
    rubric = page.locator(RUBRIC).first
    expect(rubric).to_be_visible()
    expect(rubric).to_contain_text("does not hold, 1.25 points: all ranks return pi, the very same float")
    expect(rubric).to_contain_text("holds, 1 point: exactly one all-reduce of one float64")
    expect(rubric).to_contain_text("[average-for-sum]")
    assert rubric.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert Axe().run(page, context=RUBRIC).response["violations"] == []


def test_in_the_notebook_the_rubric_is_readable_light_and_dark(server: str, page: Page, room, screenshot) -> None:
    path = f"labs/{LAB}/{LAB}.ipynb"
    cells = len(nbformat.read(room.root / path, as_version=4).cells)
    page.goto(f"{server}lab/tree/{path}?token={TOKEN}")
    notebook = NotebookPage(page, cells)
    notebook.restart_and_run_all()
    # axe takes all for hidden that lies outside of the body, which in JupyterLab has no height.
    page.evaluate("document.body.style.overflow = 'visible'")
    for theme in "JupyterLab Light", "JupyterLab Dark":
        page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", theme)
        expect(page.locator(f"body[data-jp-theme-light='{str('Light' in theme).lower()}']")).to_have_count(1)
        expect(page.locator("#jupyterlab-splash")).to_have_count(0)  # it lies over all for a moment
        # In the middle: axe cannot tell the contrast of what is half under the toolbar.
        page.locator(RUBRIC).evaluate("one => one.scrollIntoView({block: 'center'})")
        assert_readable(page)
        screenshot(page, f"rubric-notebook-{theme.split()[-1].lower()}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_the_formgrader_the_rubric_is_readable(server: str, page: Page, scheme, screenshot) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}formgrader/?token={TOKEN}")
    expect(page.get_by_text(LAB, exact=True).first).to_be_visible(timeout=START)
    page.goto(f"{server}formgrader/manage_students/ada/{LAB}")
    page.get_by_role("link", name=LAB).last.click()
    expect(page.locator("input.score").first).to_be_visible(timeout=START)
    page.locator(RUBRIC).first.scroll_into_view_if_needed()
    assert_readable(page)
    screenshot(page, f"rubric-formgrader-{scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_the_feedback_the_rubric_is_readable(room: Classroom, page: Page, scheme, screenshot) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(Path(room.root / "class" / "feedback" / "ada" / LAB / f"{LAB}.html").as_uri())
    page.locator(RUBRIC).first.scroll_into_view_if_needed()
    assert_readable(page)
    screenshot(page, f"rubric-feedback-{scheme}")


@pytest.mark.parametrize("kind", ["feedback", "report", "term"])
def test_pages_of_a_class_can_be_used_narrow_in_the_dark_and_by_a_reader_of_screens(
    room: Classroom, page: Page, kind: str, screenshot
) -> None:
    path = room.root / "class" / "feedback" / "ada" / LAB / f"{LAB}.html"
    if kind != "feedback":
        done = room.lockstep("report", *([LAB] if kind == "report" else []))
        path = Path(done.output.split()[-1])
    for width, scheme in ((1280, "light"), (640, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto(path.as_uri())
        screenshot(page, f"{kind}-{width}-{scheme}")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width
        found = Axe().run(page).response["violations"]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == [], (width, scheme)
