"""Handing in as a student does it in a browser, from the page of labs and in JupyterLab. A student's server, no hub."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from hub_pages import lab_of
from one_student import COURSE, LAB, NOTEBOOK, student_with, todo
from playwright.sync_api import Browser, BrowserContext, Page, expect
from server_address import address_of
from small_clone import ROOT

from course.exchange.due import content_of, deadline_file
from course.exchange.handed_in.choice import choice_file, write_choice
from course.exchange.names import read_name

pytestmark = pytest.mark.thorough
WAIT = 90_000  # ms for JupyterLab to open, on a machine that does other things too
CONFIG = """
from nbgrader.auth import NoAuthPlugin
c = get_config()
c.Authenticator.plugin_class = NoAuthPlugin
c.Exchange.cache = {!r}
"""


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A student with a server as the hub starts it. labs: the address of the page of labs."""
    place = tmp_path_factory.mktemp("student")
    exchange = student_with(place, [*todo("double"), *todo("total")])
    (place / "config").mkdir()
    (place / "config" / "nbgrader_config.py").write_text(CONFIG.format(str(place / "home" / ".local")))
    words = ["lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"]
    words += ["--IdentityProvider.token=", f"--ServerApp.root_dir={place / 'home'}"]
    environment = os.environ | {
        "JUPYTER_CONFIG_PATH": f"{place / 'config'}:{ROOT / 'course' / 'jupyterhub' / 'people'}",
        "JUPYTER_CONFIG_DIR": str(place / "own"),
        "JUPYTER_RUNTIME_DIR": str(place / "runtime"),
        "JUPYTER_DATA_DIR": str(place / "data"),
        "JUPYTERHUB_USER": "ada",
        "LOCKSTEP_EXCHANGE": str(place / "exchange"),
        "PYTHONPATH": str(ROOT),
    }
    log = place / "log"
    with log.open("w") as file:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyter", *words], env=environment, stdout=file, stderr=file, cwd=place / "home"
        )
    try:
        address = address_of(server, place / "runtime", log)
        yield SimpleNamespace(exchange=exchange, labs=f"{address}labs", lab=f"{address}lab")
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser of the student's own."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        yield context


def notebook(ada: SimpleNamespace) -> Path:
    """The student's notebook."""
    return ada.exchange.root / COURSE / LAB / NOTEBOOK


def change(ada: SimpleNamespace, text: str) -> None:
    """Write a line into the lab's first cell."""
    saved = nbformat.read(notebook(ada), as_version=4)
    saved.cells[0].source += f"\n{text}"
    nbformat.write(saved, notebook(ada))


def submissions(ada: SimpleNamespace) -> list[Path]:
    """What the student has handed in, oldest first."""
    return sorted((ada.exchange.place / COURSE / "inbound").glob("ada+*"))


def handed_in(ada: SimpleNamespace) -> int:
    """How often the student has handed in."""
    return len(submissions(ada))


def opened(page: Page) -> None:
    """JupyterLab shows the notebook."""
    expect(page.locator(".jp-NotebookPanel:visible .jp-Notebook")).to_be_visible(timeout=WAIT)
    expect(page.locator(".jp-NotebookPanel:visible .jp-CodeCell").first).to_be_visible()


def answer(page: Page, button: str) -> str:
    """What JupyterLab's dialog says, which is closed by a button."""
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_be_visible(timeout=WAIT)
    said = dialog.inner_text()
    dialog.get_by_role("button", name=button).click()
    return said


def test_the_page_says_what_was_taken_asks_before_a_late_one_and_hands_in_nothing_twice(ada, context, screenshot):
    page = context.new_page()
    page.goto(ada.labs)
    lab_of(page, LAB).get_by_role("button", name="Hand in").click()
    done = page.get_by_role("status")
    expect(done).to_contain_text("Small is handed in.")
    expect(done).to_contain_text(f"{NOTEBOOK} was taken as it was saved at")
    expect(done).to_contain_text("0 of 2 checks have passed in it; double and total are untouched.")
    screenshot(page, "handing-in-receipt")
    lab_of(page, LAB).get_by_role("button", name="Hand in again").click()
    expect(page.get_by_role("status")).to_contain_text("nothing was handed in again")
    assert handed_in(ada) == 1

    change(ada, "More.")
    due = datetime.now(UTC).replace(tzinfo=None)
    ada.exchange.place.joinpath(COURSE, "outbound").mkdir(exist_ok=True)
    deadline_file(ada.exchange.place, COURSE, LAB).write_bytes(content_of(due + timedelta(seconds=1)))
    expect(page.locator("body")).to_be_visible()
    while datetime.now(UTC).replace(tzinfo=None) < due + timedelta(seconds=3):
        page.wait_for_timeout(100)
    for width, scheme in ((1280, "light"), (640, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        lab_of(page, LAB).get_by_role("button", name="Hand in again").focus()
        page.keyboard.press("Enter")
        asked = page.get_by_role("alert")
        expect(asked).to_contain_text("Small is not handed in yet. This would be")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width
        assert Axe().run(page).response["violations"] == []
        screenshot(page, f"handing-in-asked-{width}-{scheme}")
        asked.get_by_role("link", name="Leave it as it is").click()
        expect(page.get_by_role("alert")).to_have_count(0)
    assert handed_in(ada) == 1
    lab_of(page, LAB).get_by_role("button", name="Hand in again").click()
    page.get_by_role("alert").get_by_role("button", name="Hand in all the same").click()
    expect(page.get_by_role("status")).to_contain_text("no longer the one that was in time")
    assert handed_in(ada) == 2


def test_without_javascript_the_question_is_a_step_of_its_own(ada, browser):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(ada.labs)
        lab_of(page, LAB).get_by_role("button", name="Hand in").click()
        expect(page.get_by_role("status")).to_contain_text("nothing was handed in again")
        before = handed_in(ada)
        change(ada, "Even more.")
        last = read_name(submissions(ada)[-1].name, LAB).when
        write_choice(choice_file(ada.exchange.place, COURSE, LAB, "ada"), "ada", f"{last} UTC")
        lab_of(page, LAB).get_by_role("button", name="Hand in").click()
        asked = page.get_by_role("alert")
        expect(asked).to_contain_text("counts, by your instructor's choice. What you hand in now does not count")
        asked.get_by_role("link", name="Leave it as it is").click()
        lab_of(page, LAB).get_by_role("button", name="Hand in").click()
        asked.get_by_role("button", name="Hand in all the same").click()
        expect(page.get_by_role("status")).to_contain_text("Small is handed in.")
        assert handed_in(ada) == before + 1
        write_choice(choice_file(ada.exchange.place, COURSE, LAB, "ada"), "ada", "")


def test_a_renamed_notebook_is_renamed_back_by_one_step(ada, context, screenshot):
    final = notebook(ada).with_name("small final.ipynb")
    notebook(ada).rename(final)
    page = context.new_page()
    page.goto(ada.labs)
    expect(lab_of(page, LAB)).to_contain_text("small final.ipynb lies there")
    screenshot(page, "handing-in-renamed")
    assert Axe().run(page).response["violations"] == []
    lab_of(page, LAB).get_by_role("button", name="Rename it back").click()
    expect(lab_of(page, LAB).get_by_role("link", name="Open")).to_be_visible()
    assert notebook(ada).exists() and not final.exists()


def test_jupyterlabs_button_saves_hands_in_and_says_the_same(ada, context, screenshot):
    page = context.new_page()
    page.goto(f"{ada.lab}/tree/{COURSE}/{LAB}/{NOTEBOOK}")
    opened(page)
    before = handed_in(ada)
    page.get_by_role("button", name="Hand in", exact=True).click()
    screenshot(page, "handing-in-jupyterlab")
    assert "nothing was handed in again" in answer(page, "Ok")
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.type("# mine ")
    deadline_file(ada.exchange.place, COURSE, LAB).unlink(missing_ok=True)
    page.get_by_role("button", name="Hand in", exact=True).click()
    said = answer(page, "Ok")
    assert "Handed in" in said and "UTC" not in said and "`total` is untouched" in said
    assert handed_in(ada) == before + 1 and "# mine" in notebook(ada).read_text()


def test_a_lab_is_open_in_one_tab(ada, context):
    first, second = context.new_page(), context.new_page()
    first.goto(f"{ada.lab}/tree/{COURSE}/{LAB}/{NOTEBOOK}?reset")
    opened(first)
    first.locator(".jp-CodeCell .cm-content").first.click()
    first.keyboard.type("# in the first tab ")
    second.goto(ada.labs)
    lab_of(second, LAB).get_by_role("link", name="Open").click()
    opened(second)
    expect(second.locator(".jp-CodeCell .cm-content").first).to_contain_text("# in the first tab")
    expect(first.locator(".jp-NotebookPanel")).to_have_count(0)
    expect(first.get_by_text("was saved and closed here")).to_be_visible()
