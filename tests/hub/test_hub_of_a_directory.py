"""A hub below a path, for accounts as a directory has them: names that useradd refuses, homes that are not there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from example_labs import labs_with, title_of
from hub_client import Session
from running_hub import Hub, running_hub
from unix_accounts import REPOSITORY, with_accounts, with_python

pytestmark = [*with_accounts, pytest.mark.thorough]
[EXAMPLE] = labs_with(1, "to release")
LAB, TITLE = EXAMPLE.name, title_of(EXAMPLE)
PATH = "/jupyter"
CONFIG = """
import os

c = get_config()
c.JupyterHub.bind_url = f"http://127.0.0.1:{os.environ['LOCKSTEP_HUB_PORT']}/jupyter/"
"""
STUDENTS = ["Jörg.O", "ada@uni.example"]


def digits(hub: Hub) -> str:
    """A name of digits only."""
    return f"{hub.port}{hub.port}"


def as_a_directory(hub: Hub) -> None:
    """Make the students' accounts, with their names as passwords and without homes."""
    file = hub.folder / "courses.toml"
    students = [*map(hub.name, STUDENTS), digits(hub)]
    file.write_text(re.sub(r"students = .*", f"students = {students}", file.read_text()) + f"labs = ['{LAB}']\n")
    for name in students:
        made = ["useradd", "--badname", "--no-create-home", "--user-group", "--shell", "/bin/bash", name]
        subprocess.run(made, check=True, capture_output=True)
        subprocess.run(["chpasswd"], input=f"{name}:{name}\n", text=True, check=True, capture_output=True)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """The hub, which runs."""
    config = tmp_path_factory.mktemp("own") / "own.py"
    config.write_text(CONFIG)
    courses = {"hpc": (["iris", "noor"], STUDENTS)}
    with running_hub(courses, "--config", str(config), path=PATH, prepare=as_a_directory) as hub:
        shutil.rmtree(hub.home("iris"))
        yield hub
        hub.end()
    # The one that has not the hub's tag.
    subprocess.run(["userdel", "--remove", "--force", digits(hub)], capture_output=True)


def logged_in(hub: Hub, name: str, password: str) -> requests.Response:
    """Log in as a browser does, and follow to where one lands."""
    browser, login = requests.Session(), f"{hub.url}/hub/login"
    browser.get(login, timeout=60)
    form = {"username": name, "password": password, "_xsrf": browser.cookies.get("_xsrf", path=f"{PATH}/hub/")}
    return browser.post(login, data=form, timeout=120)


def outside(page: str) -> list[str]:
    """The links of a page to what is on this hub's host, but not below its path."""
    return [link for link in re.findall(r'(?:href|src|action)="(/[^"]*)"', page) if not link.startswith(f"{PATH}/")]


def doctor(hub: Hub, name: str) -> list[str]:
    """What `./lockstep doctor --class` says in lines of this name."""
    command = [*with_python(), sys.executable, "-m", "autograde", "doctor", "--class", "--folder", str(hub.folder)]
    said = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True).stdout
    return [line for line in said.splitlines() if line.startswith(f"{name} ")]


def test_instructors_land_on_their_courses_and_have_a_shell_each(hub):
    shells = set()
    for person in ("iris", "noor"):
        page = logged_in(hub, hub.name(person), hub.password(person))
        assert (page.status_code, page.url) == (200, f"{hub.url}/hub/home"), hub.log.read_text()[-5000:]
        assert "Your courses" in page.text
        assert outside(page.text) == []
        shells |= {*re.findall(r'href="([^"]+/terminals/\w+)"', page.text)}
    assert len(shells) == 2 and all(link.startswith(f"{PATH}/services/{hub.name('hpc')}/") for link in shells)


def test_students_without_a_home_get_it_and_hand_in_under_the_names_of_their_accounts(hub):
    names = [*map(hub.name, STUDENTS), digits(hub)]
    said = doctor(hub, "accounts") + doctor(hub, "python") + doctor(hub, "hub")
    assert [line.split()[1] for line in said] == ["ok"] * 3 and said[2].endswith(f"{PATH}/hub/api")
    (homes,) = doctor(hub, "homes")
    assert "made when their servers first start" in homes and hub.name("iris") in homes
    course, iris = hub.name("hpc"), Session(hub, hub.name("iris"))
    iris.log_in(hub.password("iris")).raise_for_status()
    assert iris.grade(course, f"assignment/{LAB}/release")["success"]
    for name in names:
        student = Session(hub, name)
        student.log_in(name).raise_for_status()
        student.start_server()
        home = Path(f"/home/{name}")
        assert (home.owner(), home.stat().st_mode & 0o777) == (name, 0o700)
        page = student.ask("GET", f"user/{name}/labs").text
        assert TITLE in page and outside(page) == []
        student.assignments("fetch", course, LAB)
        student.assignments("submit", course, LAB)
        assert student.ask("GET", f"hub/waiting/{course}").status_code == 404
        student.stop_server()
    inbound = hub.exchange("hpc") / "inbound"
    assert {path.name.partition("+")[0] for path in inbound.iterdir()} == {*names}
    waits = iris.ask("GET", f"hub/waiting/{course}").text
    assert TITLE in waits and f'href="{PATH}/services/{course}/formgrader/manage_submissions/{LAB}">3 to grade' in waits
    assert iris.grade(course, f"assignment/{LAB}/collect")["success"]
    assert {path.name for path in (hub.course("hpc") / "class" / "submitted").iterdir()} == {*names}
    iris.start_server()
    assert hub.home("iris").owner() == iris.name
    iris.stop_server()
    (homes,) = doctor(hub, "homes")
    assert " are there" in homes
