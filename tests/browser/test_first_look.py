"""What one sees first on the hub: a student the labs and the next step of each, an instructor the courses.

LOCKSTEP_SCREENSHOTS names a folder in which a screenshot of each step is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from example_labs import labs_with, title_of
from hub_pages import START, back_to_labs, fetch, formgrader, hand_in, lab_of, log_in, press
from playwright.sync_api import Browser, BrowserContext, Page, expect
from refused_hosts import refuse_other_hosts
from running_hub import Hub, running_hub
from small_clone import ROOT
from unix_accounts import with_accounts

pytestmark = [*with_accounts, pytest.mark.thorough]
EXAMPLE, OTHER_EXAMPLE = labs_with(2, "to release")
LAB, OTHER = EXAMPLE.name, OTHER_EXAMPLE.name
TITLE = title_of(EXAMPLE)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The text of the first page of the clone's site of lectures; one of a line, if `./lockstep book` was not run."""
    page = ROOT / "build" / "book" / "html" / "index.html"
    made = not page.exists()
    if made:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("<!doctype html><html lang=en><title>Lectures</title><h1>Lockstep: the lectures</h1>")
    yield page.read_text()
    if made:
        page.unlink()


@pytest.fixture(scope="module")
def hub(site: str) -> Iterator[Hub]:
    """A hub that nobody has used yet."""
    with running_hub({"ml": (["noor"], ["cleo"])}) as hub:
        yield hub


@pytest.fixture(scope="module")
def page_of(hub: Hub, browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Logs somebody in, in a browser of the person's own that reaches no other host."""
    opened: list[tuple[BrowserContext, list[str]]] = []

    def log_in_as(person: str) -> Page:
        context = browser.new_context(viewport={"width": 1280, "height": 860})
        opened.append((context, refuse_other_hosts(context)))
        page = context.new_page()
        log_in(page, hub.url, hub.name(person), hub.password(person))
        return page

    yield log_in_as
    for context, asked in opened:
        context.close()
        assert asked == []


def assert_accessible(page: Page, screenshot: Callable[[Page, str], None], name: str) -> None:
    """axe finds nothing on this page, neither light nor dark."""
    for scheme in "light", "dark":
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(500)  # JupyterHub's buttons fade from one theme to the other
        screenshot(page, f"first-look-{name}-{scheme}")
        found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]}).response
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found["violations"]] == []
        assert "color-contrast" in {rule["id"] for rule in found["passes"]}
    page.emulate_media(color_scheme="light")


def test_one_logs_in(hub: Hub, browser: Browser, screenshot):
    with browser.new_context(viewport={"width": 1280, "height": 860}) as context:
        page = context.new_page()
        page.goto(f"{hub.url}/hub/login")
        expect(page.get_by_role("heading", name="Lockstep")).to_be_visible()
        assert_accessible(page, screenshot, "login")


def test_an_instructor_lands_on_the_courses(hub: Hub, page_of, screenshot):
    noor, course = page_of("noor"), hub.name("ml")
    expect(noor.get_by_role("heading", name="Your courses")).to_be_visible()
    cards = noor.get_by_role("region")
    expect(cards).to_have_count(1)
    expect(cards.get_by_role("heading", name=course)).to_be_visible()
    assert_accessible(noor, screenshot, "courses")

    def follow(name: str) -> None:
        noor.goto(f"{hub.url}/hub/home")
        cards.get_by_role("link", name=name, exact=True).click()

    follow("Formgrader")
    expect(noor.get_by_text(LAB, exact=True)).to_be_visible()
    noor.get_by_role("link", name="Manage Students").click()
    # The account has no full name.
    expect(noor.get_by_role("link", name=hub.name("cleo"), exact=True)).to_be_visible()
    noor.get_by_role("link", name="Your courses").click()
    follow("Who is behind")
    expect(noor.get_by_role("heading", name="Who is behind")).to_be_visible(timeout=START)
    expect(noor.locator("body")).to_contain_text(hub.name("cleo"))
    expect(noor.get_by_role("link", name="Your courses")).to_be_visible()
    made = noor.goto(f"{hub.url}/services/{course}/class-report/{LAB}")
    assert f"The report on {LAB} is being made" in made.text()
    expect(noor.get_by_role("heading", name=LAB, exact=True)).to_be_visible(timeout=START)
    noor.get_by_role("link", name="Your courses").click()
    expect(noor.get_by_role("heading", name="Your courses")).to_be_visible()
    noor.goto(f"{hub.url}/services/{course}/class-report/99_nothing")
    expect(noor.get_by_role("alert")).to_contain_text("99_nothing")
    assert_accessible(noor, screenshot, "no-report")
    follow("Terminal")
    noor.locator(".jp-Terminal").click(timeout=START)
    expect(noor.get_by_role("link", name="Your courses")).to_have_attribute("href", re.compile("/hub/home$"))
    said = hub.course("ml") / "said.txt"
    for _ in range(40):  # what is typed before the shell is there is lost
        noor.keyboard.type("./lockstep extend --help > said.txt\n")
        noor.wait_for_timeout(3000)
        if said.exists() and "Usage:" in said.read_text():
            break
    assert "Usage:" in said.read_text()
    screenshot(noor, "first-look-terminal")


def test_a_student_lands_on_what_to_do_next(hub: Hub, page_of, screenshot):
    course, student = hub.name("ml"), hub.name("cleo")
    cleo, noor = page_of("cleo"), page_of("noor")
    expect(cleo.get_by_role("heading", name=course)).to_be_visible(timeout=START)
    expect(cleo.locator("main")).to_contain_text(f"No lab is released in {course} yet.")
    for lab in (LAB, OTHER):
        assert "Successfully released" in press(noor, formgrader(noor, hub.url, course, lab), "release")
    cleo.reload()
    expect(lab_of(cleo, LAB)).to_contain_text("Next")
    expect(lab_of(cleo, OTHER)).to_contain_text("To be fetched.")

    # From there into the lab, without what is not for students, and back.
    fetch(cleo, LAB)
    menus = cleo.locator(".lm-MenuBar-itemLabel").all_text_contents()
    tabs = [tab.get_attribute("title") for tab in cleo.locator(".jp-SideBar .lm-TabBar-tab").all()]
    assert len(menus) > 5 and len(tabs) >= 4
    assert [one for one in menus + tabs if re.search("formgrader|parallel|jupytext|course list", one, re.I)] == []
    screenshot(cleo, "first-look-lab")
    cleo.keyboard.press("Control+Shift+L")
    cleo.locator(".jp-LauncherCard", has_text="Your labs").click()
    expect(lab_of(cleo, LAB)).to_contain_text("Not handed in. Saved")
    lab_of(cleo, LAB).get_by_role("link", name="Open").click()
    expect(cleo.locator(".jp-Notebook")).to_be_visible(timeout=START)
    back_to_labs(cleo)
    assert f"{TITLE} is handed in" in hand_in(cleo, LAB)
    expect(lab_of(cleo, LAB)).to_contain_text("Handed in")
    expect(lab_of(cleo, OTHER)).to_contain_text("Next")
    cleo.reload()
    expect(cleo.get_by_role("status")).to_have_count(0)
    assert len([*(hub.exchange("ml") / "inbound").glob(f"{student}+{LAB}+*")]) == 1

    # What is in the way is said, once.
    folder = hub.home("cleo") / course / LAB
    folder.rename(folder.with_name("mine"))
    cleo.goto(f"{hub.url}/user/{student}/labs")
    expect(lab_of(cleo, LAB)).to_contain_text(f"You have {LAB}.ipynb in the folder {course}/mine")
    assert_accessible(cleo, screenshot, "labs")
    folder.with_name("mine").rename(folder)
    outbound = hub.exchange("ml") / "outbound"
    outbound.chmod(0)
    try:
        cleo.reload()
        expect(cleo.get_by_role("alert")).to_contain_text(f"The exchange at {outbound} cannot be read now")
        screenshot(cleo, "first-look-unreadable")
    finally:
        outbound.chmod(0o755)

    # Another page cannot press the buttons: each form carries a token.
    form = {"step": "hand_in", "course": course, "lab": LAB}
    assert cleo.request.post(f"{hub.url}/user/{student}/labs", form=form).status == 403
    cleo.goto(f"{hub.url}/hub/home")
    expect(cleo.get_by_role("link", name="Open your labs")).to_be_visible()
    assert_accessible(cleo, screenshot, "home")


def test_lectures_are_pages_for_who_is_logged_in_and_notebooks_of_ones_own(
    hub: Hub, page_of, site, browser, screenshot
):
    with browser.new_context() as context:
        stranger = context.new_page()
        stranger.goto(f"{hub.url}/hub/lectures/index.html")
        expect(stranger.get_by_role("button", name=re.compile("Sign in"))).to_be_visible()
        assert "the lectures" not in stranger.content()

    course, cleo = hub.name("ml"), page_of("cleo")
    cleo.goto(f"{hub.url}/user/{hub.name('cleo')}/labs")
    lectures = cleo.get_by_role("region", name="Lectures")
    lectures.get_by_role("link").click()
    expect(cleo.get_by_role("heading", level=1).first).to_contain_text("the lectures")
    assert cleo.request.get(f"{hub.url}/hub/lectures/index.html").text() == site
    assert cleo.request.get(f"{hub.url}/hub/lectures/..%2f..%2f..%2flockstep").status in (403, 404)
    cleo.go_back()
    lectures.get_by_role("button", name="Open").nth(1).click()
    expect(cleo.get_by_role("heading", name="2 One program, many ranks")).to_be_visible(timeout=START)
    screenshot(cleo, "first-look-lecture")
    folder = hub.home("cleo") / "course" / "lectures"
    links = re.findall(r"\]\((\.\.[^)#]*)", (folder / "02_ranks.ipynb").read_text())
    assert links and all(link.startswith(f"../../{course}/") for link in links)
    assert (folder / "GLOSSARY.md").exists()
