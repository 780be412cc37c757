"""A term, simulated: a class goes through all labs, from the release to the marks, with the commands of a real course.

    python bench/term.py [--students 30] [--labs 01_sgd_trajectories ...] [--jobs N] [--folder FOLDER]

Each lab is released to nbgrader's exchange. Every student fetches it, answers as `simulated_class.py` says, and hands
it in. The class is graded and gets its feedback. Then every fifth student hands in a corrected notebook, the instructor
corrects one score by hand, and the lab is graded again. The report on the lab and its marks for Moodle, Canvas and
others follow; after the last lab, the report on the term.

It prints what each lab cost, and says what was not as it must be: scores, findings, feedback, marks, and what was left
behind: processes, files in /dev/shm and in the folder for temporary files. It ends with 1 if there was anything.

A term takes hours. With --folder it is kept there, and the same command goes on where it was stopped; a grading that
was stopped counts from where it goes on. `cost.py` says how memory is measured. CPU is that of the command's own
processes.
"""

from __future__ import annotations

import argparse
import csv
import getpass
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import simulated_class
from cost import measured
from nbgrader.api import Gradebook
from simulated_class import COURSE, Desks, Work
from tqdm import tqdm

from autograde.labs.folder import Lab, find_lab, find_labs, load_checks
from autograde.labs.places import REPOSITORY

SHARED = Path("/dev/shm")
APART = "TERM_HAS_ITS_OWN_SHARED_MEMORY"
CACHE = f"torchinductor_{getpass.getuser()}"  # torch makes this folder for an account, when a part of it is imported
# The marks' file for each system, its columns of ids and marks, and how the student with this id and number is called.
SYSTEMS = {
    "moodle": ("marks_moodle.csv", "Email address", None, lambda student, number: f"{student}@example.org"),
    "canvas": ("marks_canvas.csv", "ID", None, lambda student, number: str(1000 + number)),
    "csv": ("marks.csv", "student", "points", lambda student, number: student),
}


@dataclass
class Step:
    """A step that was done, in seconds and bytes.

    count: submissions that it graded. wrong: what was not as it must be.
    """

    name: str
    wall: float = 0.0
    cpu: float = 0.0
    peak: int = 0
    count: int = 0
    wrong: list[str] = field(default_factory=list)


class Term:
    """A term in `folder`. Steps that were done there before are not done again."""

    def __init__(self, folder: Path, labs: list[Lab], count: int, jobs: int) -> None:
        self.folder, self.count, self.jobs, self.record = folder, count, jobs, folder / "steps.jsonl"
        self.desks = Desks(folder / "students", folder / "exchange")
        self.names = simulated_class.students(count)
        plan = json.dumps([count, [lab.name for lab in labs]])
        made = folder / "plan.json"
        if made.exists() and made.read_text() != plan:
            raise SystemExit(f"{folder} has another term: {made.read_text()}")
        for name in ("tmp", "home", "logs"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for lab in labs:
            shutil.copytree(lab.folder, self.root / "solutions" / lab.name, dirs_exist_ok=True)
        shutil.copy(REPOSITORY / "solutions" / "GLOSSARY.md", self.root / "solutions")
        made.write_text(plan)
        (folder / "home" / "nbgrader_config.py").write_text(
            f"c.Exchange.root = {str(self.desks.exchange)!r}\nc.CourseDirectory.course_id = {COURSE!r}\n"
            "c.ExchangeCollect.check_owner = c.Judge.records = False  # all are this account, and nobody runs a job\n"
        )
        people = [["id", "email", "lms_user_id"]]
        people += [[student, f"{student}@example.org", 1000 + n] for n, student in enumerate(self.names)]
        with open(folder / "people.csv", "w", newline="") as file:
            csv.writer(file).writerows(people)
        self.labs = [find_lab(self.root, lab.name) for lab in labs]
        self.done = {}
        if self.record.exists():
            steps = [Step(**json.loads(line)) for line in self.record.read_text().splitlines()]
            self.done = {step.name: step for step in steps}
        self.known = self.leftovers()

    @property
    def root(self) -> Path:
        """The course's folder."""
        return self.folder / "course"

    def go(self) -> None:
        """Do what is left of the term."""
        todo: list[tuple[str, Callable[[Step], None]]] = [("build", self.build)]
        for lab in self.labs:
            todo += [(f"{lab.name}: {name}", action) for name, action in self.steps(lab).items()]
        todo.append(("report", lambda step: self.lockstep(step, "report")))
        bar = tqdm(todo, unit="step", dynamic_ncols=True)
        for name, action in bar:
            bar.set_description(name)
            if name in self.done:
                continue
            step, began = Step(name), time.monotonic()
            action(step)
            step.wall = step.wall or time.monotonic() - began
            step.wrong += self.left_behind()
            for line in step.wrong:
                tqdm.write(f"{name}: {line}")
            with open(self.record, "a") as file:
                file.write(json.dumps(asdict(step)) + "\n")
            self.done[name] = step

    def build(self, step: Step) -> None:
        """The instructor makes the labs, and enrols the class."""
        self.lockstep(step, "build", "--force")
        self.lockstep(step, "enrol", *(f"{student}={name}" for student, name in self.names.items()))

    def steps(self, lab: Lab) -> dict[str, Callable[[Step], None]]:
        """What the class does with a lab, in order."""
        first = simulated_class.work(lab, self.count)
        better = simulated_class.again(lab, first)
        last = first | better
        corrected = next((student for student in first if student not in better), None)

        def correct(step: Step) -> None:
            self.desks.submit(lab, better)
            if corrected:
                self.correct(lab, corrected)

        def regrade(step: Step) -> None:
            self.grade(step, lab)
            if step.count != len(better):
                step.wrong.append(f"{step.count} graded again, not {len(better)}")
            step.wrong += self.not_corrected(lab, corrected) if corrected else []
            others = {student: answers for student, answers in last.items() if student != corrected}
            step.wrong += simulated_class.misgraded(lab, others, self.grades(lab))

        def grade(step: Step) -> None:
            self.grade(step, lab)
            step.wrong += simulated_class.misgraded(lab, first, self.grades(lab))

        return {
            "release": lambda step: self.lockstep(step, "release_assignment", lab.name, module="nbgrader"),
            "fetch": lambda step: self.desks.fetch(lab, self.names),
            "submit": lambda step: self.desks.submit(lab, first),
            "grade": grade,
            "feedback": lambda step: self.feedback(step, lab, first),
            "correct": correct,
            "regrade": regrade,
            "new feedback": lambda step: self.feedback(step, lab, last),
            "report": lambda step: self.lockstep(step, "report", lab.name),
            "marks": lambda step: self.marks(step, lab, last),
        }

    def grade(self, step: Step, lab: Lab) -> None:
        """The instructor collects and grades what is new."""
        log = self.lockstep(step, "grade", lab.name, f"--jobs={self.jobs}")
        step.count = int(re.search(rf"^{lab.name}: (\d+) to grade", log, re.MULTILINE)[1])

    def feedback(self, step: Step, lab: Lab, handed_in: Work) -> None:
        """The instructor releases the feedback, and everybody fetches it."""
        self.lockstep(step, "release_feedback", lab.name, module="nbgrader")
        without = self.desks.fetch_feedback(lab, handed_in)
        step.wrong += [f"{lab.name}, {student}: no feedback" for student in without]

    def correct(self, lab: Lab, student: str) -> None:
        """The instructor changes the score of a student's first TODO, and comments on it, as in the formgrader."""
        comment, score = simulated_class.CORRECTION
        todo = load_checks(lab.checks)[0].todo
        with Gradebook(f"sqlite:///{self.root}/class/gradebook.db", COURSE) as gradebook:
            gradebook.find_grade(f"{todo}-check", lab.name, lab.name, student).manual_score = score
            gradebook.find_comment(todo, lab.name, lab.name, student).manual_comment = comment
            gradebook.db.commit()

    def not_corrected(self, lab: Lab, student: str) -> list[str]:
        """Where the instructor's correction did not arrive."""
        comment, score = simulated_class.CORRECTION
        page = self.root / "class" / "feedback" / student / lab.name / f"{lab.name}.html"
        lines = [] if comment in page.read_text() else [f"{lab.name}, {student}: the comment is not in the feedback"]
        row = self.rows(self.grades(lab), "student")[student]
        if float(row[load_checks(lab.checks)[0].todo]) != score:
            lines.append(f"{lab.name}, {student}: the corrected score is not in {self.grades(lab).name}")
        return lines

    def marks(self, step: Step, lab: Lab, handed_in: Work) -> None:
        """The instructor writes the marks for each system. They must be those of grades.csv."""
        grades = self.rows(self.grades(lab), "student")
        for system, (name, key, column, called) in SYSTEMS.items():
            self.lockstep(step, "grades", lab.name, "--format", system, "--students", str(self.folder / "people.csv"))
            rows = self.rows(self.grades(lab).with_name(name), key)
            for number, student in enumerate(self.names):
                mark = rows.get(called(student, number), {}).get(column or lab.name)
                due = grades[student]["score"] if student in handed_in else ""
                if mark != due:
                    step.wrong.append(f"{lab.name}, {student}: {name} has {mark!r}, not {due!r}")

    def grades(self, lab: Lab) -> Path:
        """The lab's grades.csv."""
        return self.root / "class" / lab.name / "grades.csv"

    @staticmethod
    def rows(path: Path, key: str) -> dict[str, dict[str, str]]:
        """The rows of a table by one of its columns."""
        with open(path, newline="", encoding="utf-8-sig") as file:
            return {row[key]: row for row in csv.DictReader(file)}

    def lockstep(self, step: Step, *args: str, module: str = "autograde") -> str:
        """Run `lockstep`, or another module, and measure it. Returns what it said; ends the term if it fails."""
        home, tmp = str(self.folder / "home"), str(self.folder / "tmp")
        env = {**os.environ, "LOCKSTEP_COURSE": str(self.root), "TMPDIR": tmp, "IPYTHONDIR": home}
        env |= {"JUPYTER_CONFIG_DIR": home, "JUPYTER_DATA_DIR": home, "JUPYTER_CONFIG_PATH": str(REPOSITORY)}
        env |= {"PYTHONPATH": str(REPOSITORY), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        log = self.folder / "logs" / (re.sub(r"\W+", "-", f"{step.name} {args[0]}") + ".txt")
        usage = measured([sys.executable, "-m", module, *args], Path(home), env, log, watch=0)
        said = log.read_text(errors="replace")
        if usage.code:
            raise SystemExit(f"{module} {' '.join(args)} ended with {usage.code}:\n{said[-3000:]}")
        step.wall, step.cpu, step.peak = step.wall + usage.wall, step.cpu + usage.own, max(step.peak, usage.peak)
        step.wrong += [f"{usage.left} processes outlived {module} {args[0]}"] if usage.left else []
        return said

    def left_behind(self) -> list[str]:
        """What a step has left in /dev/shm and among temporary files."""
        new = self.leftovers() - self.known
        self.known |= new
        return [f"{path} is left behind" for path in sorted(new)]

    def leftovers(self) -> set[Path]:
        """What is there now."""
        return {path for folder in (SHARED, self.folder / "tmp") for path in folder.iterdir() if path.name != CACHE}


def table(term: Term) -> str:
    """What each lab cost, as Markdown."""
    lines = [
        "| lab | submissions | grading, s each | CPU, s each | memory, GiB | graded again | s each | all the rest, s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for lab in term.labs:
        mine = {name.partition(": ")[2]: step for name, step in term.done.items() if name.startswith(f"{lab.name}: ")}
        grade, regrade = mine.pop("grade"), mine.pop("regrade")
        peak = max(step.peak for step in (grade, regrade)) / 2**30
        rest = sum(step.wall for step in mine.values())
        first = f"{grade.count} | {grade.wall / grade.count:.1f} | {grade.cpu / grade.count:.1f} | {peak:.1f}"
        lines.append(
            f"| `{lab.name[:2]}` | {first} | {regrade.count} | {regrade.wall / regrade.count:.1f} | {rest:.0f} |"
        )
    return "\n".join(lines)


def with_own_shared_memory() -> None:
    """As root, begin again with a /dev/shm that no other program sees."""
    if os.geteuid() or APART in os.environ or not shutil.which("unshare"):
        return
    mounted = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs {SHARED} && exec "$@"', "sh"]
    os.environ[APART] = "1"
    os.execvp(mounted[0], [*mounted, sys.executable, *sys.argv])


def main() -> None:
    """Go through the term, and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--labs", nargs="+", metavar="LAB", help="in this order; else all")
    parser.add_argument("--jobs", type=int, default=2, help="submissions examined at once")
    parser.add_argument("--folder", type=Path, help="keep the term here, and go on with what is here")
    options = parser.parse_args()
    with_own_shared_memory()
    labs = [find_lab(REPOSITORY, name) for name in options.labs or ()] or find_labs(REPOSITORY)
    with tempfile.TemporaryDirectory(prefix="term-", ignore_cleanup_errors=True) as scratch:
        term = Term((options.folder or Path(scratch)).resolve(), labs, options.students, options.jobs)
        term.go()
        steps = term.done.values()
        print(table(term))
        print(
            f"{options.students} students, {len(labs)} labs, {options.jobs} submissions at once: "
            f"{sum(step.wall for step in steps) / 60:.0f} min, {sum(step.cpu for step in steps) / 60:.0f} min of CPU, "
            f"at most {max(step.peak for step in steps) / 2**30:.1f} GiB"
        )
        wrong = [line for step in steps for line in step.wrong]
        print("\n".join(wrong) or "Every score, finding, page and mark is as it must be, and nothing is left behind.")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
