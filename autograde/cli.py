"""The command `lockstep`: all its subcommands, which import what they need when they run, so that `--help` is fast."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from autograde.class_commands import (
    counts,
    enrol,
    extend,
    feedback,
    grade,
    grades,
    release,
    report,
)
from autograde.labs.places import REPOSITORY
from autograde.lectures.command import book
from autograde.mutants.command import mutants
from autograde.one_line import errors_in_one_line
from autograde.rewritings.command import rewritings


def course_root() -> Path:
    """The course's folder: LOCKSTEP_COURSE, or this repository."""
    return Path(os.environ.get("LOCKSTEP_COURSE") or REPOSITORY).resolve()


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


for command in (release, grade, feedback, report, grades, extend, counts, enrol, mutants, rewritings, book):
    main.add_command(command)


@main.command()
@click.argument("labs", nargs=-1, metavar="[LAB]...")
@click.option(
    "--check", is_flag=True, help="Change nothing; say what is not up to date, and exit with 1 if anything is."
)
@click.option("--force", is_flag=True, help="Overwrite notebooks in labs/ that somebody has worked in.")
@click.option("--missing", is_flag=True, help="Leave alone what was built before.")
def build(labs: tuple[str, ...], check: bool, force: bool, missing: bool) -> None:
    """Make labs/ from solutions/: all labs of the course and the lectures, or the labs named.

    It also makes the tables of labs in the clone's README.md and docs/grader.md, from each lab's lab.toml.
    course.toml in the course's folder can choose some (labs = ["03_pi_allreduce"]); what was built of others goes.
    LOCKSTEP_LABS names folders with labs of your own, separated by `:`.
    """
    from autograde.labs.folder import LabError, find_lab, find_labs, labs_left_out
    from autograde.labs.places import SOURCE
    from autograde.lectures import notebooks
    from autograde.making import build as builder
    from autograde.making.cell_marks import wide_lines
    from autograde.making.stale import differences, foreign_files
    from autograde.making.tables import stale_pages, write_pages

    root = course_root()
    failed = False
    builts = []
    with errors_in_one_line():
        wanted = [find_lab(root, name) for name in labs] or find_labs(root)
        for lab in wanted:
            if not missing or not (root / SOURCE / lab.name / lab.notebook).exists():
                builts.append(builder.build(lab))
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
            for line in wide_lines(built.student[built.lab.notebook].content.decode()):
                click.echo(f"{built.lab.name}: {line}")
        except LabError as error:
            failed = True
            click.echo(f"Error: {error}", err=True)
    for lecture in notebooks.find_lectures(root) if not labs and not check and not missing else []:
        notebooks.write(lecture)
        click.echo(f"{lecture.name}: built")
    with errors_in_one_line():
        if not check and not missing:
            write_pages(root)
        differing = differences(builts, root) + stale_pages(root) if check else []
    differing += notebooks.differences(root) if check and not labs else []
    foreign = foreign_files(builts, root) if not labs and not missing else []
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
@click.option("--todo", default="pass_on", show_default=True, help="What its one TODO, a function, is called.")
def new(lab: str, folder: Path | None, todo: str) -> None:
    """Make the folder of a new LAB in solutions/: the small lab of solutions/README.md, to start from.

    Labs in folders of your own are found by LOCKSTEP_LABS, which names these folders, separated by `:`.
    """
    from autograde.making.new import make_lab, next_steps
    from course.lab_choice import ChoiceError

    with errors_in_one_line(ChoiceError):
        click.echo(f"{make_lab(course_root(), lab, folder, todo)}: made")
        click.echo(f"Next: {next_steps(course_root(), lab, folder, todo)}")


@main.command("try")
@click.argument("lab")
@click.argument("todo")
@click.argument("answer", default="solution")
@click.option("--all", "everything", is_flag=True, help="All answers that are known, a line each.")
@click.option("--seed", default=1, show_default=True, help="Of the cases.")
def try_(lab: str, todo: str, answer: str, everything: bool, seed: int) -> None:
    """Show what the check of a TODO of LAB says to an ANSWER: "solution", a variant's name, or a file.

    For authors of checks. A TODO that runs on no ranks takes a second. With --all it ends with 1 if a right answer
    loses points, or a mistake keeps all or is called otherwise.
    """
    from autograde.labs.folder import find_lab
    from autograde.trying import try_all, try_answer

    with errors_in_one_line():
        found = find_lab(course_root(), lab)
        if not everything:
            click.echo(try_answer(found, todo, answer, seed))
            return
        unfit = 0
        for fits, line in try_all(found, todo, seed):
            click.echo(line)
            unfit += not fits
        raise SystemExit(unfit > 0)


@main.command()
@click.argument("lab")
@click.argument("target", required=False, default=".", type=click.Path(path_type=Path))
def bundle(lab: str, target: Path) -> None:
    """Pack LAB for a JupyterHub without nbgrader, into the file or folder TARGET; by default LAB.tar.gz, here.

    It holds what students get, the kit, and a README.txt that says how to install both. Where the gradebook has a
    deadline, README.txt and the notebook tell it.
    """
    from autograde.labs.folder import find_lab
    from autograde.making.bundle import BundleError, write_bundle
    from autograde.term.all_labs import class_deadline

    root = course_root()
    with errors_in_one_line(BundleError):
        found = find_lab(root, lab)
        path = write_bundle(found, target, class_deadline(root, found))
    click.echo(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON, for other programs.")
def waiting(as_json: bool) -> None:
    """Tell of each lab whether it is released, until when, how many handed in, were graded and have feedback.

    And what waits for you: to grade, to grade again, to read, feedback to release.
    """
    import json

    from autograde.term.waiting import plain
    from autograde.term.waiting import waiting as find_what_waits

    with errors_in_one_line():
        found = find_what_waits(course_root())
    click.echo(json.dumps(plain(found)) if as_json else "\n".join(map(str, found)))


@main.command()
@click.argument("folder", required=False, envvar="LOCKSTEP_DATA", type=click.Path(file_okay=False, path_type=Path))
def data(folder: Path | None) -> None:
    """Fetch MNIST and opus_books into FOLDER, by default the one that LOCKSTEP_DATA names."""
    from course.data.fetch import fetch_all
    from course.data.folder import DataError

    if folder is None:
        raise click.UsageError("name the FOLDER for the data, or set LOCKSTEP_DATA")
    folder = folder.expanduser().absolute()
    with errors_in_one_line(DataError):
        fetch_all(folder, click.echo)
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
        from course.jupyterhub.courses import CoursesError
        from course.jupyterhub.health import examine as health

        try:
            sys.exit(health.report(health.examine(folder), click.echo))
        except (CoursesError, OSError) as error:
            raise click.ClickException(str(error)) from error
    from autograde.doctor import main as examine

    sys.exit(examine())


if __name__ == "__main__":
    main(prog_name="lockstep")
