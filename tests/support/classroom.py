"""A class in a test: a course, a real exchange, students who fetch, write and hand in, and the gradebook."""

from __future__ import annotations

import contextlib
import copy
import csv
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from click.testing import CliRunner, Result
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeSubmit
from traitlets.config import Config

from autograde.classroom.gradebook.made import make_gradebook
from autograde.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]
WHEN = "2025-01-01 10:00:00.000000 UTC"


@dataclass
class Classroom:
    """One lab of a course at `root`; the students' machines and the exchange are in folders beside it.

    config: lines for nbgrader_config.py, such as `c.Judge.limits = {...}`.
    """

    root: Path
    lab: str
    config: str = ""

    @property
    def home(self) -> Path:
        """What stands for Jupyter's configuration and data folders of everybody."""
        return self.root.parent / f"{self.root.name}-home"

    @property
    def exchange(self) -> Path:
        """The exchange."""
        return self.root.parent / f"{self.root.name}-exchange"

    @property
    def environment(self) -> dict[str, str]:
        """For commands: this course, this exchange, our nbgrader_config.py."""
        self.home.mkdir(exist_ok=True)
        (self.home / "nbgrader_config.py").write_text(
            f"c.Exchange.root = {str(self.exchange)!r}\nc.CourseDirectory.course_id = 'lockstep'\n"
            # All hand in as this account.
            f"c.ExchangeCollect.check_owner = False\n{self.config}\n"
        )
        return {
            **os.environ,
            "LOCKSTEP_COURSE": str(self.root),
            "JUPYTER_CONFIG_DIR": str(self.home),
            "JUPYTER_DATA_DIR": str(self.home / "data"),
        }

    def copied(self, to: Path) -> Classroom:
        """The same course, with its class, in the folder `to`, where it may be changed. It has another exchange."""
        return Classroom(shutil.copytree(self.root, to / self.root.name), self.lab, self.config)

    def lockstep(self, *args: str) -> Result:
        """Run `lockstep` in this process."""
        return CliRunner().invoke(main, args, env=self.environment, catch_exceptions=False)

    def grade(self, *args: str) -> Result:
        """Grade the lab as it was handed in, without the exchange."""
        return self.lockstep("grade", self.lab, "--no-collect", *args)

    def apart(
        self, *args: str, seconds: float, within: Sequence[str] = (), **environment: str
    ) -> tuple[int | None, str]:
        """Run `lockstep` as a process of its own. Returns its status, None if it hung, and what it said.

        within: a command that runs the one which follows.
        """
        command = [*within, sys.executable, "-m", "autograde", *args]
        known = self.environment | {"PYTHONPATH": str(REPOSITORY)} | environment
        output = self.home / "output.txt"
        with open(output, "wb") as file:  # no pipe: a process that outlives the command would keep it open
            process = subprocess.Popen(command, env=known, stdout=file, stderr=file, start_new_session=True)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return None, output.read_text()
        return process.returncode, output.read_text()

    def nbgrader(self, *args: str, cwd: Path | None = None, ours: bool = True) -> subprocess.CompletedProcess:
        """Run nbgrader's own command; with our configuration, or as it comes out of the box."""
        environment = self.environment | ({"JUPYTER_CONFIG_PATH": str(REPOSITORY)} if ours else {})
        command = [sys.executable, "-m", "nbgrader", *args]
        return subprocess.run(command, cwd=cwd or self.home, env=environment, capture_output=True, text=True)

    def released(self) -> NotebookNode:
        """The notebook as students get it."""
        return nbformat.read(self.root / "labs" / self.lab / f"{self.lab}.ipynb", as_version=4)

    def answered(self, answers: dict[str, str]) -> NotebookNode:
        """The released notebook with these answers in it."""
        notebook = copy.deepcopy(self.released())
        for cell in notebook.cells:
            cell.source = answers.get(cell.id, cell.source)
        return notebook

    def put(self, student: str, notebook: NotebookNode | bytes | None, when: str | None = WHEN) -> Path:
        """Put a submission where collected ones are. Returns its folder."""
        folder = self.root / "class" / "submitted" / student / self.lab
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / f"{self.lab}.ipynb", notebook)
        if when is not None:
            (folder / "timestamp.txt").write_text(when)
        return folder

    def submit(self, student: str, notebook: NotebookNode | bytes) -> None:
        """Write the notebook in the student's folder, which is fetched anew from the exchange, and hand it in."""
        folder = self.home / "students" / student
        outbound = self.exchange / "lockstep" / "outbound" / self.lab
        shutil.copytree(outbound, folder / self.lab, dirs_exist_ok=True)
        write(folder / self.lab / f"{self.lab}.ipynb", notebook)
        config = Config()
        config.Exchange.root = str(self.exchange)
        config.Exchange.cache = str(self.home / "cache")
        config.CourseDirectory.course_id = "lockstep"
        directory = CourseDirectory(config=config, assignment_id=self.lab, student_id=student)
        with contextlib.chdir(folder):
            ExchangeSubmit(coursedir=directory, authenticator=Authenticator(), config=config).start()

    def gradebook(self) -> Gradebook:
        """The open gradebook, which is made as `lockstep` does: nbgrader alone starts a process of two seconds."""
        url = f"sqlite:///{self.root}/class/gradebook.db"
        make_gradebook(url)
        return Gradebook(url)

    def scores(self) -> dict[str, float]:
        """Score of each student in the gradebook."""
        with self.gradebook() as gradebook:
            return {one.student.id: one.score for one in gradebook.assignment_submissions(self.lab)}

    def rows(self) -> dict[str, dict[str, str]]:
        """`grades.csv`, by student."""
        with open(self.root / "class" / self.lab / "grades.csv", newline="") as file:
            return {row["student"]: row for row in csv.DictReader(file)}

    def feedback(self, student: str) -> str:
        """The student's feedback page."""
        return (self.root / "class" / "feedback" / student / self.lab / f"{self.lab}.html").read_text()

    def graded(self, student: str) -> NotebookNode:
        """The student's graded notebook."""
        path = self.root / "class" / "autograded" / student / self.lab / f"{self.lab}.ipynb"
        return nbformat.read(path, as_version=4)


def write(path: Path, notebook: NotebookNode | bytes | None) -> None:
    """Write a notebook, or whatever somebody handed in for one; None: nothing."""
    path.unlink(missing_ok=True)
    if notebook is not None:
        path.write_bytes(notebook if isinstance(notebook, bytes) else nbformat.writes(notebook).encode())
