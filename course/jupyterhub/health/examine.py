"""`./lockstep doctor --class`: finds out whether a hub's machine is fit for its class. It looks, and changes nothing.

What only root can see is left out, and said to be so, if somebody else asks.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import requests

from course.homes.look import name_of
from course.jupyterhub.courses import Course, CoursesError, everybody, read_courses
from course.jupyterhub.health.accounts import accounts
from course.jupyterhub.health.folders import permissions
from course.jupyterhub.health.line import OK, START, SUDO, UNSEEN, WRONG, Line
from course.jupyterhub.place import FOLDER, Place
from course.processes.reaper import MARK
from course.processes.surroundings import machine
from course.processes.surroundings.room import MEMORY

GIB = 2**30
PER_STUDENT = 1.8  # GiB, in the largest lab but 11; see docs/admins.md, "What a class costs"
STUDENTS_PROCESSES = 120  # and threads: of a world of four ranks 72, the others are the server's and the kernel's
NAMES = 10  # letters of the longest name of a line
LEAST_SPACE = GIB  # bytes free on each disk
LEAST_FILES = 10_000  # that can still be made on it
# By what their commands contain.
SERVICES = {
    "proxy": "configurable-http-proxy",
    "culler": "jupyterhub_idle_culler",
    "roster": "course.jupyterhub.roster",
}
EXCHANGE_OF = "LOCKSTEP_EXCHANGE"  # in the environment of a person's server, and of all that is started there
API = "JUPYTERHUB_API_URL"  # in the environment of a service
SERVICE = "JUPYTERHUB_SERVICE_NAME"  # in the environment of a service; a formgrader's is its course


@dataclass(frozen=True)
class Process:
    """A process as it was found. environment: empty if only root may read it."""

    pid: int
    parent: int
    command: str
    environment: dict[str, str]
    private: int  # bytes of memory that it shares with nobody
    threads: int = 1


def examine(folder: Path) -> Iterator[Line]:
    """Look at the hub whose state is in `folder`. Raises CoursesError if there is none, or courses.toml is damaged."""
    place = Place(folder)
    if not place.root.is_dir():
        raise CoursesError(f"{place.root} is no hub's folder: there is no such folder. Name another with --folder.")
    try:
        courses = read_courses(place.courses_file)
    except CoursesError as error:
        if not isinstance(error.__cause__, PermissionError):
            raise
        courses = None
        yield Line("courses", UNSEEN, f"only {name_of(place.root.stat().st_uid)} can read courses.toml", SUDO)
    processes = running()
    if courses is not None:
        yield memory(place, courses, processes)
        yield from number_of_processes(place, courses, processes)
        yield from accounts(courses) if place.root.stat().st_uid == 0 else ()
    yield from disks(place, courses or [])
    yield from services(place, courses or [], processes)
    yield worlds(place, processes)
    yield from permissions(place, courses)


def running() -> list[Process]:
    """All processes that can be seen, without zombies."""
    found = []
    for process in psutil.process_iter(["pid", "ppid", "cmdline", "memory_info", "num_threads"]):
        info, environment = process.info, {}
        if not info["cmdline"] or not info["memory_info"]:
            continue
        with suppress(psutil.Error, OSError):
            environment = process.environ()
        private = max(0, info["memory_info"].rss - info["memory_info"].shared)
        command, threads = " ".join(info["cmdline"]), info["num_threads"] or 1
        found.append(Process(info["pid"], info["ppid"], command, environment, private, threads))
    return found


def hubs_of(place: Place, processes: list[Process]) -> list[Process]:
    """The hubs that run with this folder, as far as that can be seen: there is one, or none."""
    hubs = [process for process in processes if "-m jupyterhub -f " in process.command]
    return [process for process in hubs if process.environment.get(FOLDER) == str(place.root)]


def memory(place: Place, courses: list[Course], processes: list[Process]) -> Line:
    """Whether all students could work at the same time, with what the hub may have. What their servers hold now counts
    as theirs."""
    students = {student for course in courses for student in course.students}
    held = sum(process.private for process in processes if process.environment.get("JUPYTERHUB_USER") in students)
    have = machine.memory(process=next((hub.pid for hub in hubs_of(place, processes)), "self"))
    free, needed = have.available / GIB, PER_STUDENT * len(students)
    limit = f" of the {have.total / GIB:.1f} that {have.group} may have" if have.group else ""
    seen = f"{free:.1f} GiB free{limit} and {held / GIB:.1f} held by students' servers; {len(students)} students take "
    seen += f"{needed:.1f}, {PER_STUDENT} each"
    if free + held / GIB >= needed:
        return Line("memory", OK, seen)
    mend = "ps -eo rss,user,args --sort=-rss | head    # who holds it; Settings in docs/admins.md: end worlds sooner"
    return Line("memory", WRONG, seen, mend)


def number_of_processes(place: Place, courses: list[Course], processes: list[Process]) -> Iterator[Line]:
    """Whether all students could have their processes at the same time, where the hub may not have any number."""
    may = machine.processes(process=next((hub.pid for hub in hubs_of(place, processes)), "self"))
    if may is None:
        return
    students = {student for course in courses for student in course.students}
    held = sum(process.threads for process in processes if process.environment.get("JUPYTERHUB_USER") in students)
    needed = STUDENTS_PROCESSES * len(students)
    seen = f"{may.left} processes and threads left of {may.total} and {held} held by students' servers; "
    seen += f"{len(students)} students take {needed}, {STUDENTS_PROCESSES} each"
    if may.left + held >= needed:
        yield Line("processes", OK, seen)
    else:
        yield Line("processes", WRONG, seen, f"cat {may.group}/pids.max    # raise it: TasksMax= of the hub's service")


def disks(place: Place, courses: list[Course]) -> Iterator[Line]:
    """Whether there is space on each disk that the class writes to."""
    folders = {"hub": place.root, "exchange": place.exchange, "courses": place.courses, "ranks' files": Path(MEMORY)}
    if place.root.stat().st_uid:
        folders["homes"] = place.homes
    else:
        for name in everybody(courses):
            with suppress(KeyError):  # reported by `accounts`
                folders[f"{name}'s home"] = Path(pwd.getpwnam(name).pw_dir)
    of_disk: dict[int, list[tuple[str, Path]]] = defaultdict(list)
    for name, folder in folders.items():
        try:
            of_disk[folder.stat().st_dev].append((name, folder))
        except FileNotFoundError:
            continue
        except OSError as error:
            yield Line("disk", UNSEEN, f"{name}, {folder}: {error.strerror}", SUDO)
    for found in of_disk.values():
        yield disk([name for name, _ in found], found[0][1])


def disk(names: list[str], folder: Path) -> Line:
    """Whether there is space on the disk of `folder`, on which these are."""
    space, files = shutil.disk_usage(folder).free, os.statvfs(folder)
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    seen = f"{shown}: {space / GIB:.1f} GiB free"
    if space < LEAST_SPACE:
        mend = f"du -xh --max-depth=2 {folder} | sort -h | tail    # what takes it"
        return Line("disk", WRONG, f"{seen}, less than {LEAST_SPACE / GIB:.0f}", mend)
    if files.f_files and files.f_favail < LEAST_FILES:  # some file systems count no files
        mend = f"du -x --inodes --max-depth=2 {folder} | sort -n | tail    # which folders have that many"
        return Line("disk", WRONG, f"{seen}, but only {files.f_favail} more files can be made", mend)
    return Line("disk", OK, seen)


def services(place: Place, courses: list[Course], processes: list[Process]) -> Iterator[Line]:
    """Whether the hub runs, and with it its proxy, what ends unused servers, what follows courses.toml, formgraders."""
    hubs = [process for process in processes if "-m jupyterhub -f " in process.command]
    mine = hubs_of(place, processes)
    if not mine and any(not process.environment for process in hubs):
        yield Line("hub", UNSEEN, "a hub runs, but only its owner can see of which folder", SUDO)
        return
    if not mine:
        yield Line("hub", WRONG, "it does not run, nor does its culler", START)
        return
    children = [each for each in processes if each.parent == mine[0].pid]
    yield hub(mine[0], next((url for each in children if (url := each.environment.get(API))), ""))
    found_by_name = {name: [each for each in children if part in each.command] for name, part in SERVICES.items()}
    for course in courses:
        of_course = [each for each in children if each.environment.get(SERVICE) == course.name]
        found_by_name[f"formgrader {course.name}"] = of_course
    for title, found in found_by_name.items():
        name, _, of = title.partition(" ")
        of = f"of {of} " * bool(of)
        if found:
            yield Line(name, OK, f"{of}runs, process {found[0].pid}")
        else:
            # Servers, and what runs in them, go on meanwhile.
            yield Line(name, WRONG, f"{of}does not run", f"kill -INT {mine[0].pid}; {START}    # as it was started")


def hub(process: Process, api: str) -> Line:
    """Whether the hub answers. api: its address, as it told its services, with the path that it is below."""
    if not api:
        return Line("hub", OK, f"runs, process {process.pid}")
    try:
        with requests.Session() as session:
            session.trust_env = False  # it is on this machine, whatever proxy leads to others
            session.get(api, timeout=30).raise_for_status()
    except requests.RequestException as error:
        seen = f"process {process.pid} does not answer at {api}: {error}"
        return Line("hub", WRONG, seen, f"kill -INT {process.pid}; {START}    # as it was started")
    return Line("hub", OK, f"runs, process {process.pid}, and answers at {api}")


def worlds(place: Place, processes: list[Process]) -> Line:
    """Whether each of the hub's worlds of ranks has an owner: a reaper, which lives as long as a kernel holds its
    standard input."""
    ranks = defaultdict(list)
    for process in processes:
        if process.environment.get(EXCHANGE_OF) != str(place.exchange):  # of another hub, or of none
            continue
        if mark := process.environment.get(MARK, "").partition("-")[0]:
            ranks[mark].append(process.pid)
    reapers = [each.command for each in running() if "reaper.py " in each.command and each.parent != 1]
    lost = {mark: pids for mark, pids in ranks.items() if not any(mark in command for command in reapers)}
    still = [pid for pids in lost.values() for pid in pids if alive(pid)]  # a world may have ended meanwhile
    if still:
        mend = f"kill -KILL {' '.join(map(str, sorted(still)))}"
        return Line("worlds", WRONG, f"{len(still)} processes of {len(lost)} worlds whose kernel is gone", mend)
    if os.geteuid() not in (0, place.root.stat().st_uid):
        return Line("worlds", UNSEEN, "only root sees those of other accounts", SUDO)
    return Line("worlds", OK, f"{len(ranks)}, each with its owner")


def alive(pid: int) -> bool:
    """Whether a process lives, and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def report(lines: Iterable[Line], say: Callable[[str], None]) -> int:
    """Print each line, and below what is not well the command that helps. Returns 1 if something is wrong, else 0."""
    wrong = unseen = 0
    for line in lines:
        say(f"{line.name:<{NAMES}} {line.state:<9} {line.seen}")
        if line.state != OK:
            say(f"{'':<{NAMES + 10}} -> {line.mend}")
        wrong += line.state == WRONG
        unseen += line.state == UNSEEN
    say(f"\n{wrong} wrong, {unseen} not seen." if wrong or unseen else "\nThe hub is fit for its class.")
    return 1 if wrong else 0
