"""The options that `lockstep mutants` and `lockstep rewritings` have in common: of which answers, and how to grade."""

from __future__ import annotations

import functools
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from autograde.labs.folder import Lab
    from autograde.mutants.answers import Mutant

Made = TypeVar("Made")


@dataclass(frozen=True)
class Options:
    """What was asked for.

    labs: their names; empty stands for all. todo, variant: only of these; None stands for all. sample: only so many,
    drawn at random; None: all. jobs: sandboxes at once; None: as many as cores and memory carry. seed: of cases and
    sample.
    """

    labs: tuple[str, ...]
    todo: str | None
    variant: str | None
    sample: int | None
    jobs: int | None
    seed: int

    def labs_of(self, root: Path) -> list[Lab]:
        """The labs of the course at `root` that are meant. Raises LabError."""
        from autograde.labs.folder import find_lab, find_labs

        return [find_lab(root, name) for name in self.labs] or find_labs(root)

    def wants(self, made: Mutant) -> bool:
        """Whether what was made of an answer is of the TODO and the variant that are meant."""
        return self.todo in (None, made.answer.todo) and self.variant in (None, made.answer.variant)

    def drawn(self, everything: Sequence[Made]) -> list[Made]:
        """The sample of it; all of it, if none was asked for."""
        if self.sample is None:
            return [*everything]
        return random.Random(self.seed).sample(everything, min(self.sample, len(everything)))

    def at_once(self) -> int:
        """How many sandboxes run at once."""
        from autograde.mutants.grading import LIMITS
        from autograde.sandbox.resources.limits import default_jobs

        return self.jobs or default_jobs(LIMITS)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command that has these options. command: takes them as `options`."""

    @functools.wraps(command)
    def called(**given: Any) -> None:
        options = Options(**{each.name: given.pop(each.name) for each in fields(Options)})
        command(options=options, **given)

    for add in (
        click.option("--seed", type=int, default=new_seed, help="Draw cases and sample from this seed."),
        click.option("--jobs", type=click.IntRange(1), help="Sandboxes at once; else what cores and memory carry."),
        click.option("--sample", type=click.IntRange(1), help="Only so many, drawn at random."),
        click.option("--variant", help="Only of this right answer; `solution` is the lab's own."),
        click.option("--todo", help="Only of this TODO."),
        click.argument("labs", nargs=-1, metavar="[LAB]..."),
    ):
        called = add(called)
    return called


def new_seed() -> int:
    """A seed for a run for which none is given."""
    return secrets.randbits(32)
