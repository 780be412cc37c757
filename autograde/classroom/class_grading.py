"""`lockstep grade`: a whole class, from the exchange to `grades.csv`.

    solutions/ --build--> gradebook        exchange --collect--> class/submitted/
    class/submitted/ --examine, several at once--> results --nbgrader, one at a time--> gradebook, class/autograded/
        --> class/feedback/STUDENT/LAB/LAB.html, class/LAB/grades.csv

Submissions are examined on this machine, or with `--slurm` on compute nodes, see `autograde.slurm.array_grading`.

If one submission cannot be graded, the others still are. A submission that has been graded is not graded again, unless
the student has handed in a newer one, or the lab measures otherwise by now, see `autograde.classroom.measure`. Late
penalty and feedback are brought up to date, where the instructor has changed a score, a comment or a deadline.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import click
from nbformat import NotebookNode
from tqdm import tqdm

from autograde.classroom import grades
from autograde.classroom.errors import StepFailed, describe, printable
from autograde.classroom.feedback import up_to_date, write_feedback
from autograde.classroom.gradebook.graded import write_failures
from autograde.classroom.gradebook.locked import Locked
from autograde.classroom.grades import submissions
from autograde.classroom.measure import load_noted, measure_of
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.nbgrader_steps import Judge
from autograde.classroom.pending import about_again, read_all, waits_with_score
from autograde.classroom.runs.background import speak_into_log
from autograde.classroom.runs.progress import Reporter, on_now, reporting
from autograde.classroom.submissions.one_name import one_form
from autograde.classroom.submissions.submission import Submission
from autograde.labs.folder import Lab, LoadedLab, find_lab
from autograde.labs.places import CLASS
from autograde.making.build import build, write_instructor
from autograde.sandbox.bubblewrap import SandboxRefused
from autograde.sandbox.examine import Answers, Examined, examine
from autograde.sandbox.pool import Cancelled, Sandboxes
from autograde.sandbox.resources.limits import Settings, default_jobs
from autograde.slurm.array_grading import examined_on_nodes

Outcome = tuple[str, Examined | BaseException]  # of a student
# Examines submissions, given what to examine of each by student. Gives their outcomes as they arrive, within a block.
Examining = Callable[[dict[str, Answers]], AbstractContextManager[Iterator[Outcome]]]


@dataclass(frozen=True)
class Options:
    """What to grade, and how.

    students: only these ids; if empty, all. jobs: submissions examined at once; None: `default_jobs`. seed: of the
    cases; None: a new one for each submission. collect: fetch from the exchange first. force: also grade what has been
    graded. sandboxed: False runs student code unprotected; None: as configured, which is protected by default. slurm:
    examine on compute nodes, by a job array. detached: what it says goes into the log of a run in the background.
    """

    students: Sequence[str] = ()
    jobs: int | None = None
    seed: int | None = None
    collect: bool = True
    force: bool = False
    sandboxed: bool | None = None
    slurm: bool = False
    detached: bool = False


def grade(root: Path, name: str, options: Options) -> bool:
    """Grade the lab called `name` for the class of the course at `root`. Returns whether all went well.

    Raises LabError if the lab does not build, StepFailed if the gradebook refuses it or another grading is running,
    SandboxRefused, SlurmError.
    """
    found, course = find_lab(root, name), Course(root)
    settings = settings_of(course, options)
    with class_lock(course), warmed_up(course, found, settings, options) as sandboxes:
        lab = load_noted(root, found)
        built = build(lab)
        write_instructor(built, root)

        def examined(answers: dict[str, Answers]) -> AbstractContextManager[Iterator[Outcome]]:
            if options.slurm:
                return examined_on_nodes(root, lab, answers, settings)
            return examined_here(lab, answers, settings, sandboxes)

        with reporting(root, lab.name, options.detached) as run:
            if options.detached:
                speak_into_log(root, lab.name)
            return grade_class(course, lab, built.released, options, run, examined)


def settings_of(course: Course, options: Options) -> Settings:
    """How submissions are examined: as configured, where the options do not say otherwise."""
    configured = Judge(config=course.config).settings
    return replace(
        configured,
        sandboxed=configured.sandboxed if options.sandboxed is None else options.sandboxed,
        seed=configured.seed if options.seed is None else options.seed,
        jobs=options.jobs,
    )


@contextlib.contextmanager
def warmed_up(course: Course, lab: Lab, settings: Settings, options: Options) -> Iterator[Sandboxes | None]:
    """Sandboxes that get ready from now on, while the lab is loaded; None where nothing waits that was never graded."""
    graded = {each: course.folder("autograded", each, lab.name) / lab.notebook for each in submissions(course, lab)}
    new = not all(path.exists() for path in graded.values())
    with contextlib.ExitStack() as stack:
        sandboxes = None
        with contextlib.suppress(SandboxRefused):  # told when they are needed
            sandboxes = stack.enter_context(sandboxes_of(lab, settings)) if new and not options.slurm else None
        if sandboxes:
            sandboxes.warm_up()
        yield sandboxes


def sandboxes_of(lab: Lab, settings: Settings) -> Sandboxes:
    """Sandboxes for as many submissions at once as the settings say. Raises SandboxRefused."""
    jobs = settings.jobs or default_jobs(settings.limits)
    return Sandboxes(lab, settings.limits, sandboxed=settings.sandboxed, expected=0, ahead=jobs)


@contextlib.contextmanager
def class_lock(course: Course) -> Iterator[None]:
    """Lock the class, as two gradings at once would both write to its gradebook. Raises StepFailed."""
    with open(course.root / CLASS / ".grading", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            which = f" ({run})" if (run := on_now(course.root)) else ""
            raise StepFailed(f"another grading of this class is running{which}; it holds {lock.name}") from None
        yield


def grade_class(
    course: Course, lab: LoadedLab, released: NotebookNode, options: Options, run: Reporter, examined: Examining
) -> bool:
    """What `grade` does once it holds the lock. released: the lab's notebook as students got it. run: reports how far
    it is. examined: how submissions are examined."""
    try:
        for line in course.register(lab.name):
            click.echo(line)
    except StepFailed as error:
        raise StepFailed(f"{lab.name} does not go into the gradebook: {error}") from error
    succeeded = True
    if options.collect:
        notices, errors = course.collect(lab.name, run)
        succeeded = not errors
        for line in notices + errors:
            click.echo(line)
    for line in course.in_one_form():
        click.echo(line)
    handed_in = submissions(course, lab)
    asked = {*options.students}  # as people type them, without what a folder's name may have at its ends
    chosen = [student for student in handed_in if not asked or {student, one_form(student)} & asked]
    for student in sorted(asked - {*handed_in, *map(one_form, handed_in)}):
        succeeded = False
        click.echo(f"{printable(student)}: there is no submission of {lab.name} in {CLASS}/submitted")
    pending, failed, again = read_all(course, lab, released, run.count("reading", chosen), options.force)
    unchanged = len(chosen) - len(pending) - len(failed)
    click.echo(
        f"{lab.name}: {len(pending)} to grade" + (f", {unchanged} graded before and unchanged" if unchanged else "")
    )
    for line in about_again(again):
        click.echo(line)
    without_feedback, graded = [], set()
    run.step("grading", len(pending))
    for student, error in grade_all(course, lab, pending, examined):
        if error:
            failed[student] = error
            tqdm.write(f"{printable(student)}: not graded: {error}")
        elif not write_feedback(course, lab, student):  # now, while others are examined
            without_feedback.append(student)
        else:
            graded.add(student)
        run.advance()
    skipped = {*failed, *without_feedback}
    others = [student for student in chosen if student not in skipped | graded]
    missing = [student for student in others if not up_to_date(course, lab, student)]
    if missing:
        click.echo(f"feedback is written again: {', '.join(map(printable, missing))}")
    pages = tqdm(missing, desc="feedback", unit="page", disable=None if missing else True)
    for student in run.count("writing feedback", pages):
        if not write_feedback(course, lab, student):
            without_feedback.append(student)
    if kept := [student for student in again if student in graded and waits_with_score(course, lab, student)]:
        click.echo(
            f"a score by hand is kept, and waits for a look in the formgrader: {'; '.join(map(printable, kept))}"
        )
    run.step("writing the table")
    failures = grades.failures(course, lab, handed_in)
    earlier = {student: reason for student, reason in failures.items() if student not in chosen}
    written = write_grades(course, lab, handed_in, earlier | failed)
    return succeeded and written and not failed and not without_feedback


def write_grades(course: Course, lab: LoadedLab, handed_in: list[str], failed: dict[str, str]) -> bool:
    """Print the table of grades, and write it. Returns whether it was written; prints why not."""
    rows = grades.collect_rows(course, lab, measure_of(lab), handed_in, failed)
    click.echo(grades.table(rows, lab.todos))
    path = grades.csv_path(course, lab)
    try:
        write_failures(grades.failures_path(course, lab), failed)
        grades.write_csv(rows, lab.todos, path)
    except OSError as error:
        click.echo(f"{path} is not written: {describe(error)}")
        return False
    counts = Counter(row.status for row in rows)
    click.echo(", ".join(f"{status}: {count}" for status, count in counts.items()) + f"; written to {path}")
    return True


def grade_all(
    course: Course, lab: LoadedLab, pending: dict[str, Submission], examined: Examining
) -> Iterator[tuple[str, str | None]]:
    """Examine several submissions at once, and write each to the gradebook. Yields (student, what went wrong or None).

    pending: by student; each is dropped from it when it is written.
    """
    if not pending:
        return
    answers = {student: submission.answers for student, submission in pending.items()}
    with examined(answers) as outcomes, tqdm(total=len(pending), desc=lab.name, unit="submission", disable=None) as bar:
        for student, outcome in outcomes:
            yield student, grade_one(course, lab, student, pending.pop(student), outcome)
            bar.update()


@contextlib.contextmanager
def examined_here(
    lab: LoadedLab, answers: dict[str, Answers], settings: Settings, sandboxes: Sandboxes | None
) -> Iterator[Iterator[Outcome]]:
    """Examine submissions of `lab`, by student, on this machine. Yields an iterator over outcomes, as they arrive.

    sandboxes: ended when the block ends; None if they are not made yet. Raises SandboxRefused.
    """

    def examine_one(student: str) -> Examined:
        if made.cancel.is_set():
            raise Cancelled
        return examine(lab, answers[student], settings.draw_seed(), made)

    with sandboxes or sandboxes_of(lab, settings) as made, ThreadPoolExecutor(made.ahead) as pool:
        made.expected = len(answers)
        students = {pool.submit(examine_one, student): student for student in answers}
        try:
            yield ((students[done], done.exception() or done.result()) for done in as_completed(students))
        except BaseException:  # Ctrl-C too: sandboxes have sessions of their own, which do not get its signal
            made.cancel.set()
            pool.shutdown(cancel_futures=True)
            raise


def grade_one(
    course: Course, lab: LoadedLab, student: str, submission: Submission, outcome: Examined | BaseException
) -> str | None:
    """Write the results to the gradebook. Returns what went wrong, or None."""
    if isinstance(outcome, BaseException):
        return describe(outcome)
    try:
        course.autograde(lab, student, submission, outcome)
    except StepFailed as error:
        return str(error)
    except Locked:  # for a minute: nobody else can be written either
        raise
    except Exception as error:
        return describe(error)
    return None
