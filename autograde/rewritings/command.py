"""The command `lockstep rewritings`."""

from __future__ import annotations

import random
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from autograde.labs.folder import Lab
    from autograde.mutants.answers import Mutant
    from autograde.mutants.grading import Outcome


def run(
    root: Path,
    names: tuple[str, ...],
    todo: str | None,
    variant: str | None,
    sample: int | None,
    jobs: int | None,
    seed: int | None,
) -> bool:
    """What the command does. Returns whether all kept their points. Raises ClickException."""
    from autograde.labs.folder import LabError, find_lab, find_labs
    from autograde.mutants.command import wanted
    from autograde.mutants.grading import LIMITS, MutantsError
    from autograde.rewritings.rounds import rewritings
    from autograde.sandbox.bubblewrap import SandboxRefused
    from autograde.sandbox.resources.limits import default_jobs

    seed, lost = secrets.randbits(32) if seed is None else seed, 0
    try:
        labs = [find_lab(root, name) for name in names] or find_labs(root)
        made = [(lab, one) for lab in labs for one in rewritings(lab) if wanted(one, todo, variant)]
        if sample is not None:
            made = random.Random(seed).sample(made, min(sample, len(made)))
        for lab in labs:
            own = [one for of, one in made if of == lab]
            click.echo(f"{lab.name}: {len(own)} rewritings, seed {seed}")
            failing = grade(root, lab, own, seed, jobs or default_jobs(LIMITS))
            for one, outcome in failing:
                click.echo(report(root, lab, one, outcome, seed))
            lost += len(failing)
    except (LabError, MutantsError, SandboxRefused, OSError) as error:
        raise click.ClickException(str(error)) from error
    return not lost


def grade(root: Path, lab: Lab, made: list[Mutant], seed: int, jobs: int) -> list[tuple[Mutant, Outcome]]:
    """Those that do not keep all points, with what they lost them by. Each is printed as soon as it is graded."""
    from autograde.mutants.run import Keys, grade_mutants, read_outcomes

    def line_of(one: Mutant, outcome: Outcome) -> str | None:
        return in_a_line(lab, one, one.operator, outcome) if loses(outcome) else None

    grade_mutants(root, lab, made, seed, jobs, line_of=line_of)
    keys, known = Keys(lab), read_outcomes(root, lab)
    outcomes = [(one, known[keys.of(one)]) for one in made]
    return [(one, outcome) for one, outcome in outcomes if loses(outcome)]


def loses(outcome: Outcome) -> bool:
    """Whether an answer does not keep all its points."""
    return outcome.refused or outcome.unjudged is not None


def in_a_line(lab: Lab, one: Mutant, rewritings: str, outcome: Outcome) -> str:
    """Which answer loses points, after which rewritings, and by what."""
    what = outcome.finding or outcome.unjudged
    return f"{lab.name}, {one.answer.todo}, {one.answer.variant}: {rewritings}: {what}"


def report(root: Path, lab: Lab, one: Mutant, outcome: Outcome, seed: int) -> str:
    """What an answer lost its points by, and by which rewriting alone it does."""
    from autograde.rewritings.rounds import singly

    alone = singly(one)
    failing = [single.operator for single, _ in grade(root, lab, alone, seed, 1)] if len(alone) > 1 else []
    return in_a_line(lab, one, ", ".join(failing) or one.operator, outcome)


@click.command()
@click.argument("labs", nargs=-1, metavar="[LAB]...")
@click.option("--todo", help="Only of this TODO.")
@click.option("--variant", help="Only of this right answer; `solution` is the lab's own.")
@click.option("--sample", type=click.IntRange(1), help="Only so many, drawn at random.")
@click.option("--jobs", type=click.IntRange(1), help="Sandboxes at once; else what cores and memory carry.")
@click.option("--seed", type=int, help="Draw cases and sample from this seed.")
@click.pass_obj
def rewritings(root: Path, **options: object) -> None:
    """Hold the checks of LAB, or of all labs, against rewritings of right answers, which must keep all points.

    Other names, a helper function, a class in place of a function, arguments by name, and more of what changes nothing.
    Each that loses points is printed at once; in the end it is said by which rewriting, and the exit status is 1. What
    was graded before is not graded again: an interrupted run goes on where it stopped.
    """
    sys.exit(0 if run(root, options.pop("labs"), **options) else 1)
