"""The command `lockstep book`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click


@click.command()
@click.argument("lectures", nargs=-1, metavar="[LECTURE]...")
@click.pass_obj
def book(root: Path, lectures: tuple[str, ...]) -> None:
    """Run the lectures on real ranks, and build the site: build/book/html, which opens from a folder.

    With names, only these are run; the others stay as they were.
    """
    from autograde.lectures.notebooks import find_lectures
    from autograde.lectures.running import LectureFailed, run
    from autograde.lectures.site import BookError, build_site, stage

    every = find_lectures(root)
    unknown = {*lectures} - {lecture.name for lecture in every}
    if unknown or not every:
        there = ", ".join(lecture.name for lecture in every) or "none"
        raise click.ClickException(f"there is no lecture {', '.join(sorted(unknown))}; there are: {there}")
    ran, failed = {}, []
    for lecture in every:
        if lectures and lecture.name not in lectures:
            continue
        began = time.monotonic()
        try:
            ran[lecture.name] = run(lecture)
            click.echo(f"{lecture.name}: ran in {time.monotonic() - began:.0f} s")
        except LectureFailed as failure:
            ran[lecture.name] = failure.notebook
            failed.append(lecture.name)
            click.echo(f"Error: {failure}", err=True)
    try:
        stage(root, every, ran)
        click.echo(f"{build_site(root).relative_to(root)}: built")
    except BookError as error:
        raise click.ClickException(str(error)) from error
    sys.exit(1 if failed else 0)
