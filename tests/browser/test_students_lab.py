"""`./lockstep lab` as students have it: labs, lectures and nothing else, without the menus of instructors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from example_labs import begins_with_a_picture, labs_with, title_of
from labs_under_test import OURS
from notebook_page import LONG, START
from pictures import make_first_screen
from playwright.sync_api import Browser, Page, expect
from small_clone import ROOT

from autograde.cli import main
from autograde.labs.folder import Lab
from conftest import TOKEN, jupyterlab
from course.overview import RESULT

pytestmark = [pytest.mark.timeout(300), pytest.mark.alone]
[DRAWS] = labs_with(1, "that begin with a picture", begins_with_a_picture)
ONE, TWO, THREE = labs_with(3, "that students get")


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """JupyterLab as it opens."""
    with jupyterlab(None, tmp_path_factory.mktemp("state"), "--LabApp.expose_app_in_browser=True") as address:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=address)
        page = context.new_page()
        page.goto(f"{address}lab?token={TOKEN}")
        expect(page.locator(".jp-DirListing-item").first).to_be_visible(timeout=START)
        yield page
        context.close()


def test_the_first_screen_is_the_map_of_the_course(page, screenshot):
    course = page.get_by_role("tabpanel", name="Course map")
    expect(course.get_by_role("heading", level=1)).to_have_text("Course map", timeout=START)
    labs, lectures = course.get_by_role("list").all()
    expect(labs.get_by_role("listitem")).to_have_count(len([*(ROOT / "labs").glob("[0-9]*/*.ipynb")]))
    expect(lectures.get_by_role("listitem")).to_have_count(len([*(ROOT / "course" / "lectures").glob("[0-9]*.md")]))
    expect(course.get_by_role("link", name=f"{title_of(ONE)}, not begun")).to_be_visible()
    assert course.locator("img").evaluate_all("all => all.filter(one => one.complete && !one.naturalWidth).length") == 0
    # axe takes all for hidden that lies outside of the body, which in JupyterLab has no height.
    page.evaluate("document.body.style.overflow = 'visible'")
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        change = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
        page.evaluate(change, theme)
        expect(page.locator(f"body[data-jp-theme-light='{str('Light' in theme).lower()}']")).to_have_count(1)
        expect(page.locator("#jupyterlab-splash")).to_have_count(0)  # it lies over all for a moment
        assert Axe().run(page, context=".lockstep-Map").response["violations"] == []
        screenshot(page, f"students-first-{theme.split()[-1].lower()}")
    for width, least in ((1280, 380), (1000, 380), (640, 200)):  # of a picture: there are letters in it
        page.set_viewport_size({"width": width, "height": 900})
        expect(course.locator("img").first).to_be_visible()
        assert course.evaluate("one => one.scrollWidth <= one.clientWidth"), width
        assert min(course.locator("img").evaluate_all("all => all.map(one => one.clientWidth)")) >= least, width
        screenshot(page, f"students-first-{width}")
    page.set_viewport_size({"width": 1280, "height": 900})


def test_the_picture_of_the_first_screen_has_all_labs_in_it(page):
    page.set_viewport_size({"width": 1680, "height": 1300})
    labs, _ = page.get_by_role("tabpanel", name="Course map").get_by_role("list").all()
    box = labs.bounding_box()
    page.set_viewport_size({"width": 1680, "height": round(box["y"] + box["height"]) + 60})
    for lab in labs.get_by_role("listitem").all():
        expect(lab).to_be_in_viewport(ratio=1)
    make_first_screen(page)
    page.set_viewport_size({"width": 1280, "height": 900})


def test_a_lab_opens_from_the_map_by_keyboard_and_the_map_says_how_far_one_is(page, screenshot):
    lab = ROOT / "labs" / DRAWS.name / DRAWS.notebook
    before = lab.read_bytes()
    course = page.get_by_role("tabpanel", name="Course map")
    link = course.get_by_role("link", name=re.compile(f"^{DRAWS.name[:2]} "))
    try:
        link.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=START)
        lab.write_bytes(with_a_check_passed(before))
        page.evaluate("window.jupyterapp.commands.execute('lockstep-map:open')")
        expect(link).to_have_accessible_name(re.compile("passed 1 of"))
        facts = link.locator("xpath=ancestor::li").locator(".facts > span")
        tops = facts.evaluate_all("all => all.map(one => one.offsetTop)")
        assert tops[0] == tops[2], "how far one is, and the minutes, are one line"
        screenshot(page, "students-first-passed")
    finally:
        lab.write_bytes(before)
    page.reload()
    expect(page.get_by_role("tab", name=DRAWS.notebook)).to_be_visible(timeout=START)
    expect(page.get_by_role("tab", name="Course map")).to_be_visible()
    begin_again(page)
    expect(course.get_by_role("heading", level=1)).to_be_visible(timeout=START)


def begin_again(page: Page) -> None:
    """Open JupyterLab as if for the first time."""
    page.goto("lab?reset")
    expect(page.locator(".jp-DirListing-item").first).to_be_visible(timeout=START)


def with_a_check_passed(notebook: bytes) -> bytes:
    """The notebook with what its first check says of a right answer."""
    written = nbformat.reads(notebook.decode(), as_version=4)
    cell = next(cell for cell in written.cells if cell.id.endswith("-check"))
    cell.outputs = [nbformat.v4.new_output("display_data", metadata={RESULT: {"passed": True}})]
    return nbformat.writes(written).encode()


def test_the_launcher_offers_what_students_need(page):
    page.evaluate("window.jupyterapp.commands.execute('launcher:create')")
    cards = page.locator(".jp-LauncherCard:visible")
    expect(cards.filter(has_text="Course map")).to_have_count(1)
    assert [name for name in cards.all_text_contents() if "onsole" in name] == []
    begin_again(page)


def test_the_file_browser_shows_labs_and_lectures_and_nothing_else(page, screenshot):
    there = {path.name for path in (ROOT / "labs").glob("[!.]*")}
    assert {*page.locator(".jp-DirListing-itemText").all_text_contents()} == there
    assert "GLOSSARY.md" in there
    for folder, names in {"": {"labs", "course"}, "course": {"lectures"}}.items():
        entries = page.request.get(f"api/contents/{folder}?token={TOKEN}").json()["content"]
        assert {entry["name"] for entry in entries} == names
    for path in ("../solutions", "..%2Fsolutions", "solutions", "labs/%2e%2e/%2e%2e/%2e%2e/solutions/README.md"):
        assert page.request.get(f"api/contents/{path}?token={TOKEN}").status in (400, 404), path
    assert page.request.get(f"files/solutions/README.md?token={TOKEN}").status == 404
    assert page.request.get(f"files/labs/README.md?token={TOKEN}").status == 200
    screenshot(page, "students-lab")


def test_the_map_of_the_labs_opens_as_a_page_with_all_its_pictures(page, screenshot):
    page.locator(".jp-DirListing-itemText", has_text=re.compile("^README.md$")).dblclick()
    expect(page.locator(".jp-MarkdownViewer h1").first).to_have_text(re.compile("The labs"), timeout=START)
    pictures = page.locator(".jp-MarkdownViewer img")
    expect(pictures).to_have_count(len([*(ROOT / "labs").glob("*/picture.png")]), timeout=START)
    widths = "all => all.every(one => one.complete && one.naturalWidth > 300)"
    page.wait_for_function(f"({widths})([...document.querySelectorAll('.jp-MarkdownViewer img')])", timeout=START)
    screenshot(page, "students-map")


def test_no_menu_or_tab_of_instructors_shows(page):
    assert "Nbgrader" not in page.locator(".lm-MenuBar-itemLabel").all_text_contents()
    tabs = [tab.get_attribute("title") for tab in page.locator(".jp-SideBar .lm-TabBar-tab").all()]
    assert len(tabs) >= 4
    assert [title for title in tabs if "nbgrader" in title.lower() or "parallel" in title.lower()] == []


def test_a_lab_finds_the_kit_and_its_data(page):
    for name in (DRAWS.name, DRAWS.notebook):
        page.locator(".jp-DirListing-itemText", has_text=re.compile(f"^{re.escape(name)}$")).dblclick()
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=START)
    page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt").first.click()  # the cell is folded
    page.keyboard.press("Control+Enter")
    expect(page.locator(".jp-Notebook .jp-OutputArea-output img").first).to_be_visible(timeout=START)


def test_a_lab_that_was_opened_and_not_changed_counts_as_saved(page):
    """Also once its kernel has said what it runs, which JupyterLab puts into the notebook; typing makes the dot."""
    page.goto(f"lab/tree/labs/{TWO.name}/{TWO.notebook}?token={TOKEN}&reset")
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=START)
    version = "() => window.jupyterapp.shell.currentWidget.content.model.getMetadata('language_info').version"
    page.wait_for_function(version, timeout=START)
    dot = page.locator(".lm-TabBar-tab.jp-mod-current.jp-mod-dirty")
    expect(page.locator(".lm-TabBar-tab.jp-mod-current")).to_have_count(1)
    expect(dot).to_have_count(0)
    page.locator(".jp-Notebook .jp-CodeCell .cm-content:visible").last.click()
    page.keyboard.type("# mine")
    expect(dot).to_have_count(1)


def test_validate_runs_the_lab_and_tells_what_it_found(page, screenshot):
    path = ROOT / "labs" / ONE.name / ONE.notebook
    before = path.read_bytes()
    try:
        page.goto(f"lab/tree/labs/{path.parent.name}/{path.name}?token={TOKEN}&reset")
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=START)
        page.locator(".jp-NotebookPanel:visible").get_by_text("Validate", exact=True).click()
        dialog = page.locator(".jp-Dialog")
        expect(dialog).to_contain_text("Validation Results", timeout=LONG)
        expect(dialog).to_contain_text("The following cell failed")
        expect(dialog).to_contain_text("not started")
        screenshot(page, "students-validate")
        dialog.get_by_role("button").last.click()
    finally:
        path.write_bytes(before)


def test_in_a_narrow_window_no_line_of_code_is_cut_off(page):
    page.set_viewport_size({"width": 1000, "height": 900})
    scroll = "all => { const [one] = all, before = one.scrollTop; one.scrollTop += 600; return one.scrollTop > before }"
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth + 2).map(one => one.textContent)"
    seen = 0
    while page.locator(".jp-WindowedPanel-outer").evaluate_all(scroll):
        page.wait_for_timeout(300)
        lines = page.locator(".jp-Notebook .cm-line:visible")
        seen += any(len(line) > 80 for line in lines.all_text_contents())
        assert page.locator(".jp-Notebook .cm-scroller:visible").evaluate_all(cut) == []
    assert seen, "there are long lines"


def test_a_link_leads_from_a_lab_to_its_lecture_and_back(page):
    page.set_viewport_size({"width": 1280, "height": 900})
    lab, lecture, back = linked_both_ways()
    page.goto(f"lab/tree/labs/{lab.name}/{lab.notebook}?token={TOKEN}&reset")
    shown = page.locator(".jp-NotebookPanel:visible .jp-Notebook")
    shown.get_by_role("link", name=lecture).first.click(timeout=START)
    expect(shown.get_by_role("heading", level=1).first).to_contain_text(lecture, timeout=START)
    shown.get_by_role("link", name=back).first.click(timeout=START)
    expect(shown.get_by_role("heading", level=1).first).to_contain_text(title_of(lab), timeout=START)


def linked_both_ways() -> tuple[Lab, str, str]:
    """A lab that links a lecture by its title, which links the lab: the lab, that title, and the words of the other."""
    for lab in OURS:
        text = lab.source.read_text()
        for title, lecture in re.findall(r"\[([^\]\n]+)\]\(\.\./\.\./course/lectures/(\w+)\.ipynb\)", text):
            written = (ROOT / "course" / "lectures" / f"{lecture}.md").read_text()
            if found := re.search(rf"\[([^\]\n]+)\]\([^)\n]*labs/{lab.name}/", written):
                return lab, title, found[1]
    pytest.skip("no lab and lecture link each other")


def test_a_course_of_three_labs_has_its_map_below_a_path(browser, tmp_path, monkeypatch, screenshot):
    names = [THREE.name, ONE.name, TWO.name]
    course, state = tmp_path / "course", tmp_path / "state"
    course.mkdir()
    state.mkdir()
    (course / "solutions").symlink_to(ROOT / "solutions")
    (course / "course.toml").write_text(f"labs = {json.dumps(names)}\n")
    monkeypatch.setenv("LOCKSTEP_COURSE", str(course))
    built = CliRunner().invoke(main, ["build"])
    assert built.exit_code == 0, built.output
    with jupyterlab(None, state, "--ServerApp.base_url=/x/") as address:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{address}lab?token={TOKEN}")
        shown = page.get_by_role("tabpanel", name="Course map")
        expect(shown.get_by_role("heading", level=1)).to_have_text("Course map", timeout=START)
        labs, lectures = shown.get_by_role("list").all()
        links = labs.get_by_role("heading").get_by_role("link")
        addresses = [f"/x/lab/tree/labs/{name}/{name}.ipynb" for name in names]
        assert [link.get_attribute("href") for link in links.all()] == addresses
        decoded = labs.locator("img").evaluate_all("all => Promise.all(all.map(one => one.decode()))")
        assert decoded == [None] * len(names)
        screenshot(page, "students-three-labs")
        links.nth(1).click()
        expect(page.get_by_role("tab", name=f"{names[1]}.ipynb")).to_be_visible(timeout=START)
        page.get_by_role("tab", name="Course map").click()
        lectures.get_by_role("link").first.click()
        expect(page.locator(".jp-NotebookPanel:visible .jp-Notebook")).to_contain_text("too large", timeout=START)
        page.close()
