"""`./lockstep doctor --class` on a hub's folder: what it finds wrong, and what mends it. No hub runs here."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from small_clone import wait_for

from autograde.cli import main
from course.exchange.folders import OF_A_COURSE, prepare
from course.jupyterhub.courses import read_courses
from course.jupyterhub.health import examine
from course.jupyterhub.place import FOLDER, REPOSITORY, Place
from course.processes.reaper import MARK
from course.processes.surroundings import machine

COURSES = '[hpc]\ninstructors = ["iris"]\nstudents = ["ada", "bob"]\n'


@pytest.fixture
def place(tmp_path) -> Place:
    """A hub's folder as the hub makes it, of an account that is not root: nobody needs an account of their own."""
    place = Place(tmp_path / "hub")
    place.make()
    place.courses_file.write_text(COURSES)
    (course,) = read_courses(place.courses_file)
    prepare(place.exchange, {course.name: course.grader} if os.geteuid() else {})
    place.course(course).mkdir(mode=0o700)
    if os.geteuid() == 0:  # what a hub without root makes
        for path in (place.exchange / "hpc", *(place.exchange / "hpc" / name for name in ("outbound", "feedback"))):
            path.mkdir()
        for name, mode in OF_A_COURSE.items():
            (place.exchange / "hpc" / name).mkdir(exist_ok=True)
            (place.exchange / "hpc" / name).chmod(mode)
        for path in (place.root, *place.root.rglob("*")):
            os.chown(path, 65534, 65534)
            if path.name == "inbound":
                path.chmod(OF_A_COURSE["inbound"])
    return place


def found(place: Place, name: str) -> list[examine.Line]:
    """The lines of this name."""
    return [line for line in examine.examine(place.root) if line.name == name]


def asked(folder: Path) -> tuple[int, str]:
    """The exit status of the command, and what it says."""
    result = CliRunner().invoke(main, ["doctor", "--class", "--folder", str(folder)])
    return result.exit_code, result.output


def test_a_class_that_is_too_large_for_the_memory_is_told_how_much_it_takes(place):
    (line,) = found(place, "memory")
    assert line.state == examine.OK and "2 students take 3.6, 1.8 each" in line.seen
    many = ", ".join(f'"s{number}"' for number in range(10_000))
    place.courses_file.write_text(f"[hpc]\nstudents = [{many}]\n[ml]\nstudents = [{many}]\n")
    (line,) = found(place, "memory")
    assert line.state == examine.WRONG and "10000 students take 18000.0" in line.seen and line.mend.startswith("ps ")


def test_limits_of_the_hubs_groups_count_for_the_class(place, monkeypatch):
    assert found(place, "processes") == [] or "2 students take 240, 120 each" in found(place, "processes")[0].seen
    asked = []

    def memory(process: int | str) -> machine.Memory:
        asked.append(process)
        return machine.Memory(4 * 2**30, 2**30, Path("/g/hub.service"))

    monkeypatch.setattr(machine, "memory", memory)
    monkeypatch.setattr(machine, "processes", lambda process: machine.Processes(500, 230, Path("/g/hub.service")))
    hub = examine.Process(7, 1, "python -m jupyterhub -f x", {FOLDER: str(place.root)}, 0)
    ada = examine.Process(8, 7, "server", {"JUPYTERHUB_USER": "ada"}, 0, threads=9)
    courses = read_courses(place.courses_file)
    line = examine.memory(place, courses, [hub])
    assert asked == [7], "the hub's group, not that of who asks"
    assert line.state == examine.WRONG and "1.0 GiB free of the 4.0 that /g/hub.service may have and" in line.seen
    (line,) = examine.number_of_processes(place, courses, [hub])
    assert line.state == examine.WRONG and "230 processes and threads left of 500" in line.seen
    assert "/g/hub.service/pids.max" in line.mend
    (line,) = examine.number_of_processes(place, courses, [hub, ada, ada])
    assert line.state == examine.OK


def test_it_counts_with_the_size_that_the_guide_names():
    guide = " ".join((REPOSITORY / "docs" / "admins.md").read_text().split())
    assert f"{examine.PER_STUDENT:g} GiB for each student who works at the same moment" in guide
    assert f"for 20 students {20 * examine.PER_STUDENT:.0f} and" in guide


def test_a_full_disk_is_named_with_what_lies_on_it(place, monkeypatch):
    assert {line.state for line in found(place, "disk")} == {examine.OK}
    monkeypatch.setattr(examine, "LEAST_SPACE", 2**60)
    line, memory = found(place, "disk")
    assert memory.state == examine.WRONG and memory.seen.startswith("ranks' files: ") and "/dev/shm" in memory.mend
    assert line.state == examine.WRONG and line.seen.startswith("hub, exchange, courses: ")
    done = subprocess.run(line.mend.partition("#")[0], shell=True, capture_output=True, text=True)
    assert str(place.exchange) in done.stdout, done.stderr


def test_permissions_that_are_wrong_are_mended_by_the_commands_it_prints(place):
    assert [line.state for line in found(place, "folders")] == [examine.OK]
    (place.exchange / "hpc" / "inbound").chmod(0o777)
    place.private.chmod(0o755)
    lines = found(place, "folders")
    assert [line.state for line in lines] == [examine.WRONG] * 2
    assert "permissions 0777, and should have 3733" in lines[1].seen
    for line in lines:
        subprocess.run(line.mend.removeprefix("sudo "), shell=True, check=True)
    (place.exchange / "hpc" / "outbound").rmdir()
    (line,) = found(place, "folders")
    assert line.seen.endswith("outbound is missing")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can enter, as those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder).resolve()


def test_homes_a_class_and_solutions_that_others_can_read_are_found_and_closed_by_the_commands_it_prints(
    place, open_folder
):
    (place.homes / "ada").mkdir(parents=True, mode=0o700)
    (course,) = read_courses(place.courses_file)
    of_class, lab = place.course(course) / "class", open_folder / "20_own"
    of_class.mkdir(mode=0o700)
    (of_class / "gradebook.db").touch(0o644)
    lab.mkdir()
    (lab / "lab.py").touch(0o600)
    place.courses_file.write_text(f'{COURSES}labs_folders = ["{lab.parent}"]\n')
    assert [line.seen for line in found(place, "folders") if "can be read" in line.seen] == []
    (place.homes / "ada").chmod(0o755)
    of_class.chmod(0o755)
    (lab / "lab.py").chmod(0o644)
    lines = [line for line in found(place, "folders") if "can be read" in line.seen]
    assert [line.seen.partition(",")[0].partition(" can")[0] for line in lines] == [
        *(str(path) for path in (place.homes / "ada", of_class, lab))
    ]
    for line in lines:
        command = line.mend.replace("sudo ", "").replace(f":{course.grader}", f":{os.getegid()}")  # there is no grader
        subprocess.run(command, shell=True, check=True)
    assert [line.seen for line in found(place, "folders") if "can be read" in line.seen] == []


def test_ranks_whose_world_has_no_reaper_are_found_and_ended_by_the_command_it_prints(place):
    world = {**os.environ, MARK: f"{uuid.uuid4().hex}-ranks-000001", examine.EXCHANGE_OF: str(place.exchange)}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=world) as rank:
        (line,) = found(place, "worlds")
        assert line.state == examine.WRONG and str(rank.pid) in line.mend.split()
        os.kill(rank.pid, 9)
    assert all(str(rank.pid) not in line.mend for line in found(place, "worlds"))


def test_the_worlds_of_other_hubs_are_not_counted(place):
    other = {**os.environ, MARK: f"{uuid.uuid4().hex}-ranks-000001", examine.EXCHANGE_OF: "/another/exchange"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=other) as rank:
        (line,) = found(place, "worlds")
        assert line.seen == "0, each with its owner" and rank.poll() is None
        rank.stdin.close()


def test_a_hub_without_a_culler_a_proxy_or_a_formgrader_is_found(place):
    (line,) = found(place, "hub")
    assert line.state == examine.WRONG and line.mend == "./lockstep hub"
    # What can be seen of a hub: its command, its folder, and its children's commands.
    hub = 'import subprocess, sys; subprocess.run([sys.executable, "-c", "input()", *sys.argv[5:]])'
    all_three = "jupyterhub_idle_culler course.jupyterhub.roster configurable-http-proxy"
    for services, course, state in ((all_three, "hpc", examine.OK), ("", "ml", examine.WRONG)):
        command = [sys.executable, "-c", hub, "-m", "jupyterhub", "-f", "config.py", *services.split()]
        known = {**os.environ, FOLDER: str(place.root), examine.SERVICE: course}
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=known) as process:
            wait_for(lambda pid=process.pid: f"process {pid}" in found(place, "hub")[0].seen)
            for name in ("culler", "proxy", "roster", "formgrader"):
                wait_for(lambda name=name, due=state: [each.state for each in found(place, name)] == [due])
            (line,) = found(place, "formgrader")
            assert line.seen.startswith("of hpc runs" if state == examine.OK else "of hpc does not run")
            said = [line for line in asked(place.root)[1].splitlines() if line and not line.startswith(" ")][:-1]
            assert {line[10] + line[20] for line in said} == {"  "} and " " not in {line[11] for line in said}
            process.stdin.close()


def test_it_exits_with_1_if_something_is_wrong_and_names_bad_input_in_one_line(place, tmp_path):
    status, said = asked(place.root)
    assert status == 1 and "hub        WRONG     it does not run" in said and "-> ./lockstep hub" in said
    for content, words in ((None, "is no hub's folder"), ("[hpc", "courses.toml cannot be read")):
        folder = tmp_path / "other"
        if content:
            folder.mkdir()
            (folder / "courses.toml").write_text(content)
        status, said = asked(folder)
        assert status == 1 and said.count("\n") == 1 and words in said
