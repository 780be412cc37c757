"""The mutants of a lab: of its solutions, and of its variants' right answers."""

from __future__ import annotations

import ast
import difflib
import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

from autograde.cells.parsing import parse
from autograde.labs.answers import SOLUTION, Answer, known_answers
from autograde.labs.folder import Lab
from autograde.labs.variants import plain_source
from autograde.mutants.operators import DEVICE, changes
from autograde.mutants.source import Source


@dataclass(frozen=True)
class Mutant:
    """An answer with one small change. source: of the whole cell. change: its lines before and after."""

    answer: Answer
    operator: str
    source: str

    @property
    def change(self) -> str:
        """The lines that differ, ``before -> after``, without indentation."""
        before, after = ([line.strip() for line in text.splitlines()] for text in (self.answer.source, self.source))
        blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        differing = [block for block in blocks if block[0] != "equal"]
        old = before[differing[0][1] : differing[-1][2]]
        new = after[differing[0][3] : differing[-1][4]]
        return f"{' '.join(old)} -> {' '.join(new)}"

    @property
    def on_device(self) -> bool:
        """Whether perhaps only a machine with a GPU can tell it from the answer."""
        return self.operator == DEVICE

    @property
    def digest(self) -> str:
        """Distinguishes it from all other mutants of its TODO."""
        return hashlib.sha256(self.source.encode()).hexdigest()


def answers(lab: Lab) -> list[Answer]:
    """The right answers to the TODOs that the lab checks, in order, the lab's own first. Raises LabError."""
    right = [each for each in known_answers(lab) if not each.due]
    return [replace(each, source=plain_source(each.source)) if each.variant == SOLUTION else each for each in right]


def mutants(lab: Lab) -> list[Mutant]:
    """All mutants of the lab's answers: those that compile, and differ from all answers and from one another."""
    by_todo: dict[str, list[Answer]] = {}
    for answer in answers(lab):
        by_todo.setdefault(answer.todo, []).append(answer)
    return [mutant for group in by_todo.values() for mutant in mutants_of(group)]


def mutants_of(group: list[Answer]) -> Iterator[Mutant]:
    """The mutants of all answers to one TODO."""
    known = {ast.dump(parse(answer.source)) for answer in group}
    for answer in group:
        source = Source(answer.source)
        for operator, edit in changes(source):
            text = source.changed(edit)
            tree = compiled(text)
            if tree is not None and tree not in known:
                known.add(tree)
                yield Mutant(answer, operator, text)


def compiled(text: str) -> str | None:
    """The syntax tree of a text; None if it does not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            compile(text, "<mutant>", "exec")
            return ast.dump(parse(text))
        except SyntaxError:
            return None
