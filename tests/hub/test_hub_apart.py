"""Who gets at what on a hub: each tries it as the account that would, by HTTP and over the file system.

Ada has a server, a world of ranks, a submission and feedback. Bob is in her course, noor instructs another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_client import Session
from hub_contents import LAB, READ, WRITE, Day, allowed
from nbgrader.utils import make_unique_key, notebook_hash
from running_hub import Hub
from small_clone import wait_for
from unix_accounts import REPOSITORY, with_accounts

from course.jupyterhub.accounts.unix import create
from course.lab_archive import ARCHIVE

pytestmark = [*with_accounts, pytest.mark.thorough]
COUNT_RANKS = "import ipyparallel, sys; print(len(ipyparallel.Client(sys.argv[1], timeout=5)))"


@pytest.fixture(scope="module")
def day(hub: Hub) -> Iterator[Day]:
    """The day that the tests look at."""
    made = Day(hub)
    yield made
    made.people["ada"].stop_server()


def test_a_students_work_is_nobody_elses(day):
    paths = day.of_ada()
    kinds = {path.suffix for path in paths}
    assert {".ipynb", ".txt", ".html", ".json"} <= kinds and len(paths) > 16
    assert allowed(day.hub, "ada", READ, paths[:-6]) == [path for path in paths[:-6] if not path.is_socket()]
    assert allowed(day.hub, "ada", READ, paths[-6:]) == paths[-6:]
    for person in ("bob", "noor", "cleo"):
        for test in (READ, WRITE):
            assert allowed(day.hub, person, test, paths) == []


def test_what_is_the_courses_is_its_graders(day):
    paths = day.of_the_course()
    assert len(paths) > 40 and all(path.exists() for path in paths)
    assert allowed(day.hub, "grader-hpc", READ, paths) == paths
    for person in ("ada", "bob", "noor", "grader-ml"):
        assert allowed(day.hub, person, READ, paths) == []
        inbound = [day.hub.exchange("hpc") / "inbound"]
        assert allowed(day.hub, person, WRITE, paths) == inbound, "where all may add, and nobody lists"


def test_what_has_the_hubs_secrets_or_answers_in_it_is_roots(day):
    paths = day.of_the_hub()
    for person in ("ada", "noor", "grader-hpc"):
        for test in (READ, WRITE):
            assert allowed(day.hub, person, test, paths) == []
    needed = [REPOSITORY / "course" / "files.py", REPOSITORY / "labs" / LAB / ARCHIVE]
    assert allowed(day.hub, "ada", READ, needed) == needed
    assert allowed(day.hub, "ada", WRITE, [*REPOSITORY.iterdir(), *needed]) == []


def test_what_is_released_is_read_by_all_and_changed_by_none(day):
    released = [day.hub.exchange("hpc") / "outbound" / LAB / name for name in (f"{LAB}.ipynb", ARCHIVE)]
    assert allowed(day.hub, "bob", READ, released) == released
    assert allowed(day.hub, "bob", WRITE, [*released, released[0].parent, released[0].parents[1]]) == []
    text = b"".join(path.read_bytes() for path in released)
    assert b"BEGIN SOLUTION" not in text and b"HIDDEN" not in text


def test_feedback_is_under_a_name_that_only_its_student_can_compute(day):
    feedback = day.hub.exchange("hpc") / "feedback"
    receipt, work = day.receipts()[-1], day.hub.home("ada") / day.course / LAB / f"{LAB}.ipynb"
    secret, when = (receipt / "submission_secret.txt").read_text(), receipt.name.split("+")[-1]
    page = feedback / f"{notebook_hash(secret=secret, notebook_id=LAB)}.html"
    assert len(secret) == 128 and allowed(day.hub, "ada", READ, [page]) == [page]
    key = make_unique_key(day.course, LAB, LAB, day.hub.name("ada"), when)
    for known in (notebook_hash(work), notebook_hash(work, key)):
        assert not (feedback / f"{known}.html").exists(), "nbgrader's earlier names, of what bob can know"


def test_no_secret_is_on_a_command_line_which_all_can_read(day):
    environments = [Path(f"/proc/{pid}/environ").read_text(errors="replace") for pid in day.hub.running("")]
    secrets = set(re.findall(r"(?:TOKEN|SECRET|PASSWORD)=([^\0]{8,})", "\0".join(environments)))
    secrets |= {line.split()[1] for line in (day.hub.folder / "private" / "passwords").read_text().splitlines()}
    assert len(secrets) > 5
    lines = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines += path.read_bytes()
        except OSError:
            continue
    assert [secret for secret in secrets if secret.encode() in lines] == []


OWN_SERVER = [
    "api/contents",
    "api/contents/{course}/{lab}/{lab}.ipynb",
    "api/kernels",
    "api/kernels/{kernel}",
    "api/sessions",
    "api/terminals",
    "files/{course}/{lab}/{lab}.ipynb",
    "lab",
    "tree",
    "assignments?course_id={course}",
]


def test_a_server_is_its_owners(day):
    for path in OWN_SERVER:
        path = f"user/{day.hub.name('ada')}/{path.format(course=day.course, lab=LAB, kernel=day.kernel.id)}"
        assert day.people["ada"].ask("GET", path).status_code == 200, path
        for person in ("bob", "iris", "noor"):
            assert day.people[person].ask("GET", path).status_code in (403, 404), (person, path)
        assert Session(day.hub, "nobody").ask("GET", path).status_code in (302, 403), path
    for method, path in (
        ("POST", "api/kernels"),
        ("POST", "api/terminals"),
        ("DELETE", f"api/kernels/{day.kernel.id}"),
        ("PUT", "api/contents/x.txt"),
        ("POST", "api/shutdown"),
    ):
        answer = day.people["bob"].ask(method, f"user/{day.hub.name('ada')}/{path}", json={})
        assert answer.status_code == 403, path


def test_a_server_is_its_owners_also_past_the_proxy_and_in_a_browser(day):
    ada, bob = day.people["ada"], day.people["bob"]
    (pid,) = day.hub.running("jupyterhub-singleuser", uid=day.hub.home("ada").stat().st_uid)
    told = dict(line.split("=", 1) for line in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in line)
    address = f"{told['JUPYTERHUB_SERVICE_URL']}api/contents"
    assert ada.web.get(address, timeout=60).status_code == 200
    assert bob.web.get(address, timeout=60).status_code == 403
    for person, expected in ((ada, 200), (bob, 403)):
        browser = Session(day.hub, person.name)
        browser.log_in(day.hub.password(person.name.removesuffix(day.hub.tag)))
        del browser.web.headers["Authorization"]
        page = browser.web.get(f"{day.hub.url}/user/{ada.name}/tree", timeout=60)
        assert page.status_code == expected, page.url


def test_a_formgrader_is_its_instructors(day):
    paths = [
        "formgrader",
        "formgrader/manage_assignments",
        "formgrader/api/assignments",
        "formgrader/gradebook",
        f"formgrader/api/submissions/{LAB}",
        "tree",
        "lab",
        "api/contents",
        "api/terminals",
        "api/kernels",
        f"api/contents/solutions/{LAB}/lab.py",
        f"files/solutions/{LAB}/lab.py",
        "files/class/gradebook.db",
    ]
    for path in paths:
        path = f"services/{day.course}/{path}"
        assert day.people["iris"].ask("GET", path).status_code in (200, 302), path
        for person in ("ada", "bob", "noor"):
            assert day.people[person].ask("GET", path).status_code == 403, (person, path)
        assert Session(day.hub, "nobody").ask("GET", path).status_code in (302, 403), path
    for path in (
        "api/terminals",
        "api/kernels",
        f"formgrader/api/assignment/{LAB}/collect",
        f"formgrader/api/assignment/{LAB}/assign",
    ):
        for person in ("ada", "noor"):
            assert day.people[person].ask("POST", f"services/{day.course}/{path}").status_code == 403, (person, path)
    assert day.people["noor"].ask("GET", f"services/{day.other}/api/contents").status_code == 200
    assert day.people["iris"].ask("GET", f"services/{day.other}/api/contents").status_code == 403


def test_the_hub_tells_and_does_for_everybody_the_own_only(day):
    ada, bob, iris = (day.people[person] for person in ("ada", "bob", "iris"))
    assert bob.ask("GET", f"hub/api/users/{bob.name}").json()["name"] == bob.name
    for session, other in ((bob, ada.name), (iris, ada.name), (day.code_of_ada(), bob.name)):
        for path in (f"users/{other}", f"users/{other}/tokens", "groups", f"groups/formgrade-{day.course}", "proxy"):
            assert session.ask("GET", f"hub/api/{path}").status_code in (403, 404), path
        listed = session.ask("GET", "hub/api/users")
        assert listed.status_code == 403 or [one["name"] for one in listed.json()] == [session.name]
        for method, path in (
            ("POST", f"users/{other}/tokens"),
            ("POST", f"users/{other}/server"),
            ("DELETE", f"users/{other}/server"),
            ("DELETE", f"users/{other}"),
            ("POST", "users/somebody"),
            ("POST", f"groups/formgrade-{day.course}/users"),
            ("POST", "shutdown"),
        ):
            answer = session.ask(method, f"hub/api/{path}", json={"users": [session.name]})
            assert answer.status_code in (403, 404), (session.name, method, path)
        for path in ("hub/admin", f"hub/spawn/{other}"):
            assert session.ask("GET", path).status_code in (302, 403, 404), path
    assert ada.server_answers()
    assert day.code_of_ada().ask("POST", f"hub/api/users/{ada.name}/tokens", json={}).status_code == 403
    assert bob.web.get(f"http://127.0.0.1:{day.hub.port + 1}/api/routes", timeout=60).status_code == 403


def test_a_world_is_driven_by_its_owner(day, tmp_path):
    hub = day.hub
    (file,) = Path(day.world).glob("profile/security/*-client.json")
    assert hub.run_as("ada", "python", "-c", COUNT_RANKS, file).stdout.strip() == "2"
    forged = hub.home("bob") / "forged.json"
    forged.write_text(json.dumps(json.loads(file.read_text()) | {"key": "0" * 36}))
    forged.chmod(0o644)
    tried = hub.run_as("bob", "python", "-c", COUNT_RANKS, forged)
    assert tried.returncode != 0 and "TimeoutError" in tried.stderr, tried
    for pid in day.pids:
        assert hub.run_as("ada", "kill", "-0", pid).returncode == 0
        for person in ("bob", "noor", "grader-hpc"):
            assert hub.run_as(person, "kill", "-KILL", pid).returncode != 0
    asked = "from mpi4py import MPI; print(world.run(lambda: __import__('os').getpid()))"
    assert json.loads(day.kernel.run(asked)) == day.pids, "the same ranks, and they work"


def students_of(hub: Hub) -> set[str]:
    """Who is in the gradebook of the first course."""
    command = ["python", "-m", "nbgrader", "db", "student", "list"]
    said = hub.run_as("grader-hpc", *command, cwd=hub.course("hpc"), LOCKSTEP_COURSE=hub.course("hpc"))
    return {*said.stdout.split()}


def test_who_is_taken_out_is_out_soon_and_who_is_put_in_gets_in(day):
    hub, bob, iris = day.hub, day.people["bob"], day.people["iris"]
    dan = Session(hub, hub.name("dan"))
    formgrader = f"services/{day.course}/formgrader/manage_assignments"
    bob.start_server()
    assert iris.ask("GET", formgrader).status_code == 200
    try:
        hub.enrol({"hpc": (["noor"], ["ada", "dan"]), "ml": (["iris"], ["cleo"]), "new": ([], ["ada"])})
        wait_for(lambda: not list(hub.running("jupyterhub-singleuser", uid=hub.home("bob").stat().st_uid)))
        assert not bob.server_answers()
        wait_for(lambda: bob.log_in(hub.password("bob")).status_code == 403)
        wait_for(lambda: iris.ask("GET", formgrader).status_code == 403)
        assert day.people["noor"].ask("GET", formgrader).status_code == 200
        assert "create_system_users" not in hub.log.read_text(), "a line says it, and no traceback"
        for said in (f"{dan.name} is not let in: there is no account", f"new: {hub.name('new')}. A course gets"):
            assert said in hub.log.read_text()
        create([dan.name], [], hub.folder / "private" / "passwords")
        (hub.folder / "courses.toml").touch()
        wait_for(lambda: dan.log_in(hub.password("dan")).status_code == 200)
        dan.start_server()
        assert LAB in json.dumps(dan.own("GET", "assignments", params={"course_id": day.course}))
        # All lists of the class have him: he is in the gradebook, and it is its grader's still.
        wait_for(lambda: dan.name in students_of(hub))
        assert hub.run_as("grader-hpc", "find", hub.course("hpc"), "!", "-user", hub.name("grader-hpc")).stdout == ""
    finally:
        hub.enrol({"hpc": (["iris", "omar"], ["ada", "bob"]), "ml": (["noor"], ["cleo"])})
    wait_for(lambda: bob.log_in(hub.password("bob")).status_code == 200, log=hub.log)
    wait_for(lambda: iris.ask("GET", formgrader).status_code == 200, log=hub.log)
    wait_for(lambda: dan.log_in(hub.password("dan")).status_code == 403, log=hub.log)
