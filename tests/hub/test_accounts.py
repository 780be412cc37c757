"""Accounts as directories have them: names, homes that are not there yet, groups; and a Python that all can run."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from doctor_lines import lines, readable_lines
from odd_homes import fill, remount, volume
from running_hub import REPOSITORY
from traitlets.config import PyFileConfigLoader
from unix_accounts import User, users, with_accounts, with_python

from autograde.install.causes import SetupFailed
from autograde.install.machine import others
from course.jupyterhub.__main__ import see_to_accounts
from course.jupyterhub.accounts import homes
from course.jupyterhub.accounts.homes import HomeError, make_home
from course.jupyterhub.accounts.login import AccountAuthenticator, TrialAuthenticator
from course.jupyterhub.accounts.names import possible
from course.jupyterhub.accounts.unix import AccountsError, create, known
from course.jupyterhub.courses import Course, read_courses
from course.jupyterhub.health import accounts
from course.jupyterhub.health.line import OK, WRONG
from course.jupyterhub.hub_handlers.waiting import labs_of, own_name, patience_of
from course.jupyterhub.pages.command import CommandOutput, lockstep
from course.jupyterhub.pages.hub_address import hub_address, way_back
from course.jupyterhub.place import CONFIG, FOLDER, PORT, Place
from course.jupyterhub.roster import hub_users

OF_DIRECTORIES = ["12345678", "S1234567", "Ada", "ada@uni.example", r"uni\ada", "ada.lovelace", "x" * 33, "müller"]
OF_DIRECTORIES += ["ada_l", "_x", "ada-lovelace", "2021cs10"]
# Is told names and patience, and says how their servers were refused.
HUB = """
import asyncio, json, sys
from types import SimpleNamespace as Some
from jupyterhub.spawner import SpawnException
from course.jupyterhub.accounts import homes
for line in sys.stdin:
    name, homes.PATIENCE = json.loads(line)
    said = ""
    try:
        asyncio.run(homes.make_home_first(Some(user=Some(name=name))))
    except SpawnException as error:
        said = error.message
    print(json.dumps(said), flush=True)
"""


def test_names_that_directories_have_are_read_as_they_are(tmp_path):
    path = tmp_path / "courses.toml"
    path.write_text(f"[hpc]\nstudents = {[*OF_DIRECTORIES, 'Ada']}\n".replace("\\\\", "\\"))
    assert read_courses(path)[0].students == tuple(OF_DIRECTORIES)


@pytest.mark.parametrize("name", ["", "a+b", "a/b", "a:b", "a=b", "a b", "a\tb", "-a", ".a", "a\0", "x" * 121])
def test_what_the_exchange_cannot_carry_is_no_name(name):
    assert not possible(name)


def test_who_logs_in_is_who_the_account_says():
    for service in (AccountAuthenticator(), TrialAuthenticator(user_password="x" * 16)):
        for name in OF_DIRECTORIES:
            assert service.normalize_username(name) == name and service.validate_username(name)


def test_accounts_that_useradd_cannot_make_are_named_and_none_is_made(tmp_path):
    with pytest.raises(AccountsError, match=r"No account: 12345678, Zoe@uni\.example\. .* No account was made"):
        create(["nobody-here", "12345678", "Zoe@uni.example"], ["grader-x"], tmp_path / "passwords")
    assert not known("nobody-here") and not (tmp_path / "passwords").exists()


def test_instructors_land_on_their_courses_below_the_hubs_own_path(tmp_path, monkeypatch):
    place = Place(tmp_path / "hub")
    place.make()
    (place.private / "password").touch()
    for name, value in ((FOLDER, place.root), (PORT, 8000), (CONFIG, "")):
        monkeypatch.setenv(name, str(value))
    land = PyFileConfigLoader(str(REPOSITORY / "course/jupyterhub/jupyterhub_config.py")).load_config()
    land = land.JupyterHub.default_url
    groups = [SimpleNamespace(name="nbgrader-hpc")]
    handler = SimpleNamespace(
        current_user=SimpleNamespace(groups=groups), hub=SimpleNamespace(base_url="/jupyter/hub/")
    )
    assert land(handler) == ""
    groups.append(SimpleNamespace(name="formgrade-ml"))
    assert land(handler) == "/jupyter/hub/home"


def test_a_students_page_leads_to_the_hub_below_its_path_and_at_its_own_host(monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_BASE_URL", "/jupyter/")
    assert hub_address() == "/jupyter/hub"
    monkeypatch.setenv("JUPYTERHUB_HOST", "https://hub.example")  # where each server has a host of its own
    assert hub_address() == "https://hub.example/jupyter/hub"


def test_each_instructor_has_a_terminal_and_a_workspace_of_a_name_of_its_own():
    names = [*OF_DIRECTORIES, "a.b", "a_b", "a_2e_b", "ab"]
    assert len({own_name(name) for name in names}) == len(names)
    assert all(own_name(name).isascii() and own_name(name).replace("_", "").isalnum() for name in names)


@pytest.fixture
def ada():
    """An account whose home is not there yet, as a directory's before the first session."""
    with users("ada") as (ada,):
        shutil.rmtree(ada.home)
        yield ada


@pytest.fixture
def start_as() -> Iterator[Callable[..., str]]:
    """Does what the hub does before it starts somebody's server; gives what the page then says, if it is not to start.

    All of a test's is done in one process, which starts with the first: it sees nothing that is mounted later.
    """
    with ExitStack() as stack:

        @cache
        def hub() -> subprocess.Popen[str]:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            command = [*with_python(), sys.executable, "-c", HUB]
            return stack.enter_context(subprocess.Popen(command, cwd=REPOSITORY, **pipes))

        def ask(user: User, patience: float = 60) -> str:
            print(json.dumps([user.name, patience]), file=hub().stdin, flush=True)
            return json.loads(hub().stdout.readline())

        yield ask


class TestAsRoot:
    """What takes accounts."""

    pytestmark = with_accounts

    def test_a_home_that_is_not_there_is_made_before_the_first_server_starts(self, ada: User):
        (line,) = lines("homes", ada.name)
        assert line.state == OK and line.seen.endswith(f"made when their servers first start: {ada.name}")
        make_home(ada.name)
        assert (ada.home.stat().st_uid, ada.home.stat().st_mode & 0o7777) == (ada.uid, 0o700)
        assert {path.name for path in Path("/etc/skel").iterdir()} <= {path.name for path in ada.home.iterdir()}
        (ada.home / "mine").touch()
        make_home(ada.name)
        assert (ada.home / "mine").exists()
        (line,) = readable_lines("homes", ada.name)
        assert line.state == OK and line.seen == "all 1 are there"

    def test_a_home_that_cannot_be_made_is_named_with_the_command_that_makes_it(self, ada: User, monkeypatch):
        monkeypatch.setattr(homes, "HELPER", "no-such-helper")
        with pytest.raises(HomeError, match=f"{ada.name} has no home {ada.home}: there is no no-such-helper here"):
            make_home(ada.name)
        (line,) = lines("homes", ada.name)
        assert line.state == WRONG and line.seen == f"{ada.name} has none, {ada.home} is not there"
        subprocess.run(line.mend.replace("sudo ", ""), shell=True, check=True)
        assert [line.state for line in readable_lines("homes", ada.name)] == [OK]
        assert ada.home.stat().st_uid == ada.uid

    def test_a_home_that_is_another_accounts_is_found_and_given_back_by_the_command(self):
        with users("ada") as (ada,):
            os.chown(ada.home, 0, 0)
            (line,) = readable_lines("homes", ada.name)
            assert line.state == WRONG and f"cannot be written by {ada.name}: it belongs to root" in line.seen
            subprocess.run(line.mend.replace("sudo ", ""), shell=True, check=True)
            assert [line.state for line in readable_lines("homes", ada.name)] == [OK]

    def test_what_doctor_says_of_homes_is_what_their_servers_are_told(self):
        with users("ada") as (ada,), volume(ada.home, "1m", ada.uid, ada.gid):
            fill(ada.home)
            assert [line.state for line in readable_lines("homes", ada.name)] == [OK], "its owner can mend that"
            remount(ada.home, "ro")
            (line,) = readable_lines("homes", ada.name)
            assert f"{ada.home} is read-only" in line.seen and line.mend == f"findmnt --target {ada.home}"

    def test_a_server_is_not_kept_from_a_home_that_its_user_can_mend(self, start_as):
        with users("ada") as (ada,), volume(ada.home, "1m", ada.uid, ada.gid):
            fill(ada.home)
            assert start_as(ada) == ""

    def test_a_home_that_cannot_be_used_is_told_at_once_with_what_to_do(self, start_as):
        with users("ada") as (ada,), volume(ada.home, "1m", ada.uid, ada.gid):
            os.chown(ada.home, 0, 0)
            said = start_as(ada)
            assert f"{ada.home} cannot be written by {ada.name}: it belongs to root, mode 700" in said
            mend = said.rpartition("gives it to them: ")[2]
            subprocess.run(mend.replace("sudo ", ""), shell=True, check=True)
            assert start_as(ada) == ""
            assert f"{ada.home}, does not answer: its file server may be down" in start_as(ada, patience=0)
            remount(ada.home, "ro")
            said = start_as(ada)
            assert f"{ada.home} is read-only" in said and "mounts it for writing" in said

    def test_a_home_is_made_before_the_server_starts_or_it_is_said_why_not(self, ada: User, start_as):
        assert start_as(ada) == ""
        assert ada.home.owner() == ada.name
        shutil.rmtree(ada.home)
        ada.home.touch()
        assert f"{ada.home} is no folder" in start_as(ada)
        ada.home.unlink()
        subprocess.run(["usermod", "--home", "/nonexistent", ada.name], check=True, capture_output=True)
        said = start_as(ada)
        assert "no home is to be there" in said and f"usermod --home /home/{ada.name}" in said

    def test_a_graders_group_with_others_in_it_is_found_and_mended_by_the_command(self):
        with users("grader", "ada") as (grader, ada):
            course = SimpleNamespace(grader=grader.name, instructors=(), students=())
            subprocess.run(["gpasswd", "--add", ada.name, grader.name], check=True, capture_output=True)
            (line,) = [line for line in accounts.accounts([course]) if line.name == "groups"]
            assert line.state == WRONG and f"the group of {grader.name}, is also that of {ada.name}" in line.seen
            subprocess.run(line.mend.replace("sudo ", ""), shell=True, check=True, capture_output=True)
            assert [line for line in accounts.accounts([course]) if line.name == "groups"] == []

    def test_a_python_that_others_cannot_run_is_told_before_accounts_are_made(self, tmp_path, monkeypatch):
        closed = tmp_path / "python"  # below pytest's folder, which others cannot enter
        closed.symlink_to(sys.executable)
        monkeypatch.setattr(sys, "executable", str(closed))
        (line,) = lines("python", "nobody-here")
        assert line.state == WRONG and f"nobody cannot run {closed}" in line.seen
        place = Place(tmp_path / "hub")
        place.make()
        with pytest.raises(AccountsError, match=f"nobody cannot run {closed}"):
            see_to_accounts([Course("hpc", (), ("nobody-here",))], place, create_missing=True)
        assert not known("nobody-here") and not known("grader-hpc")

    def test_a_python_that_others_cannot_run_is_told_before_the_set_up(self, tmp_path, monkeypatch):
        closed = tmp_path / "python"
        closed.symlink_to(sys.executable)
        command = [sys.executable, "-c", "import sys; sys._base_executable = sys.argv.pop(1); import runpy; "]
        command[-1] += "runpy.run_module('autograde.install', run_name='__main__')"
        done = subprocess.run(
            [*command, closed, "--hub", "--port", "9000"], cwd=REPOSITORY, capture_output=True, text=True
        )
        assert done.returncode == 1 and done.stdout == ""
        said, why, mend = done.stderr.splitlines()
        assert said == f"lockstep: accounts on this machine cannot use this clone with {closed}"
        assert "as nobody: " in why and "PATH=/usr/bin:$PATH ./lockstep hub" in mend

    def test_whether_others_can_read_is_tried_as_one_of_the_class(self, tmp_path, monkeypatch):
        folder = tmp_path / "hub"
        assert others.folder_of_hub(tmp_path, []) == folder
        assert others.folder_of_hub(tmp_path, ["--port", "1", "--folder", "x"]) == Path("x")
        assert others.folder_of_hub(tmp_path, ["--folder=y"]) == Path("y")
        folder.mkdir()
        (folder / "courses.toml").write_text('[hpc]\nstudents = ["nobody-here", "daemon"]\n')
        assert others.somebody(folder / "courses.toml") == pwd.getpwnam("daemon")
        (folder / "courses.toml").write_text("[hpc")
        assert others.somebody(folder / "courses.toml").pw_name == "nobody"
        monkeypatch.setattr(sys, "_base_executable", "/bin/false")
        with pytest.raises(SetupFailed, match="as nobody: "):
            others.check_others(tmp_path, [])


def test_a_report_leads_back_to_the_hub_where_it_was_made_on_one(monkeypatch):
    monkeypatch.delenv("JUPYTERHUB_SERVICE_NAME", raising=False)
    assert way_back() == ""
    monkeypatch.setenv("JUPYTERHUB_SERVICE_NAME", "hpc")
    monkeypatch.setenv("JUPYTERHUB_BASE_URL", "/jupyter/")
    assert way_back() == "/jupyter/hub/home"


def test_why_the_labs_are_not_known_is_told_also_where_the_command_prints_no_json():
    assert labs_of(CommandOutput(['[{"name": "a"}]'])) == ([{"name": "a"}], "")
    assert labs_of(CommandOutput([], "it took more than 90 seconds")) == ([], "it took more than 90 seconds")
    assert labs_of(CommandOutput(["What nbgrader_config.py prints"], "", ("warned",))) == (
        [],
        "`./lockstep waiting --json` printed no JSON: What nbgrader_config.py prints; warned",
    )
    assert labs_of(CommandOutput([])) == ([], "`./lockstep waiting --json` printed no JSON")


def test_a_command_that_takes_too_long_is_ended_and_gets_longer_when_it_is_asked_for_again():
    async def both() -> tuple[CommandOutput, CommandOutput]:
        return await lockstep("--help", patience=0.001), await lockstep("nothing", patience=60)

    late, wrong = asyncio.run(both())
    assert late == CommandOutput([], "it took more than 0 seconds", late=True)
    assert wrong.why and not wrong.late
    assert [patience_of(asked) for asked in ("0", "1", "2", "3", "4", "-1", "x")] == [90, 180, 360, 720, 720, 90, 90]


class Recorded(hub_users.Hub):
    """A hub with nobody in it, of which it is noted what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, method: str, path: str, data: dict | None = None) -> list:
        self.asked.append(f"{method} {path}")
        return []


@pytest.mark.skipif(os.geteuid() != 0, reason="only a hub of root's has accounts")
def test_who_has_no_account_is_one_line_of_the_log_and_the_hub_is_not_asked(caplog):
    hub, somebody = Recorded(), pwd.getpwuid(0).pw_name
    hub_users.follow(hub, [Course("hpc", (), ("nobody-here", somebody))])
    assert hub.asked.count(f"POST users/{somebody}") == 1 and "POST users/nobody-here" not in hub.asked
    (said,) = [record.getMessage() for record in caplog.records if "nobody-here" in record.getMessage()]
    assert "there is no account of this name" in said and "`useradd --create-home nobody-here`" in said
