"""The command `lockstep book`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from autograde.lectures.notebooks import Lecture

AT_ONCE = 2  # lectures that run beside each other: each waits for half of its time, even on two cores


@click.command()
@click.argument("lectures", nargs=-1, metavar="[LECTURE]...")
@click.pass_obj
def book(root: Path, lectures: tuple[str, ...]) -> None:
    """Run the lectures on real ranks, and build the site: build/book/html, which opens from a folder.

    With names, only these are run; the others stay as they were.
    """
    from autograde.lectures.absent_labs import unlink_absent_labs
    from autograde.lectures.notebooks import find_lectures
    from autograde.lectures.site import BookError, build_site, stage

    every = find_lectures(root)
    names = [lecture.name for lecture in every]
    unknown = {*lectures} - {*names}
    if unknown or not every:
        there = ", ".join(names) or "none"
        raise click.ClickException(f"there is no lecture {', '.join(sorted(unknown))}; there are: {there}")
    ran, failed = {}, []
    for lecture, notebook, failure, seconds in outcomes([each for each in every if each.name in (lectures or names)]):
        ran[lecture.name] = notebook
        if failure:
            failed.append(lecture.name)
            click.echo(f"Error: {failure}", err=True)
        else:
            click.echo(f"{lecture.name}: ran in {seconds:.0f} s")
    try:
        for lab in unlink_absent_labs(stage(root, every, ran)):
            click.echo(f"{lab}: not a lab of this course; what links it is text")
        click.echo(f"{build_site(root).relative_to(root)}: built")
    except BookError as error:
        raise click.ClickException(str(error)) from error
    sys.exit(1 if failed else 0)


def outcomes(lectures: list[Lecture]) -> Iterator[tuple[Lecture, NotebookNode, str, float]]:
    """Run lectures: each with what was run of it, why it failed (else empty), and its seconds.

    Several run at once; those that draw times follow, one by one.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(outcome, [lecture for lecture in lectures if not lecture.alone])
    yield from map(outcome, [lecture for lecture in lectures if lecture.alone])


def outcome(lecture: Lecture) -> tuple[Lecture, NotebookNode, str, float]:
    """Run one."""
    from autograde.lectures.running import LectureFailed, run

    began = time.monotonic()
    try:
        return lecture, run(lecture), "", time.monotonic() - began
    except LectureFailed as failure:
        return lecture, failure.notebook, str(failure), time.monotonic() - began
