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
from filled_gradebook import filled
from playwright.sync_api import Browser, Page, Route, expect
from refused_hosts import refuse_other_hosts
from server_address import address_of
from small_course import LAB

from course.jupyterhub.place import NBGRADER_CONFIG, REPOSITORY

TOKEN, NAMELESS = "secret", "s1234567"
START = 120_000  # ms


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server of a course with one lab, in which one student's account has no full name."""
    folder = tmp_path_factory.mktemp("hub")
    room = filled(folder / "course")
    with room.gradebook() as gradebook:
        gradebook.add_student(NAMELESS, first_name="", last_name=NAMELESS)
    (folder / "exchange").mkdir()
    (folder / "exchange").chmod(0o777)
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
