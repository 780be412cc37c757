"""A lab's whole way through a class, in a browser: released, solved on ranks, handed in, graded, given back.

LOCKSTEP_SCREENSHOTS names a folder in which a screenshot of each step is left.
"""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime, timedelta

from axe_playwright_python.sync_playwright import Axe
from hub_pages import (
    START,
    back_to_labs,
    cell_with,
    fetch,
    formgrader,
    hand_in,
    lab_of,
    log_in,
    of_student,
    press,
    read_feedback,
    run_all,
    save,
    submissions,
    validate,
    write,
)
from playwright.sync_api import Browser, expect
from refused_hosts import refuse_other_hosts
from running_hub import Hub
from small_course import ANSWERS, LAB
from unix_accounts import with_accounts

pytestmark = with_accounts
TITLE = "A small lab"
DEADLOCK = """\
def total(comm, x):
    if comm.rank > 0:
        x = comm.allreduce(x)
    return x
"""
COMMENT = "Who is missing in this call? Count the ranks that come."


def test_a_lab_goes_its_whole_way_through_a_class(hub: Hub, browser: Browser, screenshot):
    course = hub.name("hpc")
    asked = []

    def page_of(person: str):
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        asked.append(refuse_other_hosts(context))
        page = context.new_page()
        log_in(page, hub.url, hub.name(person), hub.password(person))
        return page

    # The instructor releases the lab, which has a deadline.
    due = (datetime.now(UTC) + timedelta(days=2)).replace(hour=12)
    add = ["python", "-m", "nbgrader", "db", "assignment", "add", LAB, f"--duedate={due:%Y-%m-%d %H:%M:%S UTC}"]
    done = hub.run_as("grader-hpc", *add, cwd=hub.course("hpc"), JUPYTER_CONFIG_PATH=hub.course("hpc"))
    assert done.returncode == 0, done.stderr
    iris = page_of("iris")
    lab = formgrader(iris, hub.url, course, LAB)
    assert "Successfully released" in press(iris, lab, "release")
    screenshot(iris, "01-released")

    # Two students fetch it and run it on two ranks; one solves a TODO, the other makes a deadlock of one.
    ada, bob = page_of("ada"), page_of("bob")
    lab_of(ada, LAB)
    screenshot(ada, "02-to-be-fetched")
    for page in (ada, bob):
        fetch(page, LAB)
        run_all(page)
        expect(page.locator(".jp-OutputArea-output", has_text="Traceback")).to_have_count(0)
    write(ada, cell_with(ada, "def double"), ANSWERS["double"])
    expect(cell_with(ada, 'check("double")')).to_contain_text("double: passed, 2 of 2 points")
    screenshot(ada, "03-passed")
    write(bob, cell_with(bob, "def total(comm"), DEADLOCK)
    said = cell_with(bob, 'check("total")')
    expect(said).to_contain_text("0 of 3 points")
    expect(said).to_contain_text("comm.allreduce")
    cell_with(bob, "def total(comm").evaluate("cell => cell.scrollIntoView()")
    screenshot(bob, "04-deadlock")

    # Ada validates. What is open is saved when she goes back, and when Bob hands in, as he does in another tab.
    save(ada)
    said = validate(ada)
    assert "1 of 2 checks pass, 2 of 5 points." in said
    assert 'check("total")' in said and 'check("double")' not in said
    write(ada, cell_with(ada, "def double"), f"{ANSWERS['double']}\n# My own way.\n")
    back_to_labs(ada)
    expect(lab_of(ada, LAB)).to_contain_text("Passed 1 of 2")
    assert f"{TITLE} is handed in" in hand_in(ada, LAB)
    (handed_in,) = hub.home("ada").glob(f"*/{LAB}/{LAB}.ipynb")
    assert "# My own way." in handed_in.read_text()
    bob, in_lab = bob.context.new_page(), bob
    bob.goto(in_lab.url.partition("/lab/")[0] + "/labs")
    assert f"{TITLE} is handed in" in hand_in(bob, LAB)
    expect(lab_of(bob, LAB)).to_contain_text("Begun")
    in_lab.close()
    screenshot(ada, "05-handed-in")

    # The instructor's first page says what waits.
    iris.goto(f"{hub.url}/hub/home")
    card = iris.get_by_role("region", name=course)
    of_lab = card.get_by_role("listitem").filter(has_text=TITLE)
    expect(of_lab.get_by_role("link", name="2 to grade")).to_be_visible(timeout=START)
    screenshot(iris, "05-waiting")

    # The instructor collects, and grades in the sandbox.
    lab = formgrader(iris, hub.url, course, LAB)
    assert "Successfully collected" in press(iris, lab, "collect")
    submissions(iris, lab)
    for person, score in (("ada", "2 / 5"), ("bob", "0 / 5")):
        row = of_student(iris, hub.name(person))
        assert "Successfully autograded" in press(iris, row, "autograde")
        expect(row).to_contain_text(score)
    screenshot(iris, "06-graded")

    # Bob's work is looked at, and gets a comment and a point.
    iris.goto(f"{hub.url}/services/{course}/formgrader/manage_students/{hub.name('bob')}/{LAB}")
    iris.get_by_role("link", name=LAB).last.click()
    for field in ("comment", "check"):  # what is written before these are loaded is overwritten
        expect(iris.locator(f"#total-{field}")).to_have_attribute("placeholder", re.compile("."))
    expect(
        iris.get_by_text("waits in comm.allreduce").or_(iris.get_by_text("wait in comm.allreduce")).first
    ).to_be_visible()
    for field, said, kept in (("total-comment", COMMENT, "comment"), ("total-check", "1", "grade")):
        with iris.expect_response(f"**/api/{kept}/*") as answer:
            iris.locator(f"#{field}").fill(said)
            iris.locator(f"#{field}").blur()
        assert answer.value.ok
    screenshot(iris, "07-commented")
    submissions(iris, formgrader(iris, hub.url, course, LAB))
    for person, score in (("ada", "2 / 5"), ("bob", "1 / 5")):
        expect(of_student(iris, hub.name(person))).to_contain_text(score)

    # Bob gets more time for it on the card, and reads so.
    iris.goto(f"{hub.url}/hub/home")
    of_lab.locator("summary").click(timeout=START)
    of_lab.get_by_label("More time for").fill(hub.name("bob"))
    of_lab.get_by_label("until").fill("3d")
    of_lab.get_by_role("button", name="Extend of").click()
    expect(iris.get_by_role("heading", name=f"Extension of {LAB} for {hub.name('bob')}")).to_be_visible(timeout=START)
    expect(iris.get_by_role("status")).to_contain_text(f"{hub.name('bob')}: the deadline of {LAB} is ")
    expect(iris.get_by_role("alert")).to_have_count(0)
    screenshot(iris, "08-extended")
    for page, own in ((ada, due), (bob, due + timedelta(days=3))):
        page.reload()
        expect(lab_of(page, LAB).locator("time").first).to_have_attribute("datetime", re.compile(f"^{own:%Y-%m-%d}"))

    # On the card a button collects and grades what is new, which is nothing, and its page says so and leads back.
    iris.goto(f"{hub.url}/hub/home")
    of_lab.get_by_role("button", name="Collect and grade all").click(timeout=START)
    expect(iris.get_by_role("heading", name=f"{LAB} is graded")).to_be_visible(timeout=START)
    expect(iris.locator("pre")).to_contain_text(f"{LAB}: 0 to grade, 2 graded before and unchanged")
    screenshot(iris, "08-graded")
    iris.get_by_role("main").get_by_role("link", name="Your courses").click()

    # Another button gives feedback back to both, as scores and comments are now, and another one makes marks.
    assert iris.request.post(f"{hub.url}/hub/courses/{course}/labs/{LAB}/feedback").status == 403  # no form of ours
    of_lab.get_by_role("button", name="Release feedback").click(timeout=START)
    expect(iris.get_by_text(f"{LAB}: feedback is released to 2 of 2 who handed in")).to_be_visible(timeout=START)
    screenshot(iris, "08-given-back")
    iris.get_by_role("main").get_by_role("link", name="Your courses").click()
    expect(of_lab).to_contain_text("2 graded, feedback released to 2", timeout=START)
    of_lab.locator("summary").click()
    of_lab.get_by_role("button", name=re.compile("^a table")).click()
    with iris.expect_download(timeout=START) as marks:
        iris.get_by_role("link", name="Download marks.csv").click(timeout=START)
    assert hub.name("bob") in marks.value.path().read_text()
    screenshot(iris, "08-marks")
    iris.goto(f"{hub.url}/hub/home")
    of_lab.locator("summary").click(timeout=START)
    of_lab.get_by_label("Hand-ins of").fill(hub.name("bob"))
    of_lab.get_by_role("button", name="Show, and let one count").click()
    expect(iris.get_by_role("listitem").filter(has_text="graded 1 of 5, counts")).to_be_visible(timeout=START)
    screenshot(iris, "08-counts")

    # Each student reads the own feedback, and has nobody else's. Ada has cleared her home.
    shutil.rmtree(hub.home("ada") / ".local")
    for page, person, score, comment in ((ada, "ada", 2.0, False), (bob, "bob", 1.0, True)):
        page.reload()
        expect(lab_of(page, LAB)).to_contain_text(f"{score:.0f} of 5 points")
        expect(lab_of(page, LAB)).to_contain_text("Handed in,")
        screenshot(page, f"09-labs-{person}")
        feedback = read_feedback(page, LAB)
        assert f"{LAB} (Score: {score} / 5.0)" in feedback
        assert (COMMENT in feedback) == comment
        assert len([*hub.home(person).rglob("feedback/*/*.html")]) == 1
        screenshot(page, f"09-feedback-{person}")
        page.get_by_role("link", name="Your labs").click()
        expect(page.get_by_role("heading", name="Your labs")).to_be_visible()

    # The instructor corrects a typo, and releases again. Ada gets the new text with what she wrote, also where the
    # notebook is open.
    source = hub.own_labs / LAB / "lab.py"
    source.write_text(source.read_text().replace("Now with ranks", "Now with two ranks"))
    iris.goto(f"{hub.url}/hub/home")
    expect(of_lab).to_contain_text("the lab was changed since it was released", timeout=START)
    screenshot(iris, "10-changed")
    of_lab.get_by_role("button", name="Release again").click()
    expect(iris.get_by_text("2 of 2 who handed in have the old text")).to_be_visible(timeout=START)
    screenshot(iris, "10-released-again")
    labs_page = f"{hub.url}/user/{hub.name('ada')}/labs"
    ada.goto(labs_page)
    lab_of(ada, LAB).get_by_role("link", name="Open:").click()
    expect(ada.locator(".jp-Notebook")).to_contain_text("Now with ranks", timeout=START)
    beside = ada.context.new_page()
    beside.goto(labs_page)
    expect(lab_of(beside, LAB)).to_contain_text("This lab was corrected on")
    expect(lab_of(beside, LAB)).to_contain_text(": 1 cell of text.")
    screenshot(beside, "10-corrected")
    lab_of(beside, LAB).get_by_role("button", name="Get the corrected text").click()
    expect(beside.get_by_role("status")).to_contain_text(f"{TITLE} has the corrected text")
    expect(ada.locator(".jp-Notebook")).to_contain_text("Now with two ranks")
    expect(lab_of(beside, LAB)).to_contain_text("Passed 1 of 2")
    expect(lab_of(beside, LAB)).not_to_contain_text("This lab was corrected")
    assert "# My own way." in handed_in.read_text() and "Now with two ranks" in handed_in.read_text()
    (copy,) = handed_in.parent.glob(f"{LAB}_until_*.ipynb")
    assert "Now with ranks" in copy.read_text()
    assert Axe().run(beside).response["violations"] == []
    screenshot(beside, "10-has-the-new-text")

    # A student does not get in where work is graded.
    bob.goto(f"{hub.url}/services/{course}/formgrader")
    expect(bob.get_by_text("403")).to_be_visible()
    bob.goto(f"{hub.url}/hub/home")
    form = {"_xsrf": bob.evaluate("() => window.jhdata.xsrf_token")}
    assert bob.request.post(f"{hub.url}/hub/courses/{course}/labs/{LAB}/feedback", form=form).status == 404
    screenshot(bob, "11-refused")

    # All this takes no network.
    assert asked == [[]] * 3
