"""The index of the library's judges in solutions/README.md, one line each, made of their docstrings.

python -m autograde.rubric.index
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable

from autograde.rubric import judges

BEGIN, END = "<!-- judges: made by `python -m autograde.rubric.index` -->", "<!-- end of judges -->"


def lines() -> list[str]:
    """A table's rows: module, judge, and the first paragraph of its docstring."""
    rows = ["| module | judge | what it judges |", "|---|---|---|"]
    for found in pkgutil.iter_modules(judges.__path__):
        module = importlib.import_module(f"{judges.__name__}.{found.name}")
        for judge in module.JUDGES:
            says = " ".join((inspect.getdoc(judge) or "").partition("\n\n")[0].split())
            rows.append(f"| `{found.name}` | `{judge.__name__}{arguments(judge)}` | {says} |")
    return rows


def arguments(judge: Callable) -> str:
    """Of what the judge is made, as `(pairs, who, least=...)`; empty for a function that is one."""
    parameters = [*inspect.signature(judge).parameters.values()]
    if [each.name for each in parameters] == ["call"]:
        return ""
    return f"({', '.join(each.name if each.default is each.empty else f'{each.name}=...' for each in parameters)})"


def with_index(text: str) -> str:
    """A page with the index between its marks. Raises ValueError if the marks are not there."""
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return "\n".join([f"{before}{BEGIN}", "", *lines(), "", f"{END}{after}"])


if __name__ == "__main__":
    from autograde.contract.places import REPOSITORY

    page = REPOSITORY / "solutions" / "README.md"
    page.write_text(with_index(page.read_text(encoding="utf-8")), encoding="utf-8")
