"""The card of a course on an instructor's first page: what it says, by keyboard, narrow, and in the dark. No hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader
from jupyterhub._data import DATA_FILES_PATH
from playwright.sync_api import Browser, Page, Route, expect

from autograde.term.counting.hand_ins import HandIn
from autograde.term.counting.hand_ins import plain as of_student
from autograde.term.waiting import Waiting, plain
from course.jupyterhub.hub_handlers.waiting import AGAIN, patience_of
from course.jupyterhub.place import REPOSITORY

HUB, COURSE = "http://hub.example", "hpc"
STATIC = Path(DATA_FILES_PATH)
LABS = [
    Waiting(
        "01_sgd_trajectories",
        "01 Paths over a loss surface",
        True,
        students=4,
        handed_in=("ada", "bob"),
        grading="grading, 1 of 2",
    ),
    Waiting(
        "03_pi_allreduce",
        "03 Pi on several ranks",
        True,
        students=4,
        handed_in=("ada", "bob", "cleo"),
        graded=("ada", "bob"),
        given=("ada",),
        to_grade=("cleo",),
        to_release=("bob",),
        to_read=("ada",),
        texts=True,
        due=datetime(2099, 1, 31, 12, tzinfo=UTC),
        shown=datetime(2099, 1, 31, 12, tzinfo=UTC),
    ),
    Waiting("06_data_parallel_steps", "06 Data-parallel steps by hand"),
    Waiting("07_horovod", "07 The same with Horovod", True, changed=True),
]


def rendered(template: str, **known: object) -> str:
    """A page of the hub, from its templates and JupyterHub's, as JupyterHub renders them."""
    own = FileSystemLoader(REPOSITORY / "course" / "jupyterhub" / "templates")
    jupyterhubs = FileSystemLoader(STATIC / "templates")
    loader = ChoiceLoader([own, PrefixLoader({"templates": jupyterhubs}), jupyterhubs])
    user = SimpleNamespace(name="iris", json_escaped_name="iris", spawner=SimpleNamespace(options_form=""))
    common = {
        "base_url": "/hub/",
        "static_url": lambda path, **_: f"/hub/static/{path}",
        "user": user,
        "services": [SimpleNamespace(name=COURSE, href=f"/services/{COURSE}/")],
        "own_courses": {COURSE: "High-performance computing"},
        "own_name": "of_iris",
        "default_server": SimpleNamespace(active=False),
        "url": "/hub/spawn",
        "xsrf": "token",
        "parsed_scopes": {},
    }
    return Environment(loader=loader, autoescape=True).get_template(template).render(common | known)


@pytest.fixture
def card(browser: Browser) -> Iterator[SimpleNamespace]:
    """An instructor's first page, on a hub of which only the pages are there. labs: what stands on the card. late: how
    many answers come too late. asked: what the page asked for the card."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(8000)
    shown = SimpleNamespace(page=page, labs=LABS, why="", late=0, asked=[], sent=[], answer={})
    course = SimpleNamespace(name=COURSE, href=f"/services/{COURSE}/")

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path.startswith("/hub/static/"):
            route.fulfill(path=STATIC / path.removeprefix("/hub/"))
        elif path == f"/hub/waiting/{COURSE}":
            labs = json.loads(json.dumps(plain(shown.labs)))
            asked = urlsplit(route.request.url).query.removeprefix("asked=")
            shown.asked.append(asked)
            late = len(shown.asked) <= shown.late
            why = f"it took more than {patience_of(asked)} seconds" if late else shown.why
            known = {"labs": [] if late else labs, "why": why, "late": late}
            route.fulfill(
                status=503 if late else 200,
                headers={"Content-Type": "text/html"} | ({"Retry-After": str(AGAIN)} if late else {}),
                body=rendered("waiting.html", course=course, students=["ada"], **known),
            )
        elif path == "/hub/home":
            route.fulfill(body=rendered("home.html"), content_type="text/html")
        elif path.startswith("/hub/courses/") and shown.answer:
            route.fulfill(body=rendered("step.html", course=course, **shown.answer), content_type="text/html")
        else:
            said = parse_qs(route.request.post_data or "")
            shown.sent.append((f"{route.request.method} {path.removeprefix('/hub/courses/hpc/labs/')}", said))
            route.fulfill(status=204)

    context.route("**/*", answer)
    yield shown
    context.close()


def opened(card: SimpleNamespace) -> Page:
    """The page, whose card has been filled in."""
    card.page.goto(f"{HUB}/hub/home")
    expect(card.page.get_by_text("is being looked up")).to_have_count(0)
    return card.page


def test_a_course_is_called_by_its_title_and_each_lab_says_how_it_stands(card, screenshot):
    page = opened(card)
    course = page.get_by_role("region", name="High-performance computing")
    expect(course.get_by_text("What waits for you: 1 to grade, 1 to read, 1 with feedback to release.")).to_be_visible()
    labs = course.locator("[data-waiting] > ul > li")
    expect(labs.nth(0)).to_contain_text("Released, 2 of 4 handed in, 0 graded")
    expect(labs.nth(1)).to_contain_text(
        "Released, due Sat 31 Jan 2099, 12:00 UTC, 3 of 4 handed in, 2 graded, feedback released to 1"
    )
    expect(labs.nth(2)).to_contain_text("Not released")
    on = labs.nth(0).get_by_role("link", name="Grading, 1 of 2 in 01 Paths over a loss surface")
    expect(on).to_have_attribute("href", "/services/hpc/class-grading/01_sgd_trajectories")
    expect(labs.nth(0).get_by_role("button", name="Collect and grade all")).to_have_count(0)
    texts = "/services/hpc/text-answers/03_pi_allreduce"
    expect(labs.nth(1).get_by_role("link", name="1 to read")).to_have_attribute("href", texts)
    expect(labs.nth(1).get_by_role("link", name="Text answers of 03 Pi on several ranks")).to_have_attribute(
        "href", texts
    )
    expect(course.get_by_role("link", name="Class report on 03 Pi on several ranks")).to_be_visible()
    expect(course.get_by_role("link", name="1 to grade")).to_have_count(1)
    screenshot(page, "card")
    card.labs = [LABS[0], LABS[2]]
    expect(opened(card).get_by_text("Nothing waits for you.")).to_be_visible()
    card.labs = []
    expect(opened(card).get_by_text("The course has no lab yet")).to_be_visible()
    card.why = "03_pi_allreduce: lab.py cannot be read"
    expect(opened(card).get_by_role("alert")).to_contain_text("How the labs stand is not known now: 03_pi_allreduce")


def test_an_answer_that_came_too_late_is_told_and_asked_for_again_with_more_patience(card):
    card.late, page = 2, card.page
    page.clock.install()
    page.goto(f"{HUB}/hub/home")
    for seconds in (90, 180):
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text(f"it took more than {seconds} seconds. This page asks again by itself.")
        page.clock.fast_forward(AGAIN * 1000)
    expect(page.get_by_role("button", name="Release feedback of 03 Pi on several ranks")).to_be_visible()
    page.clock.fast_forward(10 * AGAIN * 1000)
    assert card.asked == ["0", "1", "2"]


def test_feedback_marks_and_an_extension_are_a_button_away_and_no_button_is_pressed_twice(card):
    page = opened(card)
    lab = page.locator("[data-waiting] > ul > li").nth(1)

    def press(kind: str, name: str) -> None:
        lab.get_by_role(kind, name=name).focus()
        page.keyboard.press("Enter")

    press("button", "Collect and grade all of 03 Pi on several ranks")
    expect(lab.get_by_role("button", name="Beginning …")).to_have_attribute("aria-disabled", "true")
    press("button", "Release feedback of 03 Pi on several ranks")
    expect(lab.get_by_role("button", name="Releasing …")).to_have_attribute("aria-disabled", "true")
    press("button", "Releasing …")
    lab.locator("summary").focus()
    page.keyboard.press("Enter")
    press("button", "Moodle: marks of 03 Pi on several ranks")
    expect(lab.get_by_role("button", name="Writing …")).to_be_visible()
    lab.get_by_label("More time for").fill("ada")
    lab.get_by_label("until").fill("3d")
    page.keyboard.press("Enter")
    expect(lab.get_by_role("button", name="Extending …")).to_be_visible()
    lab.get_by_label("Hand-ins of").fill("bob")
    page.keyboard.press("Enter")
    expect(lab.get_by_role("button", name="Looking …")).to_be_visible()
    assert card.sent == [
        ("POST 03_pi_allreduce/grade", {"_xsrf": ["token"]}),
        ("POST 03_pi_allreduce/feedback", {"_xsrf": ["token"]}),
        ("POST 03_pi_allreduce/marks", {"_xsrf": ["token"], "format": ["moodle"]}),
        ("POST 03_pi_allreduce/extension", {"_xsrf": ["token"], "student": ["ada"], "until": ["3d"]}),
        ("POST 03_pi_allreduce/counts", {"_xsrf": ["token"], "student": ["bob"]}),
    ]


def test_a_lab_is_released_and_released_again_with_a_deadline_if_wanted(card):
    page = opened(card)
    labs = page.locator("[data-waiting] > ul > li")
    for number, name in ((2, "Release of 06 Data-parallel steps by hand"), (3, "Release again of 07 The same")):
        labs.nth(number).get_by_role("button", name=name).focus()
        page.keyboard.press("Enter")
        expect(labs.nth(number).get_by_role("button", name="Releasing …")).to_be_visible()
    expect(labs.nth(3)).to_contain_text("The lab was changed since it was released".lower())
    again = labs.nth(1).get_by_role("button", name="Release again of 03 Pi on several ranks")
    expect(again).to_be_hidden()
    labs.nth(1).locator("summary", has_text="Marks, extension, hand-ins, release again").click()
    labs.nth(1).get_by_label("New deadline (if wanted)").fill("2099-02-01T12:00")
    again.click()
    expect(labs.nth(1).get_by_role("button", name="Releasing …")).to_be_visible()
    assert card.sent == [
        ("POST 06_data_parallel_steps/release", {"_xsrf": ["token"]}),
        ("POST 07_horovod/release", {"_xsrf": ["token"]}),
        ("POST 03_pi_allreduce/release", {"_xsrf": ["token"], "deadline": ["2099-02-01T12:00"]}),
    ]


def test_the_card_can_be_used_narrow_in_the_dark_and_by_a_reader_of_screens(card, screenshot):
    page = opened(card)
    for width, scheme in ((1280, "light"), (640, "dark"), (390, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        for each in opened(card).locator("summary").all():
            each.click()
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width
        assert Axe().run(page, context="main").response["violations"] == [], (width, scheme)
        screenshot(page, f"card-{width}-{scheme}")


def test_a_students_hand_ins_are_a_page_on_which_one_can_be_let_count(card, screenshot):
    times = ("2099-01-30 11:20:05.000000 UTC", "2099-01-31 12:00:12.000000 UTC")
    late = HandIn(times[0], "2099-01-30 11:20:05 UTC", "", True, "graded 13.5 of 14", False, False)
    hand_ins = [late, HandIn(times[1], "2099-01-31 12:00:12 UTC", "12 s", True, "", True, True)]
    known = {
        "course": SimpleNamespace(name=COURSE),
        "lab": "03_pi_allreduce",
        "student": "ada",
        "hand_ins": of_student(hand_ins),
        "lines": [],
        "why": "",
    }
    card.page.goto(f"{HUB}/hub/home")
    card.page.set_content(rendered("counts.html", **known))
    page = card.page
    for width, scheme in ((1280, "light"), (640, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width
        assert Axe().run(page, context="main").response["violations"] == [], (width, scheme)
        screenshot(page, f"counts-{width}-{scheme}")
    first, second = page.get_by_role("main").get_by_role("listitem").all()
    expect(first).to_contain_text("2099-01-30 11:20:05 UTC: in time, graded 13.5 of 14")
    expect(second.get_by_role("button", name="Take the choice back")).to_be_visible()
    first.get_by_role("button", name="Let this one count of 2099-01-30 11:20:05 UTC").focus()
    page.keyboard.press("Enter")
    expect(second).to_contain_text("12 s late, counts, by your choice")
    posted = [each for each in card.sent if each[0].startswith("POST ")]
    assert posted == [("POST 03_pi_allreduce/counts", {"_xsrf": ["token"], "student": ["ada"], "time": [times[0]]})]


ANSWERS = {
    "done": {"lines": ["1 mark"], "warnings": ["ada: not graded"], "file": "class/03_pi_allreduce/marks.csv"},
    "refused": {"why": "03_pi_allreduce: " + "x" * 90 + ": nobody is graded"},
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_what_a_button_has_done_can_be_read_by_everybody_and_leads_back(card, screenshot, kind):
    card.answer = {"title": "Feedback on 03_pi_allreduce", "lines": [], "warnings": [], "why": "", "file": ""}
    card.answer |= ANSWERS[kind]
    page = opened(card)
    page.get_by_role("button", name="Release feedback of 03 Pi on several ranks").click()
    expect(page.get_by_role("heading", name="Feedback on 03_pi_allreduce")).to_be_visible()
    for width, scheme in ((1280, "light"), (640, "dark")):
        page.set_viewport_size({"width": width, "height": 700})
        page.emulate_media(color_scheme=scheme)
        screenshot(page, f"step-{kind}-{width}-{scheme}")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width
        found = Axe().run(page, context="main").response["violations"]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == [], (width, scheme)
    page.get_by_role("main").get_by_role("link", name="Your courses").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="High-performance computing")).to_be_visible()
