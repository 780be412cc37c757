"""The folder that holds all of a hub's state, and the permissions of its parts."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from course.jupyterhub.accounts.unix import identity
from course.jupyterhub.courses import EXAMPLE, Course
from course.lab_choice import FILE, all_labs, chosen

# Environment variables of the hub's processes.
FOLDER = "LOCKSTEP_HUB"
PORT = "LOCKSTEP_HUB_PORT"
CONFIG = "LOCKSTEP_HUB_CONFIG"  # an admin's own file
REPOSITORY = Path(__file__).resolve().parents[2]
# The parts of the clone that students' programs need, and what a bundle is made of. The rest contains answers, or is of
# no use to them.
FOR_ALL = (".venv", "autograde", "course", "hub", "labs", "lockstep_course.egg-info", "slurm")
FOR_ALL += ("LICENSE", "LICENSE-CC-BY-4.0", "environment.yml", "lockstep", "pyproject.toml")
# What a course's folder links to, so that its terminal knows the commands as a clone does.
LINKS = {"lockstep": REPOSITORY / "course" / "jupyterhub" / "grader" / "lockstep", ".venv": sys.prefix}

NBGRADER_CONFIG = '''\
"""nbgrader in this course: its commands, its formgrader, `lockstep grade`."""

import os
from pathlib import Path

from autograde.classroom.configuration import configure

c = get_config()
c.CourseDirectory.course_id = {course!r}
c.Exchange.root = {exchange!r}
# Without root all hand in as one account, and a folder's owner says nothing.
c.ExchangeCollect.check_owner = {check_owner}
configure(c, Path({folder!r}))
'''


class Place:
    """A hub's folder. All can enter it, but nobody can list it; each part has its own permissions."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.courses_file = self.root / "courses.toml"
        self.private = self.root / "private"  # the hub's database, cookie secret and log
        self.proxy_file = self.private / "proxy.pid"
        self.exchange = self.root / "exchange"  # nbgrader's
        self.courses = self.root / "courses"  # a folder for each, owned by its grader
        self.homes = self.root / "homes"  # of users without accounts, if the hub does not run as root

    def course(self, course: Course) -> Path:
        """The folder of a course: its labs' source, its gradebook, its class."""
        return self.courses / course.name

    def make(self) -> None:
        """Make the folder, with an example of courses.toml if there is none."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o711)
        for folder, mode in ((self.private, 0o700), (self.courses, 0o711)):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        if not self.courses_file.exists():
            self.courses_file.write_text(EXAMPLE)
        self.courses_file.chmod(0o600)

    def labs(self, course: Course) -> dict[str, Path]:
        """The labs that a course chooses, by name: their folders. Raises ChoiceError."""
        own = all_labs(self.course(course), course.choice.folders)
        where = f"{self.courses_file}: [{course.name}]: labs"
        return chosen(all_labs(REPOSITORY) | own, course.choice, where)

    def make_course(self, course: Course) -> None:
        """Make a course's folder with the labs' source, build the labs, and put the students into the gradebook.

        An existing folder stays, as its instructors may have changed it; where the course's choice has changed, labs
        are put into it that it lacks. As root, runs as the grader's account. Raises ChoiceError.
        """
        folder, choice = self.course(course), course.choice.text()
        ours = [path for path in self.labs(course).values() if path.parent == REPOSITORY / "solutions"]
        chose = self.private / f"{course.name}.toml"  # what the course's folder was last made for
        if not folder.exists():
            part = self.prepare_part(course, [*ours, *(REPOSITORY / "solutions").glob("*.md")])
            settings = {"course": course.name, "exchange": str(self.exchange), "folder": str(folder)}
            settings["check_owner"] = os.geteuid() == 0
            (part / "nbgrader_config.py").write_text(NBGRADER_CONFIG.format_map(settings))
            if os.geteuid() == 0:
                give(part, course.grader)
            as_grader(course, "build", folder=part)
            part.rename(folder)
        elif choice != (chose.read_text() if chose.exists() else ""):
            part = self.prepare_part(course, ours)
            if os.geteuid() == 0:
                give(part, course.grader)
            # By the grader: root would follow a link that it put there.
            run_as_grader(course, "cp", "-r", "--", part / "solutions", part / FILE, folder, folder=folder)
            shutil.rmtree(part)
            as_grader(course, "build", "--missing", folder=folder)
        chose.write_text(choice)
        for name, target in LINKS.items():
            run_as_grader(course, "ln", "-sfn", target, name, folder=folder)
        self.enrol(course, course.students)

    def enrol(self, course: Course, students: Collection[str], patience: float | None = None) -> None:
        """Put students into a course's gradebook, under their accounts' full names, where they are not in it yet.

        patience: seconds that it may take. As root, runs as the grader's account. Raises SubprocessError.
        """
        names = (f"{student}={full_name(student)}" for student in students)
        as_grader(course, "enrol", "--", *names, folder=self.course(course), patience=patience)
        self.note_enrolled(course, students)

    def note_enrolled(self, course: Course, students: Iterable[str]) -> None:
        """Note whom `enrol` has put into a course's gradebook."""
        self._enrolled(course).write_text("".join(f"{student}\n" for student in students))

    def enrolled(self, course: Course) -> set[str]:
        """Whom `enrol` has put into a course's gradebook."""
        try:
            return {*self._enrolled(course).read_text().split()}
        except FileNotFoundError:
            return set()

    def _enrolled(self, course: Course) -> Path:
        return self.private / f"{course.name}.students"

    def prepare_part(self, course: Course, sources: Iterable[Path]) -> Path:
        """A folder beside the course's, which only its owner can enter, with what the course is to get of the clone:
        these labs and files in solutions/, and its choice."""
        part = self.courses / f".{course.name}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o700)
        (part / "solutions").mkdir()
        for source in sources:
            if source.is_dir():
                shutil.copytree(source, part / "solutions" / source.name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, part / "solutions")
        (part / FILE).write_text(course.choice.text())
        return part


def as_grader(course: Course, *command: str, folder: Path, patience: float | None = None) -> None:
    """Run one of `./lockstep`'s commands in a course's folder; as root, as its grader. Raises SubprocessError."""
    run_as_grader(course, sys.executable, "-m", "autograde", *command, folder=folder, patience=patience)


def run_as_grader(course: Course, *command: str | Path, folder: Path, patience: float | None = None) -> None:
    """Run a program in a course's folder; as root, as the course's grader. patience: seconds that it may take. Raises
    SubprocessError."""
    settings = as_grader_runs(course, folder)
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=patience, **settings)


def as_grader_runs(course: Course, folder: Path) -> dict[str, Any]:
    """Arguments with which `subprocess` runs a program in a course's folder; as root, as the course's grader."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    environment |= {"LOCKSTEP_COURSE": str(folder)}
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        account = identity(course.grader)
        environment |= {"HOME": pwd.getpwnam(course.grader).pw_dir, "USER": course.grader}
        environment |= {"LOCKSTEP_SANDBOX_REQUIRED": "1"}  # no student's code runs as the grader
    else:
        environment |= {name: os.environ[name] for name in ("HOME", "USER") if name in os.environ}
    return {"cwd": folder, "env": environment, **account}


def full_name(account: str) -> str:
    """The full name of an account's user, empty if the machine does not know it."""
    try:
        return pwd.getpwnam(account).pw_gecos.partition(",")[0]
    except KeyError:
        return ""


def give(folder: Path, account: str) -> None:
    """Give a folder that nobody else can enter, with all its content, to an account and its group."""
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, account, pwd.getpwnam(account).pw_gid)


def close_clone(repository: Path) -> None:
    """Take from all others the right to read what contains answers (solutions, tests, the history), leave the rest."""
    repository.chmod(0o755)  # Python looks for modules in a folder that it can list
    for path in repository.iterdir():
        mode = path.lstat().st_mode
        if path.name not in FOR_ALL and not path.is_symlink():
            path.chmod(mode & 0o700)
        elif path.is_file() and not path.is_symlink():  # an earlier version of this may have closed it
            path.chmod(mode | (0o055 if mode & 0o100 else 0o044))
