"""The command `lockstep rewritings`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograde.mutants.options import Options, with_options

if TYPE_CHECKING:
    from autograde.labs.folder import Lab
    from autograde.mutants.answers import Mutant
    from autograde.mutants.grading import Outcome


def run(root: Path, options: Options) -> bool:
    """What the command does. Returns whether all kept their points. Raises ClickException."""
    from autograde.labs.folder import LabError
    from autograde.mutants.grading import MutantsError
    from autograde.rewritings.rounds import rewritings
    from autograde.sandbox.bubblewrap import SandboxRefused

    lost = 0
    try:
        labs = options.labs_of(root)
        made = options.drawn([(lab, one) for lab in labs for one in rewritings(lab) if options.wants(one)])
        for lab in labs:
            own = [one for of, one in made if of == lab]
            click.echo(f"{lab.name}: {len(own)} rewritings, seed {options.seed}")
            failing = grade(root, lab, own, options.seed, options.at_once())
            for one, outcome in failing:
                click.echo(report(root, lab, one, outcome, options.seed))
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
@with_options
@click.pass_obj
def rewritings(root: Path, options: Options) -> None:
    """Hold the checks of LAB, or of all labs, against rewritings of right answers, which must keep all points.

    Other names, a helper function, a class in place of a function, arguments by name, and more of what changes nothing.
    Each that loses points is printed at once; in the end it is said by which rewriting, and the exit status is 1. What
    was graded before is not graded again: an interrupted run goes on where it stopped.
    """
    sys.exit(0 if run(root, options) else 1)
