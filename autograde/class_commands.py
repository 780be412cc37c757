"""The commands for a class: `lockstep release`, `grade`, `feedback`, `report`, `grades`, `extend`, `counts`, ..."""

from __future__ import annotations

import sys
from pathlib import Path
from unicodedata import normalize

import click

from autograde.one_line import errors_in_one_line


class StudentId(click.ParamType):
    """A student's id, in the form in which ids are kept."""

    name = "id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """See `one_form`."""
        from autograde.classroom.submissions.one_name import one_form

        return one_form(value)


@click.command()
@click.argument("lab")
@click.option(
    "--student",
    "students",
    multiple=True,
    type=StudentId(),
    metavar="ID",
    help="Only this student; can be given several times.",
)
@click.option("--jobs", type=click.IntRange(1), help="Submissions examined at once; else what cores and memory carry.")
@click.option("--seed", type=int, help="Draw the cases from this seed, to repeat a grading exactly.")
@click.option("--no-collect", is_flag=True, help="Grade what is in class/submitted, without asking the exchange.")
@click.option(
    "--from",
    "archive",
    type=click.Path(path_type=Path),
    metavar="ZIP",
    help='Grade what is in Moodle\'s "Download all submissions", without asking the exchange.',
)
@click.option("--force", is_flag=True, help="Grade again what was graded before.")
@click.option("--no-sandbox", is_flag=True, help="Run student code as yourself, unprotected.")
@click.option("--slurm", is_flag=True, help="Examine submissions on compute nodes, by a job array of Slurm's.")
@click.option("--background", is_flag=True, help="Go on when this terminal is closed; again: how far it is.")
@click.option("--stop", is_flag=True, help="End the grading of LAB that is on, as Ctrl-C does.")
@click.option("--detached", is_flag=True, hidden=True)
@click.pass_obj
def grade(
    root: Path,
    lab: str,
    students: tuple[str, ...],
    jobs: int | None,
    seed: int | None,
    no_collect: bool,
    archive: Path | None,
    force: bool,
    no_sandbox: bool,
    slurm: bool,
    background: bool,
    stop: bool,
    detached: bool,
) -> None:
    """Collect the submissions of LAB, grade them, write feedback and grades.csv."""
    if stop or background:  # with nothing of nbgrader, which only the run needs
        from autograde.classroom.runs import background as runs
        from autograde.labs.folder import find_lab

        with errors_in_one_line():
            lab = find_lab(root, lab).name
            click.echo(runs.stop(root, lab) if stop else runs.start(root, lab))
        return
    from traitlets import TraitError

    from autograde.classroom import class_grading
    from autograde.classroom.nbgrader_course import Course
    from autograde.labs.folder import find_lab
    from autograde.sandbox.bubblewrap import SandboxRefused
    from autograde.term.moodle_zip import take_in
    from course.processes.slurm_command import SlurmError

    sandboxed, collect = False if no_sandbox else None, not (no_collect or archive)
    options = class_grading.Options(students, jobs, seed, collect, force, sandboxed, slurm, detached)
    failed: list[str] = []
    with errors_in_one_line(SandboxRefused, SlurmError, TraitError):
        if archive:
            course = Course(root)
            with class_grading.class_lock(course):
                said, failed = take_in(course, find_lab(root, lab).name, archive)
            for line in said + failed:
                click.echo(line)
        succeeded = class_grading.grade(root, lab, options)
    sys.exit(0 if succeeded and not failed else 1)


@click.command()
@click.argument("lab")
@click.pass_obj
def feedback(root: Path, lab: str) -> None:
    """Release the feedback of LAB to all who are graded, as scores and comments are now.

    Where you have changed a score or a comment, it is written again first. Students who are to be
    graded again get none.
    """
    from autograde.term.giving_back import give_back

    with errors_in_one_line():
        for line in give_back(root, lab):
            click.echo(line)


@click.command()
@click.argument("lab")
@click.option("--deadline", metavar="UNTIL", default="", help="Its new deadline: 3d, 12h, 1w, a date, a time, or none.")
@click.pass_obj
def release(root: Path, lab: str, deadline: str) -> None:
    """Build LAB and release it to students; again, if it is released, and say who has the old text.

    A deadline that you change reaches students with the release. A span such as 3d counts from the deadline that LAB
    has, or from now.
    """
    from autograde.term.releasing_lab import release as give_out

    with errors_in_one_line():
        for line in give_out(root, lab, deadline):
            click.echo(line)


@click.command()
@click.argument("lab", required=False)
@click.pass_obj
def report(root: Path, lab: str | None) -> None:
    """Write one page on LAB for the instructor: scores, findings, hangs, what is left to grade by hand.

    Without LAB, one page on all labs of the term: who is behind, totals, which findings are commonest.
    """
    with errors_in_one_line():
        if lab:
            from autograde.classroom.reports.class_report import write_report

            click.echo(write_report(root, lab))
        else:
            from autograde.term.term_report import write_term_report

            click.echo(write_term_report(root))


@click.command()
@click.argument("lab", required=False)
@click.option("--format", "system", type=click.Choice(["moodle", "canvas", "csv"]), default="csv", show_default=True)
@click.option(
    "--students",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV list of the students and their ids there, such as Moodle's or Canvas's own export.",
)
@click.option("--zero", is_flag=True, help="0, not an empty mark, for students who handed in nothing by the deadline.")
@click.pass_obj
def grades(root: Path, lab: str | None, system: str, students: Path | None, zero: bool) -> None:
    """Write the marks of LAB into a file that Moodle or Canvas imports, or that has everything (csv).

    Without LAB, totals over all labs: points, or percent where c.Total.drop_lowest or c.Total.weights in
    nbgrader_config.py say how labs count.
    """
    with errors_in_one_line():
        if lab is None:
            from autograde.term.term_marks import write_term_marks

            path, warnings, notes = write_term_marks(root, system, students, zero)
        else:
            from autograde.term.marks import write_marks

            path, warnings, notes = write_marks(root, lab, system, students, zero)
    for line in warnings:
        click.echo(line, err=True)
    for line in [*notes, path]:
        click.echo(line)


@click.command(context_settings={"ignore_unknown_options": True})  # -3d is a time that cannot be, and no option
@click.argument("lab", metavar="[LAB]")
@click.argument("student", type=StudentId())
@click.argument("until", required=False)
@click.pass_obj
def extend(root: Path, lab: str, student: str, until: str | None) -> None:
    """Give one STUDENT more time for LAB, or for all labs that have a deadline.

    UNTIL is 3d, 12h, 1w, a date such as 2027-01-31, or none to take it back.
    """
    from autograde.term.extending import extend as give_more_time
    from autograde.term.extending import extend_everywhere

    with errors_in_one_line():
        if until is None:  # two words: STUDENT UNTIL
            given = extend_everywhere(root, normalize("NFC", lab), student)
        else:
            given = give_more_time(root, lab, student, until)
        for line in given:
            click.echo(line)


@click.command()
@click.argument("lab")
@click.argument("student", type=StudentId())
@click.argument("time", required=False)
@click.option("--json", "as_json", is_flag=True, help="List as JSON, for other programs.")
@click.pass_obj
def counts(root: Path, lab: str, student: str, time: str | None, as_json: bool) -> None:
    """List when STUDENT handed in LAB, and which of these counts; with TIME, let that one count.

    TIME is as listed, or a part of it such as 11:20; last takes the choice back, and the last one counts again. A
    choice holds whatever is handed in afterwards. Deadline, late penalty and marks follow with the next grade.
    """
    import json

    from autograde.classroom.nbgrader_course import Course
    from autograde.labs.folder import find_lab
    from autograde.term.counting.hand_ins import choose, hand_ins, plain

    with errors_in_one_line():
        said = choose(root, lab, student, time) if time else []
        found = hand_ins(Course(root), find_lab(root, lab), student) if as_json or not time else []
    for line in [*said, *(map(str, found) if not as_json else [json.dumps(plain(found))])]:
        click.echo(line)


@click.command()
@click.argument("students", nargs=-1, type=StudentId(), metavar="[ID[=NAME]]...")
@click.option(
    "--students",
    "listed",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV list with id, name, email and lms_user_id, or Moodle's or Canvas's own export.",
)
@click.option("--new", "all_new", is_flag=True, help="Enrol a FILE of which nobody is known here.")
@click.option("--remove", is_flag=True, help="Take these students, and those on the FILE, out of the gradebook again.")
@click.pass_obj
def enrol(root: Path, students: tuple[str, ...], listed: Path | None, all_new: bool, remove: bool) -> None:
    """Put all labs and these students into the gradebook, where they are not in it yet.

    The formgrader then shows every lab, and students who hand in nothing, too. Labs that the course no longer chooses
    are taken out, unless somebody has handed one in. Students who are enrolled already get e-mail address and LMS id
    from the FILE; a FILE on which nobody is known is refused without --new. --remove takes students out again; those
    who have handed in something stay.
    """
    from autograde.classroom.nbgrader_course import Course
    from autograde.labs.folder import LabError, find_labs, labs_left_out
    from autograde.making.build import build as build_of
    from autograde.making.build import write_instructor
    from autograde.term.lists.roster import enrol_list, not_told_apart, take_back

    with errors_in_one_line():
        course = Course(root)
        course.wait_until_free()
        for line in course.in_one_form():
            click.echo(line)
        if remove:
            for line in take_back(course, students, listed):
                click.echo(line)
            return
        for line in enrol_list(course, listed, all_new) if listed else []:
            click.echo(line)
        course.enrol({student: name for student, _, name in (argument.partition("=") for argument in students)})
        with course.gradebook() as gradebook:
            for line in not_told_apart(gradebook):
                click.echo(line)
        course.forget([lab.name for lab in labs_left_out(root)])
        failed = []
        for lab in find_labs(root):
            if not course.knows(lab.name):
                try:
                    write_instructor(build_of(lab), root)  # where nobody has built it yet
                    course.register(lab.name)
                except LabError as error:  # one that is being written
                    failed.append(str(error))
        if failed:
            raise LabError("\n".join(failed))
