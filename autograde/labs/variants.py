"""What a lab's `variants/` is made of: answers other than the solution, right ones and known mistakes.

`variants/` never leaves the instructor's side. Each of its modules is called as a TODO, and sets ANSWERS to one text::

    ANSWERS = '''
    import math
    def mean(values):
    == with_fsum
        return math.fsum(values) / len(values)
    == not_divided: not-divided, forum < with_fsum
     / len(values) >>>
    '''

A title ``== name`` begins a right answer, ``== name: finding, source`` a mistake that must get this finding; `source`
is a key of SOURCES in `variants/__init__.py`, which says where the mistake is known from. What follows is a whole cell;
where it begins with a blank, it goes on from what stands before the first title.

``< other`` at the end of a title says that this answer is another one, changed as the lines below it tell; the other
may be ``solution``: that of the lab, without comments and docstrings. A line ``old >>> new`` changes a text that is
there once; ``\\n`` in it is a new line. Else it is a diff: lines that go (``-``), come (``+``) and stay (``=``); an
empty line stands between places that are apart.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from autograde.cells.parsing import parse


@dataclass(frozen=True)
class Wrong:
    """A mistake that people really make.

    finding: key of the finding that it must get.
    source: source text of the whole cell.
    known_from: where it is known from: a link, or a name.
    base, edits: the answer that it changes, by name, and the lines that change it; empty for a whole cell.
    """

    finding: str
    source: str
    known_from: str
    base: str = ""
    edits: str = ""


def read_variants(text: str, sources: Mapping[str, str], solution: str) -> tuple[dict[str, str], dict[str, Wrong]]:
    """Right answers and mistakes by name, see above. Raises ValueError, which names the answer.

    sources: where mistakes are known from, by key. solution: as `plain_source` gives it.
    """
    head, *parts = f"\n{text.strip()}\n".split("\n== ")
    answers = {"solution": solution}
    right: dict[str, str] = {}
    wrong: dict[str, Wrong] = {}
    for part in parts:
        title, _, body = part.partition("\n")
        title, _, base = (word.strip() for word in title.partition(" < "))
        name, _, about = title.partition(": ")
        if name in answers or (base and base not in answers):
            raise ValueError(f"{name}: there are two of this name, or no answer {base!r} before it")
        whole = f"{head.lstrip()}\n{body}" if body.startswith(" ") else body
        answers[name] = changed(answers[base], body, name) if base else whole.strip("\n") + "\n"
        finding, _, source = about.partition(", ")
        if not about:
            right[name] = answers[name]
        elif source not in sources:
            there_are = f"SOURCES in variants/__init__.py has {', '.join(sources) or 'none'}"
            raise ValueError(f"{name}: no source {source!r}; a mistake's title is `name: finding, source`. {there_are}")
        else:
            wrong[name] = Wrong(finding, answers[name], sources[source], base, body if base else "")
    return right, wrong


def changed(source: str, edits: str, name: str) -> str:
    """`source` with the changes of `edits`, one after another. Raises ValueError unless each place is there once."""
    for empty, lines in groupby(edits.splitlines(), lambda line: not line):
        place = [] if empty else list(lines)
        if place and place[0][0] in "-+=":
            if arrows := [line for line in place if " >>>" in line]:
                raise ValueError(f"{name}: it begins with one of -, + and =, as lines of a diff do: {arrows[0]!r}")
            old = "".join(f"{line[1:]}\n" for line in place if line[0] in "-=")
            new = "".join(f"{line[1:]}\n" for line in place if line[0] in "+=")
            source = replaced(f"\n{source}", f"\n{old}", f"\n{new}", name).removeprefix("\n")
            continue
        for line in place:
            old, arrow, new = line.replace("\\n", "\n").partition(" >>>")
            if not arrow:
                raise ValueError(f"{name}: neither `old >>> new` nor a diff: {line!r}")
            source = replaced(source, old, new.removeprefix(" "), name)
    return source


def plain_source(source: str) -> str:
    """The source of a cell without comments, docstrings and empty lines."""
    lines, left_out = source.splitlines(), set()
    for node in ast.walk(parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            left_out |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    kept = (line for number, line in enumerate(lines, 1) if number not in left_out and line.strip())
    return "".join(f"{line}\n" for line in kept)


def replaced(source: str, old: str, new: str, name: str) -> str:
    """`source` with `new` for `old`. Raises ValueError unless `old` is there exactly once."""
    if (times := source.count(old)) != 1:
        raise ValueError(f"{name}: this is in the answer {times} times, not once: {old!r}")
    return source.replace(old, new)
