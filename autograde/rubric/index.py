"""What a check may import, made of docstrings: the index in solutions/README.md, one line each, and docs/rubric.md, of
which Sphinx makes the whole reference.

python -m autograde.rubric.index
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import autograde.rubric as library
from autograde.rubric.judge import OfRecord

REFERENCE = """# The library of checks

What a lab's check imports from `autograde.rubric`, by module, with what the functions and classes say of themselves.
One line each is in [How to write a lab](lab_authors.md), which also says how these are put together."""
BEGIN, END = "<!-- index: made by `python -m autograde.rubric.index` -->", "<!-- end of the index -->"


def lines() -> list[str]:
    """A table's rows, by module: each name with what it takes, and what it is."""
    rows = ["| name | what it is |", "|---|---|"]
    for module, names in library.EXPORTS.items():
        rows.append(f"| **{module.removeprefix('rubric.')}** | {says_of(import_module(f'autograde.{module}'))} |")
        for name in names:
            value = getattr(library, name)
            rows.append(f"| `{name}{arguments(value)}` | {says(name, module, value)} |")
    return rows


def arguments(value: Any) -> str:
    """Of what a class or a function is made, as `(pairs, who, least=...)`; empty for a judge, and for a constant."""
    if isinstance(value, OfRecord) or not callable(value) or not hasattr(value, "__name__"):
        return ""
    parameters = [*inspect.signature(value).parameters.values()]
    if [each.name for each in parameters] == ["call"]:
        return ""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [
        f"{stars.get(each.kind, '')}{each.name}{'' if each.default is each.empty else '=...'}" for each in parameters
    ]
    return f"({', '.join(names)})"


def says(name: str, module: str, value: Any) -> str:
    """What something is: the first paragraph of its docstring; of a constant or a lambda, the comment beside it."""
    value = value.judge if isinstance(value, OfRecord) else value
    if getattr(value, "__name__", "<lambda>") != "<lambda>":
        return says_of(value)
    source = inspect.getsource(import_module(f"autograde.{module}"))
    [assigned] = [
        each
        for each in ast.parse(source).body
        if isinstance(each, ast.Assign) and name in [getattr(target, "id", "") for target in each.targets]
    ]
    above, line = source.splitlines()[assigned.lineno - 2 : assigned.lineno]
    return line.partition("  # ")[2] or above.removeprefix("# ")


def says_of(value: Any) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split()).replace("|", "\\|")


def with_index(text: str) -> str:
    """A page with the index between its marks. Raises ValueError if the marks are not there."""
    return with_lines(text, BEGIN, END, lines())


def with_lines(text: str, begin: str, end: str, lines: Iterable[str]) -> str:
    """A page with these lines between the marks `begin` and `end`. Raises ValueError if the marks are not there."""
    before, _, rest = text.partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"the page has no {begin} and {end}")
    return "\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"])


def reference() -> str:
    """The page docs/rubric.md. Sphinx writes what functions and classes say of themselves. Constants, and judges that
    `of_record` marks, are written here, as they have no docstring that Sphinx looks for."""
    parts = [REFERENCE]
    for module, names in library.EXPORTS.items():
        values = {name: getattr(library, name) for name in names}
        documented = [name for name, value in values.items() if inspect.isfunction(value) or inspect.isclass(value)]
        members = [f"   :members: {', '.join(documented)}"] if documented else []
        lines = [f".. automodule:: autograde.{module}", *members]
        for name in (name for name in names if name not in documented):
            judge = isinstance(values[name], OfRecord)
            kind = f"py:function:: {name}(call)" if judge else f"py:data:: {name}"
            lines += ["", f".. {kind}", f"   :module: autograde.{module}", "", f"   {says(name, module, values[name])}"]
        parts.append("\n".join([f"## {module.removeprefix('rubric.')}", "", "```{eval-rst}", *lines, "```"]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    from autograde.labs.places import REPOSITORY

    (REPOSITORY / "docs" / "rubric.md").write_text(reference(), encoding="utf-8")
    page = REPOSITORY / "solutions" / "README.md"
    page.write_text(with_index(page.read_text(encoding="utf-8")), encoding="utf-8")
