"""Prepares all that a hub needs, and starts it. `./lockstep hub --help` explains it."""

from __future__ import annotations

import fcntl
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import click

from course.exchange.folders import FoldersError, prepare
from course.jupyterhub.accounts.homes import HomeError, make_home
from course.jupyterhub.accounts.python import anybody, check_readable
from course.jupyterhub.accounts.unix import AccountsError, create, missing
from course.jupyterhub.courses import Course, CoursesError, everybody, read_courses
from course.jupyterhub.place import CONFIG, FOLDER, PORT, REPOSITORY, Place, close_clone
from course.jupyterhub.proxy import end_left_over, left_over
from course.lab_choice import ChoiceError

OURS = Path(__file__).with_name("jupyterhub_config.py")


@click.command()
@click.option("--port", type=click.IntRange(1024, 64000), default=8000, show_default=True, help="Port of the hub.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "hub",
    help="Folder of all its state. [default: hub/ in the clone]",
)
@click.option("--create-accounts", is_flag=True, help="Make accounts for those in courses.toml who have none (root).")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JupyterHub configuration of your own, with what is to be different from ours.",
)
def main(port: int, folder: Path, create_accounts: bool, config: Path | None) -> None:
    """Start a JupyterHub with the courses of FOLDER/courses.toml; the first start writes an example of that file.

    As root, people log in with their accounts on this machine, and their servers run as these. As anybody else, it is
    for trying out: all log in with one password, and all servers run as you. Run again, it goes on where it was.
    """
    place = Place(folder)
    root = os.geteuid() == 0
    first = not place.courses_file.exists()
    try:
        place.make()
        lock = only_hub(place)
        courses = read_courses(place.courses_file)
        for course in courses:
            place.labs(course)  # an unknown one is named before anything is changed
        check_ports(port, len(courses), left_over(place.proxy_file))
        if root:
            see_to_accounts(courses, place, create_accounts)
            close_clone(REPOSITORY)
        elif not (password := place.private / "password").exists():
            password.touch(0o600)
            password.write_text(secrets.token_urlsafe(9) + "\n")
        prepare(place.exchange, {course.name: course.grader for course in courses})
        for course in courses:
            begin, new = time.monotonic(), not place.course(course).exists()
            doing = "making labs and gradebook (2 min)" if new else "seeing to labs and gradebook (10 s)"
            click.echo(f"{course.name}: {len(course.students)} students; {doing} ...")
            prepare_course(place, course)
            click.echo(f"{course.name}: ready, after {time.monotonic() - begin:.0f} s")
    except (CoursesError, ChoiceError, AccountsError, FoldersError, HomeError, OSError) as error:
        raise click.ClickException(str(error)) from error
    except subprocess.CalledProcessError as error:
        raise click.ClickException(f"{' '.join(map(str, error.cmd))} failed:\n{error.stderr[-2000:]}") from error
    greet(place, courses, port, root, first, config)
    os.environ |= {FOLDER: str(place.root), PORT: str(port), CONFIG: str(config.resolve()) if config else ""}
    os.chdir(place.private)
    end_left_over(place.proxy_file)  # only now, because people go on working through it
    sys.stdout.flush()
    os.set_inheritable(lock, True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the services; a script's background jobs ignore it by default
    os.execv(sys.executable, [sys.executable, "-m", "jupyterhub", "-f", str(OURS)])


def prepare_course(place: Place, course: Course) -> None:
    """Make a course's folder, or bring it up to date: what its instructors broke there is told, and stops no hub.

    Raises ChoiceError, CalledProcessError.
    """
    try:
        place.make_course(course)
    except subprocess.CalledProcessError as error:
        if not place.course(course).exists():
            raise
        click.echo(f"{course.name}: to be mended by its instructors: {' '.join(error.stderr.split())[-2000:]}")


def only_hub(place: Place) -> int:
    """Lock the folder for the hub that is about to start. Returns the open lock. Raises ClickException."""
    lock = os.open(place.private / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise click.ClickException(
            f"a hub runs with the state in {place.root}; end it, or name another --folder"
        ) from None
    return lock


def check_ports(port: int, courses: int, with_proxy: bool) -> None:
    """Check that the hub's ports are free. with_proxy: an old proxy holds the first two, and will be ended. Raises
    ClickException."""
    uses = {port: "the hub's own", port + 1: "its proxy's", port + 81: "its API's"}
    uses |= {port + 1000 + number: "a formgrader's" for number in range(courses)}
    for taken, use in [*uses.items()][2 * with_proxy :]:
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("127.0.0.1", taken))
            except OSError as error:
                raise click.ClickException(
                    f"port {taken}, {use}, is taken: {error.strerror}. Does another hub run? Else choose another port: "
                    f"./lockstep hub --port {port + 2000}"
                ) from error


def see_to_accounts(courses: list[Course], place: Place, create_missing: bool) -> None:
    """Check that everybody has an account and can run what the labs need; make accounts if asked to. Raises
    AccountsError, HomeError."""
    people, graders = everybody(courses), [course.grader for course in courses]
    lacking = missing(people), missing(graders)
    if any(lacking) and not create_missing:
        raise AccountsError(
            f"No account: {', '.join(lacking[0] + lacking[1])}. People are those in {place.courses_file}, and "
            "grader-COURSE owns a course's gradebook. `./lockstep hub --create-accounts` makes them."
        )
    check_readable(anybody(people + graders))  # before accounts are made that could not use it
    create(*lacking, place.private / "passwords")
    for name in [*people[:1], *graders[:1]]:
        check_readable(name)
    for name in graders:
        make_home(name)


def greet(place: Place, courses: list[Course], port: int, root: bool, first: bool, config: Path | None) -> None:
    """Say where the hub is, who can log in, and how."""
    if first:
        click.echo(
            f"Two courses were made up as an example. Write your own into {place.courses_file}, and start again."
        )
    if root and (place.private / "passwords").exists():
        click.echo(f"Passwords of the accounts that were made here: {place.private / 'passwords'}")
    elif not root:
        password = (place.private / "password").read_text().strip()
        click.echo(f"For trying out: {', '.join(everybody(courses))} all log in with the password {password}")
        click.echo("All servers run as you, so nobody is kept apart from anybody. Start it as root for a class.")
    where = f"http://127.0.0.1:{port}/" + (f" (or where bind_url in {config} says)" if config else "")
    click.echo(f"The hub is at {where} when it says that it is running. Ctrl-C stops it.")


if __name__ == "__main__":
    main(prog_name="./lockstep hub")
