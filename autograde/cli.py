"""The command `lockstep`. Each subcommand imports what it needs when it runs, so that `--help` is fast."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from unicodedata import normalize

import click

from autograde.contract.places import REPOSITORY
from autograde.lectures.command import book
from autograde.mutants.command import mutants
from autograde.rewritings.command import rewritings


def course_root() -> Path:
    """The course's folder: LOCKSTEP_COURSE, or this repository."""
    return Path(os.environ.get("LOCKSTEP_COURSE") or REPOSITORY).resolve()


class StudentId(click.ParamType):
    """A student's id, in the form in which ids are kept."""

    name = "id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """In Unicode's NFC, see `autograde.classroom.one_name`."""
        return normalize("NFC", value)


class OneLine(click.ClickException):
    """A command line that cannot be, in one line."""

    exit_code = click.UsageError.exit_code


class Commands(click.Group):
    """Commands that say in one line what is wrong with their arguments, and where these are explained."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command. Raises OneLine."""
        try:
            return super().invoke(context)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "lockstep"
            said = " ".join(error.format_message().split()).rstrip(".")
            raise OneLine(f"{said}; `./{command} --help` explains it") from error


@click.group(cls=Commands)
@click.pass_context
def main(context: click.Context) -> None:
    """A JupyterLab course on distributed deep-learning training: build its labs, grade its classes."""
    context.obj = course_root()


main.add_command(mutants)
main.add_command(rewritings)
main.add_command(book)


@main.command()
@click.argument("labs", nargs=-1, metavar="[LAB]...")
@click.option(
    "--check", is_flag=True, help="Change nothing; say what is not up to date, and exit with 1 if anything is."
)
@click.option("--force", is_flag=True, help="Overwrite notebooks in labs/ that somebody has worked in.")
@click.option("--missing", is_flag=True, help="Leave alone what was built before.")
def build(labs: tuple[str, ...], check: bool, force: bool, missing: bool) -> None:
    """Make labs/ from solutions/: all labs of the course and the lectures, or the labs named.

    course.toml in the course's folder can choose some (labs = ["03_pi_allreduce"]); what was built of others goes.
    LOCKSTEP_LABS names folders with labs of your own, separated by `:`.
    """
    from autograde import build as builder
    from autograde.contract.labs import LabError, find_lab, find_labs, labs_left_out
    from autograde.contract.places import SOURCE
    from autograde.lectures import notebooks

    root = course_root()
    failed = False
    builts = []
    try:
        wanted = [find_lab(root, name) for name in labs] or find_labs(root)
        for lab in wanted:
            if not missing or not (root / SOURCE / lab.name / lab.notebook).exists():
                builts.append(builder.build(lab))
    except LabError as error:
        raise click.ClickException(str(error)) from error
    if not wanted:
        raise click.ClickException(f"there is no lab in {root / 'solutions'}")
    for lab in labs_left_out(root) if not labs and not check else []:
        try:
            if builder.take_away(lab, root, force):
                click.echo(f"{lab.name}: taken away, as course.toml does not choose it")
        except LabError as error:
            failed = True
            click.echo(f"Error: {error}", err=True)
    for built in builts if not check else []:
        try:
            builder.write(built, root, force)
            click.echo(f"{built.lab.name}: built")
        except LabError as error:
            failed = True
            click.echo(f"Error: {error}", err=True)
    for lecture in notebooks.find_lectures(root) if not labs and not check and not missing else []:
        notebooks.write(lecture)
        click.echo(f"{lecture.name}: built")
    differing = builder.differences(builts, root) if check else []
    differing += notebooks.differences(root) if check and not labs else []
    foreign = builder.foreign(builts, root) if not labs and not missing else []
    for line in differing + foreign:
        click.echo(line)
    if check and not differing and not foreign:
        click.echo("labs/ is up to date")
    sys.exit(1 if failed or (check and (differing or foreign)) else 0)


@main.command()
@click.argument("lab")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Make it here, not in the course's solutions/.",
)
def new(lab: str, folder: Path | None) -> None:
    """Make the folder of a new LAB in solutions/: the small lab of solutions/README.md, to start from.

    Labs in folders of your own are found by LOCKSTEP_LABS, which names these folders, separated by `:`.
    """
    from autograde.contract.labs import LabError
    from autograde.new import make_lab

    try:
        made = make_lab(course_root(), lab, folder)
    except (LabError, OSError) as error:
        raise click.ClickException(str(error)) from error
    own = f"export LOCKSTEP_LABS={folder.absolute()}, " if folder else ""
    click.echo(f"{made}: made. Next: {own}./lockstep build {lab}, and ./lockstep test --lab {lab}")


@main.command()
@click.argument("lab")
@click.argument("target", required=False, default=".", type=click.Path(path_type=Path))
def bundle(lab: str, target: Path) -> None:
    """Pack LAB for a JupyterHub without nbgrader, into the file or folder TARGET; by default LAB.tar.gz, here.

    It holds what students get, the kit, and a README.txt that says how to install both.
    """
    from autograde.bundle import BundleError, write_bundle
    from autograde.contract.labs import LabError, find_lab

    try:
        path = write_bundle(find_lab(course_root(), lab), target)
    except (LabError, BundleError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")


@main.command()
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
@click.option("--force", is_flag=True, help="Grade again what was graded before.")
@click.option("--no-sandbox", is_flag=True, help="Run student code as yourself, unprotected.")
@click.option("--slurm", is_flag=True, help="Examine submissions on compute nodes, by a job array of Slurm's.")
def grade(
    lab: str,
    students: tuple[str, ...],
    jobs: int | None,
    seed: int | None,
    no_collect: bool,
    force: bool,
    no_sandbox: bool,
    slurm: bool,
) -> None:
    """Collect the submissions of LAB, grade them, write feedback and grades.csv."""
    from sqlalchemy.exc import SQLAlchemyError
    from traitlets import TraitError

    from autograde.classroom import class_grading
    from autograde.classroom.nbgrader_course import StepFailed, describe
    from autograde.contract.labs import LabError
    from autograde.sandbox.bubblewrap import SandboxRefused
    from course.processes.slurm_command import SlurmError

    sandboxed = False if no_sandbox else None
    options = class_grading.Options(students, jobs, seed, not no_collect, force, sandboxed, slurm)
    try:
        succeeded = class_grading.grade(course_root(), lab, options)
    except (LabError, StepFailed, SandboxRefused, SlurmError, TraitError) as error:
        raise click.ClickException(str(error)) from error
    except (OSError, SQLAlchemyError) as error:  # a full disk, an unreadable gradebook
        raise click.ClickException(describe(error)) from error
    sys.exit(0 if succeeded else 1)


@main.command()
@click.argument("lab", required=False)
def report(lab: str | None) -> None:
    """Write one page on LAB for the instructor: scores, findings, hangs, what is left to grade by hand.

    Without LAB, one page on all labs of the term: who is behind, totals, which findings are commonest.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from autograde.classroom.class_report import write_report
    from autograde.classroom.nbgrader_course import StepFailed, describe
    from autograde.contract.labs import LabError
    from autograde.term.term_report import write_term_report

    try:
        click.echo(write_report(course_root(), lab) if lab else write_term_report(course_root()))
    except (LabError, StepFailed) as error:
        raise click.ClickException(str(error)) from error
    except (OSError, SQLAlchemyError) as error:  # an unreadable file or gradebook
        raise click.ClickException(describe(error)) from error


@main.command()
@click.argument("lab")
@click.option("--format", "system", type=click.Choice(["moodle", "canvas", "csv"]), default="csv", show_default=True)
@click.option(
    "--students",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV list of the students and their ids there, such as Moodle's or Canvas's own export.",
)
@click.option("--zero", is_flag=True, help="0, not an empty mark, for who handed in nothing by the deadline.")
def grades(lab: str, system: str, students: Path | None, zero: bool) -> None:
    """Write the marks of LAB into a file that Moodle or Canvas imports, or that has everything (csv)."""
    from sqlalchemy.exc import SQLAlchemyError

    from autograde.classroom.nbgrader_course import StepFailed, describe
    from autograde.contract.labs import LabError
    from autograde.term.marks import write_marks

    try:
        path, notes = write_marks(course_root(), lab, system, students, zero)
    except (LabError, StepFailed) as error:
        raise click.ClickException(str(error)) from error
    except (OSError, SQLAlchemyError) as error:
        raise click.ClickException(describe(error)) from error
    for line in [*notes, path]:
        click.echo(line)


@main.command(context_settings={"ignore_unknown_options": True})  # -3d is a time that cannot be, and no option
@click.argument("lab", metavar="[LAB]")
@click.argument("student", type=StudentId())
@click.argument("until", required=False)
def extend(lab: str, student: str, until: str | None) -> None:
    """Give one STUDENT more time for LAB, or for all labs that have a deadline.

    UNTIL is 3d, 12h, 1w, a date such as 2027-01-31, or none to take it back.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from autograde.classroom.nbgrader_course import StepFailed, describe
    from autograde.contract.labs import LabError
    from autograde.term.extending import extend as give_more_time
    from autograde.term.extending import extend_everywhere

    try:
        if until is None:  # two words: STUDENT UNTIL
            given = extend_everywhere(course_root(), normalize("NFC", lab), student)
        else:
            given = give_more_time(course_root(), lab, student, until)
        for line in given:
            click.echo(line)
    except (LabError, StepFailed) as error:
        raise click.ClickException(str(error)) from error
    except (OSError, SQLAlchemyError) as error:
        raise click.ClickException(describe(error)) from error


@main.command()
@click.argument("students", nargs=-1, type=StudentId(), metavar="[ID[=NAME]]...")
@click.option(
    "--students",
    "listed",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV list with id, name, email and lms_user_id, or Moodle's or Canvas's own export.",
)
def enrol(students: tuple[str, ...], listed: Path | None) -> None:
    """Put all labs and these students into the gradebook, where they are not in it yet.

    The formgrader then shows every lab, and also who hands in nothing. Labs that the course does not choose any more
    go, unless somebody has handed one in. Who is enrolled already gets e-mail address and LMS id from the FILE.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from autograde.build import build as build_of
    from autograde.build import write_instructor
    from autograde.classroom.nbgrader_course import Course, StepFailed, describe
    from autograde.contract.labs import LabError, find_labs, labs_left_out
    from autograde.term.roster import enrol_list

    root = course_root()
    try:
        course = Course(root)
        course.forget([lab.name for lab in labs_left_out(root)])
        for lab in find_labs(root):
            if not course.knows(lab.name):
                write_instructor(build_of(lab), root)  # where nobody has built it yet
                course.register(lab.name)
        for line in course.in_one_form():
            click.echo(line)
        course.enrol({student: name for student, _, name in (argument.partition("=") for argument in students)})
        for line in enrol_list(course, listed) if listed else []:
            click.echo(line)
    except (LabError, StepFailed) as error:
        raise click.ClickException(str(error)) from error
    except (OSError, SQLAlchemyError) as error:
        raise click.ClickException(describe(error)) from error


@main.command()
@click.argument("folder", required=False, envvar="LOCKSTEP_DATA", type=click.Path(file_okay=False, path_type=Path))
def data(folder: Path | None) -> None:
    """Fetch MNIST and opus_books into FOLDER, by default the one that LOCKSTEP_DATA names."""
    from course.data.fetch import fetch_all
    from course.data.folder import DataError

    if folder is None:
        raise click.UsageError("name the FOLDER for the data, or set LOCKSTEP_DATA")
    folder = folder.expanduser().absolute()
    try:
        fetch_all(folder, click.echo)
    except DataError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"The labs find it with: export LOCKSTEP_DATA={folder}")


@main.command()
@click.option("--class", "of_class", is_flag=True, help="Look at a hub's machine: is it fit for its class?")
@click.option(
    "--folder",
    type=click.Path(readable=False, path_type=Path),
    default=REPOSITORY / "hub",
    help="With --class: the hub's folder. [default: hub/ in the clone]",
)
def doctor(of_class: bool, folder: Path) -> None:
    """Tell what works on this machine: MPI, ranks, torch, GPUs, Horovod, and what grading needs.

    --class: on a hub's machine, whether memory and disks are enough for its students, whether what the hub needs runs,
    which worlds have lost their kernels, and whether permissions are right. Exits with 1 if something is wrong.
    """
    if of_class:
        from course.jupyterhub import health
        from course.jupyterhub.courses import CoursesError

        try:
            sys.exit(health.report(health.examine(folder), click.echo))
        except (CoursesError, OSError) as error:
            raise click.ClickException(str(error)) from error
    from autograde.doctor import main as examine

    sys.exit(examine())


if __name__ == "__main__":
    main(prog_name="lockstep")
