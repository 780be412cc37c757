"""A course on one machine, in a test: accounts of a grader and students, a prepared exchange, nbgrader's commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from small_course import ANSWERS, LAB, make_course
from unix_accounts import REPOSITORY, User, users, with_python

from course.exchange.folders import prepare

COURSE = "hpc"
PEOPLE = """
from course.exchange.submit import hand_in_privately
c = get_config()
hand_in_privately(c, {exchange!r})
"""
GRADER = """
from autograde.classroom.configuration import configure
c = get_config()
c.CourseDirectory.course_id = "hpc"
c.Exchange.root = {exchange!r}
c.Judge.sandboxed = False
configure(c, {root!r})
"""
# Runs modules as `python -m` does, each in a process of its own as an account, with what they import imported already:
# that takes seconds. What an account runs may look at its own /proc, as after exec.
PROCESSES = """
import ctypes, json, os, runpy, sys
import autograde.cli, autograde.classroom.configuration, course.exchange.submit, nbgrader.apps
DUMPABLE = 4  # of prctl(2)
for line in sys.stdin:
    name, uid, gid, words, folder, output, environment = json.loads(line)
    child = os.fork()
    if not child:
        os.initgroups(name, gid)
        os.setgid(gid)
        os.setuid(uid)
        ctypes.CDLL(None).prctl(DUMPABLE, 1, 0, 0, 0)
        with open(output, "wb", 0) as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv = words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Processes:
    """Starts nbgrader's commands as accounts. place: modules there can be run, too."""

    def __init__(self, place: Path) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        known = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        known["PYTHONPATH"] = f"{REPOSITORY}:{place}"
        command = [*with_python(), sys.executable, "-c", PROCESSES]
        self.process = subprocess.Popen(command, env=known, cwd="/", **pipes)

    def run(self, user: User, words: tuple[str, ...], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
        """Run `python -m WORDS` as an account in a folder. Returns its status, and what it said."""
        output = user.home / "output.txt"
        request = [user.name, user.uid, user.gid, words, str(folder), str(output), user.environment(**environment)]
        print(json.dumps(request), file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        return status, output.read_text()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait(240)


class School:
    """A course whose lab is released; `place` may be entered by all."""

    def __init__(self, place: Path, processes: Processes, *people: User) -> None:
        self.place, self.processes = place, processes
        self.grader, self.ada, self.bob, self.eve = people
        self.exchange, self.root = place / "exchange", self.grader.home / "course"
        self.inbound, self.outbound = self.exchange / COURSE / "inbound", self.exchange / COURSE / "outbound"
        for kind, text in (("people", PEOPLE), ("grader", GRADER)):
            self.configure(kind, text.format(exchange=str(self.exchange), root=str(self.root)))
        prepare(self.exchange, {COURSE: self.grader.name})
        make_course(self.root)
        self.grader.own(self.root)
        self.must(self.grader, "autograde", "build")
        self.must(self.grader, "nbgrader", "release_assignment", LAB)

    def configure(self, kind: str, text: str) -> None:
        """Write an nbgrader_config.py of this kind."""
        folder = self.place / kind
        folder.mkdir(exist_ok=True)
        (folder / "nbgrader_config.py").write_text(text)

    def run(
        self, user: User, *words: str, config: str = "", afresh: bool = False, **environment: object
    ) -> tuple[int, str]:
        """Run a Python module as this user; nbgrader's configuration is the grader's or the people's, or another.

        afresh: in a process that sees file systems which were mounted since.
        """
        config = config or ("grader" if user is self.grader else "people")
        known = {"JUPYTER_CONFIG_PATH": self.place / config, "LOCKSTEP_COURSE": self.root} | environment
        known = {name: str(value) for name, value in known.items()}
        folder = self.root if user is self.grader else user.home
        if afresh:
            done = user.run(sys.executable, "-m", *words, cwd=folder, **known)
            return done.returncode, done.stdout + done.stderr
        return self.processes.run(user, words, folder, known)

    def must(self, user: User, *words: str, **more: object) -> str:
        """The same, which must succeed. Returns what it said."""
        status, said = self.run(user, *words, **more)
        assert status == 0, said
        return said

    def fetched(self, user: User) -> Path:
        """The student's folder of the lab, with an answer in it."""
        folder = user.home / COURSE / LAB
        if not folder.exists():
            shutil.copytree(self.outbound / LAB, folder)
            notebook = nbformat.read(folder / f"{LAB}.ipynb", as_version=4)
            for cell in notebook.cells:
                cell.source = ANSWERS["double"] if cell.id == "double" else cell.source
            nbformat.write(notebook, folder / f"{LAB}.ipynb")
            user.own(folder.parent)
        return folder

    def submit(self, user: User, **more: object) -> str:
        """Hand in, with a new line in the student's notes. Returns what nbgrader said."""
        notes = self.fetched(user) / "notes.txt"
        with open(notes, "a") as file:
            file.write("One more thing.\n")
        user.own(notes)
        return self.must(user, "nbgrader", "submit", LAB, "--course", COURSE, **more)

    def refused(self, user: User, *words: str, **more: object) -> str:
        """Hand in what is refused. Returns why; it is no traceback, and nothing is left anywhere."""
        self.fetched(user)
        status, said = self.run(user, "nbgrader", "submit", *(words or (LAB, "--course", COURSE)), **more)
        assert status != 0 and "Traceback" not in said, said
        assert "Nothing was handed in; your files are as they were." in said
        return said

    def handed_in(self, user: User) -> list[Path]:
        """What the student has in the exchange, oldest first."""
        return sorted(self.inbound.glob(f"{user.name}+*"))

    def submissions(self) -> list[Path]:
        """What there is of submissions in the exchange, complete or not."""
        return [path for path in self.inbound.iterdir() if not path.name.startswith(".receipts.")]

    def receipts(self, user: User) -> Path:
        """Where the student's receipts are."""
        return self.inbound / f".receipts.{user.name}" / COURSE

    def cache(self, user: User) -> Path:
        """Where the student's home has copies of them."""
        return user.home / ".local/share/jupyter/nbgrader_cache" / COURSE

    def collected(self, user: User) -> Path:
        """Where the student's submission is collected to."""
        return self.root / "class" / "submitted" / user.name / LAB

    def clear(self) -> None:
        """Nobody has handed in anything."""
        for folder in (*self.inbound.iterdir(), *self.root.glob("class/submitted/*")):
            shutil.rmtree(folder) if folder.is_dir() and not folder.is_symlink() else folder.unlink()
        for user in (self.ada, self.bob, self.eve):
            shutil.rmtree(user.home / ".local", ignore_errors=True)
            shutil.rmtree(user.home / COURSE, ignore_errors=True)


@contextmanager
def school() -> Iterator[School]:
    """A school, whose accounts and files go with it."""
    place = Path(tempfile.mkdtemp(prefix="school-"))
    place.chmod(0o755)
    try:
        with users("grader-hpc", "ada", "bob", "eve") as people, Processes(place) as processes:
            yield School(place, processes, *people)
    finally:
        shutil.rmtree(place)


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by their path in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
