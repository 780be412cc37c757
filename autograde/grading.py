"""`lockstep grade`: a whole class, from the exchange to `grades.csv`.

    solutions/ --build--> gradebook        exchange --collect--> class/submitted/
    class/submitted/ --examine, several at once--> results --nbgrader, one at a time--> gradebook, class/autograded/
        --> class/feedback/STUDENT/LAB/LAB.html, class/LAB/grades.csv

Submissions are examined on this machine, or with `--slurm` on compute nodes, see `autograde.array`.

Whatever happens to one submission, the next is graded. What was graded stays so, and is not graded again unless a newer
submission was handed in.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from nbformat import NotebookNode
from nbgrader.utils import parse_utc
from tqdm import tqdm

from autograde import grades
from autograde.array import Answers, Outcome, examined_on_nodes
from autograde.batch_records import to_run_again
from autograde.build import build, write_instructor
from autograde.converters import Course, StepFailed, describe, printable, unusable
from autograde.labs import Lab, find_lab, load_checks
from autograde.limits import Limits, Settings, default_jobs
from autograde.nbgrader_steps import CLASS, Judge, answers, prepare, released_notebook
from autograde.rebuild import Unreadable, rebuild
from autograde.sandboxes import Cancelled, Sandboxes
from autograde.submitted import fingerprint, read_plain, read_submission

MAX_TIMESTAMP = 1000  # bytes


@dataclass(frozen=True)
class Options:
    """What to grade, and how.

    students: only these ids; none: all. jobs: submissions examined at once; None: as many as the machine carries. seed:
    of the cases; None: a fresh one for each. collect: fetch from the exchange first. force: grade again what was graded
    before. sandboxed: False runs student code unprotected; None: as the configuration has it, which is protected.
    slurm: examine on compute nodes, by a job array.
    """

    students: Sequence[str] = ()
    jobs: int | None = None
    seed: int | None = None
    collect: bool = True
    force: bool = False
    sandboxed: bool | None = None
    slurm: bool = False


def grade(root: Path, name: str, options: Options) -> bool:
    """Grade the lab called `name` for the class of the course at `root`. Returns whether nothing went wrong.

    Raises LabError if the lab does not build, StepFailed if the gradebook cannot take it, or if another grading runs,
    SandboxRefused, SlurmFailed.
    """
    lab = find_lab(root, name)
    write_instructor(build(lab), root)
    course = Course(root)
    with only_one(course):
        return grade_class(course, lab, options)


@contextlib.contextmanager
def only_one(course: Course) -> Iterator[None]:
    """Hold the class: two gradings at once would both write to its gradebook. Raises StepFailed."""
    with open(course.root / CLASS / ".grading", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StepFailed(f"another grading of this class is running; it holds {lock.name}") from None
        yield


def grade_class(course: Course, lab: Lab, options: Options) -> bool:
    """What `grade` does, once it has the class for itself."""
    todos = [check.todo for check in load_checks(lab.checks)]
    try:
        course.register(lab.name)
    except StepFailed as error:
        raise StepFailed(f"{lab.name} does not go into the gradebook: {error}") from error
    failed: dict[str, str] = {}
    fine = True
    if options.collect:
        said, wrong = course.collect(lab.name)
        fine = not wrong
        for line in said + wrong:
            click.echo(line)
    there = submissions(course, lab)
    chosen = [student for student in there if not options.students or student in options.students]
    for student in sorted(set(options.students) - set(there)):
        fine = False
        click.echo(f"{printable(student)}: there is no submission of {lab.name} in {CLASS}/submitted")
    due = []
    for student in chosen:
        if reason := unusable(student) or bad_timestamp(course, lab, student):
            failed[student] = reason
            click.echo(f"{printable(student)}: not graded: {reason}")
        elif options.force or not up_to_date(course, lab, student):
            due.append(student)
    again = len(chosen) - len(due) - len(failed)
    click.echo(f"{lab.name}: {len(due)} to grade" + (f", {again} graded before and unchanged" if again else ""))
    unread = []
    for student, error in grade_all(course, lab, due, options):
        if error:
            failed[student] = error
            tqdm.write(f"{printable(student)}: not graded: {error}")
        elif not write_feedback(course, lab, student):  # now, while others are examined
            unread.append(student)
    done = {*failed, *unread}
    without = [student for student in chosen if student not in done and not has_feedback(course, lab, student)]
    for student in tqdm(without, desc="feedback", unit="page", disable=not without):
        if not write_feedback(course, lab, student):
            unread.append(student)
    rows = grades.collect_rows(course, lab, todos, there, failed)
    click.echo(grades.table(rows, todos))
    path = grades.csv_path(course, lab)
    try:
        grades.write_csv(rows, todos, path)
    except OSError as error:
        fine = False
        click.echo(f"{path} is not written: {describe(error)}")
    else:
        counts = Counter(row.status for row in rows)
        click.echo(", ".join(f"{status}: {count}" for status, count in counts.items()) + f"; written to {path}")
    return fine and not failed and not unread


def submissions(course: Course, lab: Lab) -> list[str]:
    """Ids of the students whose submissions of `lab` are here."""
    folder = course.root / course.directory.submitted_directory
    return (
        sorted(entry.name for entry in os.scandir(folder) if Path(entry.path, lab.name).is_dir())
        if folder.is_dir()
        else []
    )


def bad_timestamp(course: Course, lab: Lab, student: str) -> str | None:
    """Why nbgrader could not read when the submission was handed in, if so."""
    path = course.folder("submitted", student, lab.name) / "timestamp.txt"
    try:
        text = read_plain(path, MAX_TIMESTAMP).decode().strip()
        return text and parse_utc(text) and None
    except FileNotFoundError:
        return None
    except (Unreadable, ValueError, OverflowError, OSError):
        return f"{path} is not a date and time; correct or delete it"


def up_to_date(course: Course, lab: Lab, student: str) -> bool:
    """Whether just this submission was graded, to the end."""
    submitted, autograded = (course.folder(step, student, lab.name) for step in ("submitted", "autograded"))
    raw, _ = read_submission(submitted / lab.notebook)
    found = grades.notes(course, lab, student)
    return found.get("submission") == fingerprint(raw) and timestamp(submitted) == timestamp(autograded)


def timestamp(folder: Path) -> bytes | None:
    """When it was handed in, as nbgrader noted it."""
    path = folder / "timestamp.txt"
    return read_plain(path, MAX_TIMESTAMP) if path.exists() else None


def has_feedback(course: Course, lab: Lab, student: str) -> bool:
    """Whether the feedback on the last grading is there, and whole."""
    graded = course.folder("autograded", student, lab.name) / lab.notebook
    page = course.folder("feedback", student, lab.name) / f"{lab.name}.html"
    if not graded.exists():
        return True
    if not page.exists() or page.stat().st_mtime_ns < graded.stat().st_mtime_ns:
        return False
    return page.read_bytes().rstrip().endswith(b"</html>")


def grade_all(course: Course, lab: Lab, students: list[str], options: Options) -> Iterator[tuple[str, str | None]]:
    """Examine several submissions at once; write each to the gradebook when done. Yields what went wrong, or None."""
    if not students:
        return
    configured = Judge(config=course.config)
    settings = Settings(
        limits=Limits(**configured.limits),
        sandboxed=configured.sandboxed if options.sandboxed is None else options.sandboxed,
        seed=configured.seed if options.seed is None else options.seed,
        jobs=options.jobs,
    )
    read = partial(read_answers, course, lab, released_notebook(course.root, lab))
    if options.slurm:
        examined = examined_on_nodes(course.root, lab, students, read, settings)
    else:
        examined = examined_here(lab, students, read, settings)
    with examined as outcomes, tqdm(total=len(students), desc=lab.name, unit="submission") as bar:
        for student, outcome in outcomes:
            yield student, grade_one(course, lab, student, outcome)
            bar.update()


def read_answers(course: Course, lab: Lab, released: NotebookNode, student: str) -> Answers:
    """What of a submission is examined."""
    folder = course.folder("submitted", student, lab.name)
    raw, others = read_submission(folder / lab.notebook)
    sources, blank = answers(rebuild(released, raw, lab.name, others).notebook)
    return sources, blank, to_run_again(lab, folder, sources)


@contextlib.contextmanager
def examined_here(
    lab: Lab, students: list[str], read: Callable[[str], Answers], settings: Settings
) -> Iterator[Iterator[tuple[str, Outcome]]]:
    """Examine submissions of `lab` on this machine. Yields an iterator over student and outcome, as they come.

    read: the answers of a student; may raise.
    """
    jobs = settings.jobs or default_jobs(settings.limits)
    cancel = threading.Event()

    def examine_one(student: str) -> dict:
        if cancel.is_set():
            raise Cancelled
        return prepare(lab, *read(student), settings.seed, sandboxes)

    expected = len(students)
    with (
        Sandboxes(
            lab, settings.limits, sandboxed=settings.sandboxed, expected=expected, ahead=jobs, cancel=cancel
        ) as sandboxes,
        ThreadPoolExecutor(jobs) as pool,
    ):
        doing = {pool.submit(examine_one, student): student for student in students}
        try:
            yield ((doing[done], done.exception() or done.result()) for done in as_completed(doing))
        except BaseException:  # Ctrl-C, too: sandboxes have sessions of their own and do not hear it
            cancel.set()
            pool.shutdown(cancel_futures=True)
            raise


def grade_one(course: Course, lab: Lab, student: str, outcome: Outcome) -> str | None:
    """Write the results to the gradebook. Returns what went wrong, if anything did."""
    if isinstance(outcome, BaseException):
        return describe(outcome)
    try:
        course.autograde(lab.name, student, outcome)
    except StepFailed as error:
        return str(error)
    except Exception as error:
        return describe(error)
    return None


def write_feedback(course: Course, lab: Lab, student: str) -> bool:
    """Write a student's feedback page. Returns whether that worked; it says why not."""
    try:
        course.feedback(lab.name, student)
    except StepFailed as error:
        tqdm.write(f"{printable(student)}: graded, but its feedback is not written: {error}")
        return False
    return True
