"""An instructor's terminal on a hub: the commands of docs/instructors.md, as they stand there, on a lab made there."""

from __future__ import annotations

import re

import pytest
from hub_client import Session
from hub_pages import START, Terminal, log_in
from labs_under_test import OURS
from playwright.sync_api import Browser, expect
from running_hub import Hub
from slurm_cluster import eventually
from small_clone import ROOT
from unix_accounts import with_accounts

pytestmark = [*with_accounts, pytest.mark.thorough]
LAB = "15_my_lab"
RIGHT = """def pass_on(comm, x):
    return comm.sendrecv(x, dest=(comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
"""


def commands(person: str) -> list[str]:
    """The commands of docs/instructors.md, on this lab and this student."""
    page = (ROOT / "docs" / "instructors.md").read_text()
    section = page.partition("\n## A lab from release to marks\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(\w*)\n(.+?)^```$", section, re.MULTILINE | re.DOTALL)
    lines = [line.partition("  #")[0] for language, block in blocks if not language for line in block.splitlines()]
    typed = [line for line in lines if line and not line.startswith("#")]
    return [re.sub(r"\bada\b", person, line.replace("03_pi_allreduce", LAB)) for line in typed]


def hand_in(ada: Session, course: str) -> None:
    """Fetch the lab, solve it, and hand it in, as JupyterLab's Assignment List does it."""
    ada.start_server()
    ada.assignments("fetch", course, LAB)
    path = f"api/contents/{course}/{LAB}/{LAB}.ipynb"
    notebook = ada.own("GET", path)["content"]
    (todo,) = [cell for cell in notebook["cells"] if cell["id"] == "pass_on"]
    todo["source"] = RIGHT
    ada.own("PUT", path, json={"type": "notebook", "content": notebook})
    assert "success" in ada.assignments("submit", course, LAB)


def test_an_instructor_types_the_pages_commands_and_grades_a_lab_made_there(hub: Hub, browser: Browser, screenshot):
    course, ada = hub.name("hpc"), Session(hub, hub.name("ada"))
    ada.log_in(hub.password("ada")).raise_for_status()
    iris = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    log_in(iris, hub.url, hub.name("iris"), hub.password("iris"))
    iris.goto(f"{hub.url}/services/{course}/lab")
    terminal = Terminal(iris)
    made = hub.course("hpc") / "solutions" / LAB

    def typed(command: str) -> str:
        status, said = terminal.run(command)
        assert status == 0, said
        return said

    # It is the grader's shell, which nobody gets by logging in, and it sees no solution of the clone.
    assert typed("id -un").split()[-1] == hub.name("grader-hpc")
    assert terminal.run(f"ls {ROOT}/solutions")[0] != 0

    # A lab of the instructor's own, without root's help.
    assert f"Next: ./lockstep build {LAB}" in typed(f"./lockstep new {LAB}")
    assert made.owner() == hub.name("grader-hpc")
    typed(f"./lockstep build {LAB}")
    typed(f"printf 'id,name,email\\n{ada.name},Ada Lovelace,ada@x.org\\n' > class.csv")
    screenshot(iris, "terminal-new")

    # All that the page says, from the release to the marks.
    lines = commands(ada.name)
    assert {"release", "grade", "grades", "extend", "report", "enrol"} <= {line.split()[1] for line in lines}
    for line in lines:
        said = typed(line)
        if line.startswith("./lockstep release") and "--deadline" in line:
            hand_in(ada, course)
        if line == f"./lockstep grade {LAB}":
            assert re.search(rf"{ada.name} +3 +3(/3)? +graded", said), said
    screenshot(iris, "terminal-readme")
    assert "ada@x.org,3," in (hub.course("hpc") / "class" / LAB / "marks_moodle.csv").read_text()
    ada.assignments("fetch_feedback", course, LAB)
    (feedback,) = hub.home("ada").glob(f"{course}/{LAB}/feedback/*/*.html")
    assert "Score: 3.0 / 3.0" in feedback.read_text()

    # What is for others, or would run a student's code as the grader.
    typed(f"./lockstep bundle {OURS[0].name} && rm {OURS[0].name}.tar.gz")
    status, said = terminal.run(f"./lockstep grade {LAB} --force --no-sandbox")
    assert status == 1 and "in a sandbox only" in said
    assert terminal.run("./lockstep setup")[0] == 2

    # The hub's page has the new lab's report.
    iris.goto(f"{hub.url}/hub/home")
    report = iris.get_by_role("region", name=course).get_by_role("link", name="Class report on 15 My lab")
    expect(report).to_be_visible(timeout=START)
    iris.context.close()
    ada.stop_server()


def test_two_instructors_of_a_course_have_a_shell_each(hub: Hub, browser: Browser, screenshot):
    shells = []
    for person in ("iris", "omar"):
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        log_in(page, hub.url, hub.name(person), hub.password(person))
        link = page.get_by_role("region", name=hub.name("hpc")).get_by_role("link", name="Terminal")
        shells.append(Terminal(page, link))
    iris, omar = shells
    status, said = iris.run("echo shell $$")
    number = re.search(r"\bshell (\d+)", said)[1]
    assert status == 0 and f"shell {number}" not in omar.run("echo shell $$")[1]
    iris.page.keyboard.type("sleep 600\n")
    waiting = f"pgrep -P {number} sleep"
    assert eventually(lambda: omar.run(waiting)[0] == 0)
    omar.page.keyboard.press("Control+c")
    assert omar.run(waiting)[0] == 0, "a Ctrl-C of one ends what the other runs"
    assert "sleep 600" in iris.shown and "sleep 600" not in omar.shown
    screenshot(omar.page, "terminal-of-omar")
    for shell in shells:
        shell.page.context.close()
