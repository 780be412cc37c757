"""The criteria of a check in the docstring of its TODO, where students read them; `lockstep build` puts them there."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from textwrap import wrap

from autograde.cells.parsing import parse
from autograde.rubric.criterion import Criterion

HEADING = "What is checked:"
WIDTH = 88  # characters of a line of code that JupyterLab shows without cutting it
QUOTES = '"""'


def with_criteria(source: str, todo: str, criteria: Sequence[Criterion]) -> str:
    """The source of a TODO's cell, with its criteria at the end of the docstring: the points and sentence of each.

    Raises ValueError, which says what to do, unless there is a docstring that lists none itself.
    """
    defined = [each for each in parse(source).body if getattr(each, "name", None) == todo]
    text = ast.get_docstring(defined[0]) if defined else None
    if text is None:
        raise ValueError(f"`{todo}` has no docstring; it says what the student writes")
    if HEADING in text:
        raise ValueError(f"leave “{HEADING}” out of the docstring of `{todo}`: it is made of the check's criteria")
    node, lines = defined[0].body[0], source.split("\n")
    last = lines[node.end_lineno - 1].encode()  # columns are counted in bytes
    before, after = last[: node.end_col_offset].decode(), last[node.end_col_offset :].decode()
    if not before.endswith(QUOTES):
        raise ValueError(f"write the docstring of `{todo}` between {QUOTES} and {QUOTES}")
    above = "\n".join([*lines[: node.end_lineno - 1], before.removesuffix(QUOTES)]).rstrip()
    indent = " " * node.col_offset
    listed = [line for each in criteria for line in row(each, indent)]
    return "\n".join([above, "", f"{indent}{HEADING}", *listed, indent + QUOTES + after, *lines[node.end_lineno :]])


def row(criterion: Criterion, indent: str) -> list[str]:
    """The lines on a criterion, wrapped."""
    text = f"{criterion.points:g} point{'' if criterion.points == 1 else 's'}: {criterion.says}"
    return wrap(text, WIDTH, initial_indent=f"{indent}- ", subsequent_indent=f"{indent}  ", break_on_hyphens=False)
