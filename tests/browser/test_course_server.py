"""The server of a course, as an instructor's browser shows it: formgrader, class reports, terminal. No hub runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from classroom import Classroom, write
from filled_gradebook import filled, hand_in
from playwright.sync_api import Browser, Page, Route, expect
from refused_hosts import refuse_other_hosts
from server_address import address_of
from small_course import ANSWERS, LAB, LAB_PY, make_course

from autograde.classroom.nbgrader_course import Course
from autograde.classroom.runs.progress import log_path, reporting
from course.jupyterhub.place import NBGRADER_CONFIG, REPOSITORY

TOKEN, NAMELESS = "secret", "s1234567"
START = 120_000  # ms
QUESTION = '\n# %% [markdown]\n# **Why** is it $x^2$?\n\n# %% [markdown] answer="why" points=2\n# The model answer.\n'
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = f"""Since $x^2$ <script>window.taken = 1</script><img src=x onerror="window.taken = 2">
<a href="javascript:window.taken = 3">press</a> <svg onload="window.taken = 4"></svg>
<button class="full-credit" id="why">press</button>

| a | b |
|---|--:|
| 1 | 2 |

![drawn](data:image/png;base64,{PNG})
"""
TAKEN = "() => [window.taken, document.querySelectorAll('[onerror], [onload], [href^=javascript]').length]"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A course with one lab. Ada's answer is hostile; another student, who is graded too, has no full name."""
    room = filled(tmp_path_factory.mktemp("hub") / "course")
    make_course(room.root, LAB_PY + QUESTION)
    assert room.lockstep("build").exit_code == 0
    Course(room.root).register(LAB)
    with room.gradebook() as gradebook:
        gradebook.add_student(NAMELESS, first_name="", last_name=NAMELESS)
    for student, text in (("ada", HOSTILE), (NAMELESS, "It *is*.")):
        hand_in(room, student, double=2, total=3)
        folder = room.root / "class" / "autograded" / student / LAB
        folder.mkdir(parents=True)
        write(folder / f"{LAB}.ipynb", room.answered(ANSWERS | {"why": text}))
        room.put(student, room.answered(ANSWERS | {"why": text}))
    (room.root.parent / "exchange").mkdir()
    (room.root.parent / "exchange").chmod(0o777)
    return room


@pytest.fixture(scope="module")
def address(room: Classroom) -> Iterator[str]:
    """The address of the course's server."""
    folder = room.root.parent
    known = {"course": "hpc", "exchange": str(folder / "exchange"), "folder": str(room.root), "check_owner": False}
    (room.root / "nbgrader_config.py").write_text(NBGRADER_CONFIG.format_map(known))
    told = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    told |= {"JUPYTER_CONFIG_PATH": str(REPOSITORY / "course" / "jupyterhub" / "grader"), "IPYTHONDIR": str(folder)}
    told |= {"JUPYTERHUB_BASE_URL": "/jupyter/", "JUPYTERHUB_SERVICE_NAME": "hpc", "LOCKSTEP_COURSE": str(room.root)}
    told |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    options = ["--no-browser", "--ip=127.0.0.1", "--port=0", f"--IdentityProvider.token={TOKEN}", "--allow-root"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], cwd=room.root, env=os.environ | told, stdout=log, stderr=log
        )
        try:
            yield address_of(server, folder / "runtime", folder / "log")
        finally:
            server.terminate()
            server.wait()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """An instructor's browser, logged in, in which no other host is asked."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    asked, page = refuse_other_hosts(context), context.new_page()
    page.goto(f"{address}api/status?token={TOKEN}")
    yield page
    assert asked == []
    context.close()


def test_the_formgrader_leads_back_and_has_no_comma_where_there_is_no_name(page, address, screenshot):
    page.goto(f"{address}formgrader/manage_students")
    expect(page.get_by_role("link", name=NAMELESS, exact=True)).to_be_visible(timeout=START)
    expect(page.get_by_role("link", name="Lovelace, Ada", exact=True)).to_be_visible()
    for where in ("manage_students", "manage_assignments", "gradebook", f"manage_submissions/{LAB}"):
        page.goto(f"{address}formgrader/{where}")
        expect(page.get_by_text("Loading, please wait")).to_have_count(0)
        expect(page.get_by_role("link", name="Your courses")).to_have_attribute("href", "/jupyter/hub/home")
    screenshot(page, "formgrader-leads-back")


def test_no_script_of_a_student_runs_where_work_is_read_and_the_page_leads_back(room, page, address, screenshot):
    with room.gradebook() as gradebook:
        submission = gradebook.find_submission_notebook(LAB, LAB, "ada").id
    for where in (f"formgrader/submissions/{submission}/", f"text-answers/{LAB}"):
        page.goto(f"{address}{where}")
        expect(page.get_by_role("img", name="drawn")).to_be_visible(timeout=START)
        expect(page.get_by_role("cell", name="2", exact=True)).to_be_visible()
        assert page.locator("math").count() >= 1
        page.wait_for_load_state("load")
        assert page.evaluate(TAKEN) == [None, 0], where
        expect(page.locator("button.full-credit")).to_have_count(3 if "formgrader" in where else 0)
        expect(page.get_by_role("link", name="Your courses")).to_have_attribute("href", "/jupyter/hub/home")
    page.goto(f"{address}formgrader/submissions/{submission}/")
    screenshot(page, "submission-leads-back")


def test_texts_are_scored_one_below_the_other_by_keyboard(page, address, screenshot):
    page.goto(f"{address}text-answers/{LAB}")
    expect(page.get_by_role("heading", name="why: 2 points")).to_be_visible(timeout=START)
    for width, scheme in ((1280, "light"), (640, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert Axe().run(page).response["violations"] == [], (width, scheme)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        screenshot(page, f"texts-{scheme}")
    ada, nameless = page.get_by_role("article", name="Lovelace, Ada"), page.get_by_role("article", name=NAMELESS)
    expect(page.get_by_text("2 to read")).to_be_visible()
    ada.get_by_label("Score, of 2").focus()
    for typed in ("1.5", "Tab", "Why?", "Tab", "3", "Enter"):
        page.keyboard.press(typed) if typed in ("Tab", "Enter") else page.keyboard.type(typed)
    expect(page.get_by_role("status")).to_have_text("Saved: 2 changes.", timeout=START)
    expect(page.get_by_role("alert")).to_contain_text("A score is from 0 to 2 here, not 3.")
    expect(nameless.get_by_label("Score, of 2")).to_have_value("3")
    expect(ada.get_by_label("Comment")).to_have_value("Why?")
    expect(page.get_by_text("1 to read")).to_be_visible()
    assert Axe().run(page).response["violations"] == []
    screenshot(page, "texts-refused")
    # Somebody else changes a score meanwhile: that is kept, and named.
    other = page.context.new_page()
    other.goto(f"{address}text-answers/{LAB}?unnamed=1")
    expect(
        other.get_by_role("heading", name="Answer 2 To read").or_(other.get_by_role("heading", name="Answer 1"))
    ).not_to_have_count(0)
    assert "Lovelace" not in other.content() and NAMELESS not in other.content()
    field = f"#{ada.get_by_label('Score, of 2').get_attribute('id')}"
    other.locator(field).fill("2")
    other.get_by_role("button", name="Save all").click()
    expect(other.get_by_role("status")).to_have_text("Saved: 1 change.", timeout=START)
    ada.get_by_label("Score, of 2").fill("1")
    nameless.get_by_label("Score, of 2").fill("2")
    page.get_by_role("button", name="Save all").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody else gave 2 meanwhile.", timeout=START)
    expect(page.get_by_role("status")).to_have_text("Saved: 1 change.")
    page.get_by_role("button", name="Save all").click()
    expect(page.get_by_text("All are read.")).to_be_visible(timeout=START)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_how_far_a_grading_is_shows_by_itself_and_it_can_be_stopped(room, page, address, screenshot):
    page.goto(f"{address}class-grading/{LAB}")
    expect(page.get_by_role("heading", name=f"{LAB} has not been graded yet")).to_be_visible(timeout=START)
    with reporting(room.root, LAB, in_background=True) as run:
        run.step("grading", 60)
        page.reload()
        expect(page.get_by_role("heading", name=f"{LAB} is being graded")).to_be_visible()
        run.report(done=12)
        expect(page.get_by_role("status")).to_have_text("Grading, 12 of 60")
        assert page.get_by_role("progressbar").evaluate("bar => bar.value / bar.max") == 0.2
        for width, scheme in ((1280, "light"), (640, "dark")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert Axe().run(page).response["violations"] == [], (width, scheme)
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
            screenshot(page, f"grading-{scheme}")
        log_path(room.root, LAB).write_text("student  score\nada      5/5 <b>\n")
    expect(page.get_by_role("heading", name=f"{LAB} is graded")).to_be_visible()
    expect(page.locator("pre")).to_have_text("student  score\nada      5/5 <b>")
    assert Axe().run(page).response["violations"] == []
    screenshot(page, "grading-done")
    expect(page.get_by_role("main").get_by_role("link", name="Your courses")).to_have_attribute(
        "href", "/jupyter/hub/home"
    )
    # Without JavaScript a run in a terminal is stopped as well.
    holding = f"with reporting(pathlib.Path({str(room.root)!r}), {LAB!r}): print('on', flush=True); time.sleep(600)"
    code = f"import time, pathlib\nfrom {reporting.__module__} import reporting\n{holding}"
    terminal = subprocess.Popen(
        [sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert terminal.stdout.readline() == b"on\n"
    page.reload()
    expect(page.get_by_text("in a terminal")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("heading", name=f"The grading of {LAB} was stopped")).to_be_visible()
    assert terminal.wait() != 0


def test_a_release_of_feedback_that_holds_somebody_back_is_no_plain_success(page, address, screenshot):
    page.goto(f"{address}formgrader/manage_assignments")
    page.locator("td.release-feedback a").click(timeout=START)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Feedback is released to nobody")).to_be_visible(timeout=START)
    expect(dialog.get_by_role("listitem").first).to_contain_text("ada: feedback is not released: ")
    assert "Success" not in dialog.inner_text()
    screenshot(page, "feedback-held-back")


def test_a_labs_name_leads_to_its_source_and_the_preview_warns(page, address):
    page.goto(f"{address}formgrader/manage_assignments")
    name = page.get_by_role("link", name=LAB, exact=True)
    expect(name).to_have_attribute("href", re.compile(f"/tree/(.*/)?solutions/{LAB}$"), timeout=START)
    assert "build/" not in name.get_attribute("href")
    expect(name).to_have_attribute("title", re.compile("edit lab.py here"))
    expect(page.locator("td.preview a")).to_have_attribute("title", re.compile("runs as the course's grader"))


def test_what_a_release_says_is_not_hidden_below_checksums(page, address, screenshot):
    row = page.locator("tr", has=page.get_by_role("link", name=LAB, exact=True))
    page.goto(f"{address}formgrader/manage_assignments")
    row.locator("td.release a").click(timeout=START)
    dialog = page.get_by_role("dialog").filter(has=page.get_by_role("button", name="OK"))
    expect(dialog).to_contain_text(f"Successfully released '{LAB}'", timeout=START)
    screenshot(page, "formgrader-released")
    assert dialog.locator("pre").evaluate("one => one.scrollWidth <= one.clientWidth")
    assert "Checksum" not in dialog.inner_text() and len(dialog.locator("pre").inner_text().splitlines()) < 8
    dialog.get_by_role("button", name="OK").click()

    # Another instructor, whose page is older, releases it once more.
    done = page.request.post(
        f"{address}formgrader/api/assignment/{LAB}/release", headers={"X-XSRFToken": xsrf(page)}
    ).json()
    assert not done["success"] and "is released already. To release it again: `./lockstep release" in done["log"]


def xsrf(page: Page) -> str:
    """What nbgrader's own page sends with each request."""
    return next(each["value"] for each in page.context.cookies() if each["name"] == "_xsrf")


def test_a_report_that_is_being_made_says_so_and_shows_by_itself(page, address, screenshot):
    held: list[Route] = []
    page.route("**/class-report?ready=1", lambda route: held.append(route))
    page.goto(f"{address}class-report")
    expect(page.get_by_role("heading", name="The report on all labs is being made")).to_be_visible()
    for width, scheme in ((1280, "light"), (640, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert Axe().run(page).response["violations"] == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        screenshot(page, f"report-being-made-{scheme}")
    held[0].continue_()
    expect(page.get_by_role("heading", name="All labs")).to_be_visible(timeout=START)
    expect(page.get_by_role("link", name="Your courses")).to_have_attribute("href", "/jupyter/hub/home")
    screenshot(page, "report-leads-back")
    page.goto(f"{address}class-report/{LAB}")
    expect(page.get_by_role("heading", name=LAB, exact=True)).to_be_visible(timeout=START)


def test_a_report_that_cannot_be_made_says_why_and_leads_back(page, address, screenshot):
    page.goto(f"{address}class-report/99_nothing")
    expect(page.get_by_role("alert")).to_contain_text("99_nothing", timeout=START)
    expect(page.get_by_role("link", name="Your courses")).to_have_attribute("href", "/jupyter/hub/home")
    assert Axe().run(page).response["violations"] == []


def test_terminal_and_jupyterlab_lead_back(page, address, screenshot):
    for where, shown in (("terminals/of_iris", ".jp-Terminal"), ("lab", ".jp-Launcher")):
        page.goto(f"{address}{where}")
        expect(page.locator(shown)).to_be_visible(timeout=START)
        expect(page.get_by_role("link", name="Your courses")).to_be_visible(timeout=START)
        screenshot(page, f"leads-back-{where.partition('/')[0]}")
