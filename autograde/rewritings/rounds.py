"""The rewritings of a lab's right answers: several at once, as a rewriting seldom matters, and singly to find which."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from autograde.cells.parsing import parse
from autograde.labs.answers import Answer
from autograde.labs.folder import Lab
from autograde.mutants.answers import Mutant, answers
from autograde.rewritings import calls, shapes, statements

Rewriting = Callable[[ast.Module, str], ast.Module | None]

ROUNDS: tuple[tuple[Rewriting, ...], ...] = (
    (statements.other_names, statements.walrus, statements.swapped_branches, shapes.helper, shapes.subclass),
    (calls.memoryviews, calls.keywords, statements.iterators, statements.annotated, shapes.callable_object),
    (statements.named_results, statements.imports_inside, shapes.inner_function, shapes.partial, shapes.mixin),
    (statements.finally_passed, shapes.printed, shapes.decorated),
)


def rewritten(source: str, todo: str, rewritings: Iterable[Rewriting]) -> str:
    """An answer after some rewritings; those that do not apply are left out."""
    tree = parse(source)
    for rewriting in rewritings:
        changed = rewriting(parse(ast.unparse(tree)), todo)
        tree = ast.fix_missing_locations(changed) if changed is not None else tree
    return ast.unparse(tree)


def made_of(answer: Answer, groups: Iterable[Iterable[Rewriting]]) -> Iterator[Mutant]:
    """An answer after each group of rewritings that changes it, as `autograde.mutants` grades it."""
    known = {ast.unparse(parse(answer.source))}
    for group in groups:
        group = list(group)
        text = rewritten(answer.source, answer.todo, group)
        if text not in known:
            known.add(text)
            yield Mutant(answer, "+".join(each.__name__ for each in group), text)


def rewritings(lab: Lab) -> list[Mutant]:
    """Of each right answer of a lab all rounds. Raises LabError."""
    return [one for answer in answers(lab) if is_python(answer.source) for one in made_of(answer, ROUNDS)]


def singly(mutant: Mutant) -> list[Mutant]:
    """The rewritings of a round, each alone."""
    names = mutant.operator.split("+")
    group = [each for row in ROUNDS for each in row if each.__name__ in names]
    return list(made_of(mutant.answer, [[each] for each in group]))


def is_python(source: str) -> bool:
    """Whether a cell is plain Python, without IPython's magics."""
    try:
        parse(source)
        return True
    except SyntaxError:
        return False
