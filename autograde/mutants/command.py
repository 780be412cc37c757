"""The command `lockstep mutants`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograde.mutants.options import Options, with_options

if TYPE_CHECKING:
    from autograde.mutants.run import Tally

REASON = "equivalent.toml in the lab's folder takes them, with a reason of one line, if the docstring leaves them open:"


def run(root: Path, options: Options, force: bool, table: bool) -> bool:
    """What the command does. Returns whether no hole was found. Raises ClickException."""
    from autograde.labs.folder import LabError
    from autograde.mutants.answers import mutants
    from autograde.mutants.equivalent import read_equivalent, stale
    from autograde.mutants.grading import MutantsError
    from autograde.mutants.run import grade_mutants, tally
    from autograde.sandbox.bubblewrap import SandboxRefused

    tallies = []
    try:
        labs = options.labs_of(root)
        made = {lab: mutants(lab) for lab in labs}
        out_of_date = {lab: stale(all_of_lab, read_equivalent(lab)) for lab, all_of_lab in made.items()}
        chosen = {lab: [one for one in made[lab] if options.wants(one)] for lab in labs}
        if options.sample is not None:
            # Without a GPU, those of devices cannot be told.
            drawn = {*options.drawn([one for lab in labs for one in chosen[lab] if not one.on_device])}
            chosen = {lab: [one for one in chosen[lab] if one in drawn] for lab in labs}
        for lab in labs:
            if not table:
                click.echo(f"{lab.name}: {len(chosen[lab])} mutants, seed {options.seed}")
                grade_mutants(root, lab, chosen[lab], options.seed, options.at_once(), force)
            tallies.append(tally(root, lab, chosen[lab]))
            if not table:
                click.echo(report(tallies[-1]))
            for key in out_of_date[lab]:
                click.echo(f"{lab.name}: {'/'.join(filter(None, key[:2]))} has no mutant `{key[2]}` to list any more")
    except (LabError, MutantsError, SandboxRefused, OSError) as error:
        raise click.ClickException(str(error)) from error
    if table:
        click.echo(markdown(tallies))
    return not any(one.holes for one in tallies) and not any(out_of_date.values())


def report(tally: Tally) -> str:
    """What became of a lab's mutants, and the holes as `equivalent.toml` would list them."""
    from autograde.mutants.equivalent import entry

    counts = [f"{tally.refused} refused", f"{tally.equivalent} equivalent", f"{tally.open} of devices, open"]
    counts += [f"{tally.pending} not graded"] * bool(tally.pending)
    lines = [f"{tally.lab}: {', '.join(counts)}"]
    if kept := [mutant for mutant, outcome in tally.holes if outcome.unjudged is None]:
        lines.append(f"{tally.lab}: {len(kept)} keep all points. {REASON}")
        last = ""
        for table, key in map(entry, kept):
            lines += [table] * (table != last) + [key]
            last = table
    for mutant, outcome in tally.holes:
        if outcome.unjudged is not None:
            where = f"{mutant.answer.todo}, {mutant.answer.variant}"
            lines.append(f"{where}: a person would have to grade `{mutant.change}`: {outcome.unjudged}")
    return "\n".join(lines)


def markdown(tallies: list[Tally]) -> str:
    """The table of docs/grader.md."""
    head = ("lab", "mutants", "refused", "equivalent", "keep all points", "of devices, open", "not graded")
    rows = [(one.lab, one.total, one.refused, one.equivalent, len(one.holes), one.open, one.pending) for one in tallies]
    rows.append(("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
    lines = [head, ("---",) + ("---:",) * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in lines)


@click.command()
@with_options
@click.option("--force", is_flag=True, help="Grade again what was graded before.")
@click.option("--table", is_flag=True, help="Grade nothing; print the table of what was graded, in Markdown.")
@click.pass_obj
def mutants(root: Path, options: Options, force: bool, table: bool) -> None:
    """Hold the checks of LAB, or of all labs, against mutants: small changes of right answers, which must lose points.

    Exits with 1 if a mutant keeps all points and equivalent.toml in the lab's folder does not say why. What was graded
    before is not graded again: an interrupted run goes on where it stopped.
    """
    sys.exit(0 if run(root, options, force, table) else 1)
