"""All known answers to a lab's TODOs: its own, and its variants, right and wrong."""

from __future__ import annotations

from dataclasses import dataclass

from autograde.labs.folder import Lab, LabError, load_checks, load_variants, solution_cells

SOLUTION = "solution"  # the name of the lab's own answer, beside those of its variants


@dataclass(frozen=True)
class Answer:
    """An answer to a TODO.

    variant: its name, or SOLUTION. source: of its cell. due: the key of the finding that a mistake is due; "" for a
    right answer.
    """

    todo: str
    variant: str
    source: str
    due: str = ""


def known_answers(lab: Lab) -> list[Answer]:
    """The answers to all TODOs that the lab checks, in order: the lab's own first, then the right ones of its variants,
    then the mistakes. Raises LabError."""
    cells = solution_cells(lab.source)
    right, wrong = load_variants(lab.variants) if lab.variants.is_dir() else ({}, {})
    found = []
    for todo in (check.todo for check in load_checks(lab.checks)):
        if todo not in cells:
            raise LabError(f"{lab.source} has no cell with todo={todo!r}, which a check is for")
        found.append(Answer(todo, SOLUTION, cells[todo]))
        found += [Answer(todo, name, source) for name, source in right.get(todo, {}).items()]
        found += [Answer(todo, name, each.source, each.finding) for name, each in wrong.get(todo, {}).items()]
    return found
