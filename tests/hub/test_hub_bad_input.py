"""What a hub, its admin and its people hear when something is wrong; nothing is lost by it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hub_client import Session
from labs_under_test import OURS
from running_hub import Hub, free_ports, kill_all_of
from small_clone import ended, wait_for
from unix_accounts import REPOSITORY, users, with_accounts

from course.jupyterhub.courses import CoursesError, read_courses

pytestmark = with_accounts
LAB = OURS[0].name  # released to the course `ml` of the hub that other tests use with other labs
DAMAGED = {
    "": "names no course",
    "[hpc": "cannot be read: ",
    "[hpc]\nstudents = ['\xff']".encode("latin-1"): "cannot be read: ",
    "[HPC]": "[HPC]: a course's name has 1 to 24 of",
    "hpc = 3": "[hpc] has `instructors` and `students`, perhaps `title`, `labs` and `labs_folders`, and nothing",
    "[hpc]\npupils = ['ada']": "[hpc] has `instructors` and `students`, perhaps `title`, `labs` and `labs_folders`",
    "[hpc]\ntitle = 3": "[hpc]: title is a text of one line",
    '[hpc]\ntitle = "a\\nb"': "[hpc]: title is a text of one line",
    "[hpc]\nlabs = '03_pi_allreduce'": "[hpc]: labs is a list with at least one text",
    "[hpc]\nlabs = []": "[hpc]: labs is a list with at least one text",
    "[hpc]\nlabs_folders = ['labs']": "[hpc]: labs_folders: 'labs' must begin with /",
    "[hpc]\nstudents = 'ada'": "[hpc]: students is a list of account names",
    "[hpc]\nstudents = [1]": "[hpc]: students is a list of account names",
    "[hpc]\nstudents = ['a+b']": "[hpc]: 'a+b' among the students can be no account",
    "[hpc]\nstudents = ['ada', 'bob']\ninstructors = ['bob']": "bob cannot be instructor and student of one course",
}


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_of_courses_is_named_with_what_is_wrong(text, tmp_path):
    path = tmp_path / "courses.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CoursesError, match=f"^{re.escape(str(path))}.*{re.escape(DAMAGED[text])}"):
        read_courses(path)


def refused(folder: Path, port: int, *options: object) -> str:
    """Start a hub, which must not start. Returns what it says."""
    command = [sys.executable, "-m", "course.jupyterhub", "--folder", folder, "--port", port, *options]
    done = subprocess.run([*map(str, command)], cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done
    return done.stderr


@pytest.mark.thorough
def test_a_hub_that_cannot_start_says_why_and_what_to_do(tmp_path):
    port = free_ports(1)
    with socket.create_server(("127.0.0.1", port + 1)):
        said = refused(tmp_path, port)
        assert (
            f"port {port + 1}, its proxy's, is taken" in said and "choose another port: ./lockstep hub --port" in said
        )
    (tmp_path / "courses.toml").write_text("[hpc]\nstudents = ['no-such-one']")
    said = refused(tmp_path, port)
    assert "no-such-one, grader-hpc" in said and "`./lockstep hub --create-accounts`" in said
    (tmp_path / "courses.toml").write_text("[hpc")
    assert "courses.toml cannot be read" in refused(tmp_path, port)


@pytest.mark.thorough
def test_a_second_hub_with_the_same_state_is_refused(hub):
    assert f"with the state in {hub.folder}; end it" in refused(hub.folder, free_ports(1))


@pytest.mark.thorough
def test_who_may_not_log_in_is_told_and_nothing_starts(hub):
    ada = Session(hub, hub.name("ada"))
    page = ada.log_in("wrong")
    assert page.status_code == 403 and "Invalid username or password" in page.text
    with users("eve") as (eve,):
        page = Session(hub, eve.name).log_in(eve.name)
        assert page.status_code == 403 and "Invalid username or password" in page.text
        assert list(hub.running("", uid=eve.uid)) == []
    assert Session(hub, "root").log_in("").status_code == 403
    assert Session(hub, hub.name("grader-hpc")).log_in("").status_code == 403


@pytest.fixture(scope="module")
def ml(hub: Hub) -> Iterator[SimpleNamespace]:
    """A course with a lab that was due, its instructor, and its student, who fetched it."""
    due = datetime.now(UTC) - timedelta(hours=2)
    add = ["python", "-m", "nbgrader", "db", "assignment", "add", LAB, f"--duedate={due:%Y-%m-%d %H:%M:%S UTC}"]
    told = {"JUPYTER_CONFIG_PATH": hub.course("ml")}
    done = hub.run_as("grader-ml", "sh", "-c", 'cd "$0" && exec "$@"', hub.course("ml"), *add, **told)
    assert done.returncode == 0, done.stderr
    noor, cleo = (Session(hub, hub.name(person)) for person in ("noor", "cleo"))
    for short, session in (("noor", noor), ("cleo", cleo)):
        session.log_in(hub.password(short)).raise_for_status()
    course = hub.name("ml")
    if not (hub.exchange("ml") / "outbound" / LAB).exists():
        assert noor.grade(course, f"assignment/{LAB}/release")["success"]
    cleo.start_server()
    cleo.assignments("fetch", course, LAB)
    yield SimpleNamespace(hub=hub, course=course, noor=noor, cleo=cleo, work=hub.home("cleo") / course / LAB)
    cleo.stop_server()


def handed_in(ml: SimpleNamespace) -> list[Path]:
    """What the student has in the exchange, oldest first."""
    return sorted((ml.hub.exchange("ml") / "inbound").glob(f"{ml.cleo.name}+{LAB}+*"))


@pytest.mark.thorough
def test_an_unknown_assignment_is_named_and_what_is_released(ml):
    said = ml.cleo.assignments("submit", ml.course, "91_unknown")
    assert not said["success"]
    labs = sorted(folder.name for folder in (ml.hub.exchange("ml") / "outbound").glob("[!.]*"))  # other tests', too
    assert LAB in labs
    released = f"Released: {', '.join(labs)}."
    assert f"`91_unknown` is not released in `{ml.course}`, or not any more. {released}" in said["value"]
    assert "Nothing was handed in; your files are as they were." in said["value"]
    said = ml.cleo.assignments("submit", ml.hub.name("hpcc"), LAB)
    assert f"There is no course `{ml.hub.name('hpcc')}`" in said["value"]


@pytest.mark.thorough
def test_who_is_late_sees_it_in_the_list_and_of_two_hand_ins_the_last_counts(ml):
    before = len(handed_in(ml))
    notebook = ml.work / f"{LAB}.ipynb"
    for number in range(2):
        text = json.loads(notebook.read_text())
        text["cells"][0]["source"] = f"try {number}"
        ml.cleo.own("PUT", f"api/contents/{ml.course}/{LAB}/{LAB}.ipynb", json={"type": "notebook", "content": text})
        said = ml.cleo.assignments("submit", ml.course, LAB)
        (listed,) = [one for one in said["value"] if one["status"] == "submitted" and one["assignment_id"] == LAB]
        assert listed["submissions"][-1]["timestamp"].endswith("UTC, 2 h late")
    assert len(handed_in(ml)) == before + 2
    assert ml.noor.grade(ml.course, f"assignment/{LAB}/collect")["success"]
    collected = ml.hub.course("ml") / "class" / "submitted" / ml.cleo.name / LAB / notebook.name
    assert json.loads(collected.read_text())["cells"][0]["source"] == "try 1"


@pytest.mark.thorough
def test_a_server_that_is_killed_while_handing_in_leaves_nothing_half(ml):
    large = ml.work / "large.bin"
    large.write_bytes(os.urandom(95_000_000))
    shutil.chown(large, ml.cleo.name)
    before, inbound = handed_in(ml), ml.hub.exchange("ml") / "inbound"
    (pid,) = ml.hub.running("jupyterhub-singleuser", uid=ml.hub.home("cleo").stat().st_uid)
    child = os.fork()  # asks, and hears no answer
    if not child:
        try:
            ml.cleo.assignments("submit", ml.course, LAB)
        finally:
            os._exit(0)
    wait_for(lambda: [one for one in inbound.iterdir() if one.name.startswith(".")], 30)
    os.kill(int(pid), signal.SIGKILL)
    os.waitpid(child, 0)
    assert handed_in(ml) == before and [one for one in inbound.iterdir() if one.name.startswith(".")]
    assert ml.noor.grade(ml.course, f"assignment/{LAB}/collect")["success"]
    collected = ml.hub.course("ml") / "class" / "submitted" / ml.cleo.name / LAB
    assert not (collected / large.name).exists()
    ml.cleo.stop_server()  # as the hub's page offers to, or one waits until the hub has noticed
    ml.cleo.start_server()
    assert "submissions" in json.dumps(ml.cleo.assignments("submit", ml.course, LAB))
    assert len(handed_in(ml)) == len(before) + 1
    assert not [one for one in inbound.iterdir() if one.name.startswith(".")]
    assert ml.noor.grade(ml.course, f"assignment/{LAB}/collect")["success"]
    assert (collected / large.name).read_bytes() == large.read_bytes()
    large.unlink()


@pytest.mark.thorough
def test_a_file_of_courses_that_is_damaged_while_the_hub_runs_changes_nothing(hub):
    path = hub.folder / "courses.toml"
    good = path.read_text()
    ada = Session(hub, hub.name("ada"))
    ada.log_in(hub.password("ada")).raise_for_status()
    before = ada.ask("GET", f"hub/api/users/{ada.name}").json()["groups"]
    assert before == [f"nbgrader-{hub.name('hpc')}"]
    path.write_text(good + "[hpc\n")
    wait_for(lambda: re.search(r"roster: .*cannot be read: .* Nothing is changed", hub.log.read_text()))
    assert ada.ask("GET", f"hub/api/users/{ada.name}").json()["groups"] == before
    path.write_text(good)


def services_of(hub: Hub) -> list[psutil.Process]:
    """The roster, the culler, and both formgraders."""
    (pid,) = hub.running("jupyterhub", "-f")
    accounts = {"root", hub.name("grader-hpc"), hub.name("grader-ml")}
    children = [child for child in psutil.Process(int(pid)).children() if child.username() in accounts]
    return [child for child in children if "configurable-http-proxy" not in " ".join(child.cmdline())]


@pytest.mark.thorough
def test_a_hub_that_was_killed_goes_on_when_it_is_started_again(hub):
    ada = Session(hub, hub.name("ada"))
    ada.log_in(hub.password("ada")).raise_for_status()
    ada.start_server()
    kernel = ada.start_kernel()
    kernel.run("kept = 42")
    (proxy,) = hub.running("configurable-http-proxy")
    before = services_of(hub)
    assert len(before) == 4
    hub.end(signal.SIGKILL)
    assert proxy in hub.running("configurable-http-proxy"), "it was not told to end"
    assert ada.server_answers(), "people go on working meanwhile"
    hub.start()
    assert len(list(hub.running("configurable-http-proxy"))) == 1
    assert all(map(ended, before)), "else they would be there twice"
    assert len(services_of(hub)) == 4
    assert ada.ask("GET", f"hub/api/users/{ada.name}").json()["servers"], "the session holds, and the server is known"
    wait_for(ada.server_answers, 30)
    assert kernel.run("print(kept)").strip() == "42"
    ada.stop_server()


@pytest.mark.thorough
def test_without_root_all_log_in_with_one_password_and_hand_in_as_themselves():
    with users("admin") as (admin,):
        clone = admin.home / "clone"
        clone.mkdir()
        for name in ("autograde", "course", "labs", "slurm", "solutions"):
            shutil.copytree(REPOSITORY / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        folder = clone / "hub"
        folder.mkdir()
        (folder / "courses.toml").write_text('[hpc]\ninstructors = ["iris"]\nstudents = ["ada", "bob"]\n')
        admin.own(clone)
        port = free_ports(1)
        command = admin.command(sys.executable, "-m", "course.jupyterhub", "--folder", folder, "--port", port)
        log = admin.home / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                command, cwd=clone, env=admin.environment(PYTHONPATH=clone), stdout=output, stderr=output
            )
        try:
            hub = SimpleNamespace(url=f"http://127.0.0.1:{port}")
            iris, ada, bob = people = [Session(hub, name) for name in ("iris", "ada", "bob")]

            def up() -> bool:
                assert process.poll() is None, log.read_text()[-3000:]
                return "JupyterHub is now running" in log.read_text()

            wait_for(up, 1800)  # it builds all labs first
            password = re.search(r"ada, bob, iris all log in with the password (\S+)", log.read_text()).group(1)
            assert ada.log_in("wrong").status_code == 403
            for person in people:
                person.log_in(password).raise_for_status()
            wait_for(lambda: iris.ask("GET", "services/hpc/api").status_code == 200)
            assert iris.grade("hpc", f"assignment/{LAB}/release")["success"]
            assert ada.ask("GET", "services/hpc/formgrader/manage_assignments").status_code == 403
            for person in (ada, bob):
                person.start_server()
                person.assignments("fetch", "hpc", LAB)
                path = f"api/contents/hpc/{LAB}/{LAB}.ipynb"
                text = person.own("GET", path)["content"]
                text["metadata"]["by"] = person.name
                person.own("PUT", path, json={"type": "notebook", "content": text})
                assert "success" in person.assignments("submit", "hpc", LAB)
            assert iris.grade("hpc", f"assignment/{LAB}/collect")["success"]
            for person in (ada, bob):
                collected = folder / "courses" / "hpc" / "class" / "submitted" / person.name / LAB / f"{LAB}.ipynb"
                assert json.loads(collected.read_text())["metadata"]["by"] == person.name
        finally:
            kill_all_of({admin.uid})
            process.wait()
