"""The student's code as a check meets it: the source text of one cell, run afresh on each rank.

Only this text is handed in, so only this text is run: a name that lives in another cell is not there, except those that
the check gives (the lab's own functions, and stand-ins for earlier TODOs).
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from typing import Any

from course.output import TooMuchOutput


class NoSuchName(Exception):
    """The cell ran, but does not define what the TODO asks for."""


class CellFails(Exception):
    """The cell raised while it was run, before anything was called."""


@dataclass(frozen=True)
class Subject:
    """Source text of the cell for `todo`. Plain text, so it travels to the ranks as it is.

    notebook: of all TODOs' cells in the notebook's order, where a probe is to run them together; see `load_all`.
    """

    todo: str
    source: str
    notebook: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.show_lines()

    @property
    def filename(self) -> str:
        """What tracebacks and reports call the cell."""
        return f"<cell {self.todo}>"

    def load(self, **given: Any) -> Any:
        """Run the cell in a namespace with `given` in it, and return what it defines under the TODO's name.

        Raises CellFails or NoSuchName; SyntaxError and the like are wrapped in CellFails.
        """
        namespace = {"__name__": "__main__", "__builtins__": __builtins__, **given}
        self._run(namespace)
        if self.todo not in namespace or namespace[self.todo] is given.get(self.todo, NoSuchName):
            raise NoSuchName(f"The cell defines no `{self.todo}`. Keep the name that the lab asks for.")
        return namespace[self.todo]

    def load_all(self, **given: Any) -> Any:
        """Like `load`, with what the notebook's other TODO cells define, as when it is run from top to bottom."""
        for todo, source in self.notebook.items():
            if todo != self.todo:
                Subject(todo, source)._run(given)
        return self.load(**given)

    def _run(self, namespace: dict[str, Any]) -> None:
        """Run the cell in a namespace."""
        self.show_lines()  # again, as this may be a rank, which got the subject as a copy
        try:
            exec(compile(python_source(self.source), self.filename, "exec"), namespace)
        except (NotImplementedError, TooMuchOutput):
            raise
        except Exception as error:
            raise CellFails(describe(error, self.filename)) from error

    def show_lines(self) -> None:
        """Let tracebacks and reports in this process quote the cell."""
        lines = self.source.splitlines(keepends=True)
        linecache.cache[self.filename] = (len(self.source), None, lines, self.filename)


def python_source(source: str) -> str:
    """`source` with IPython's magics (`%timeit`, `!ls`) turned into Python, as a notebook does it."""
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager().transform_cell(source)


def describe(error: BaseException, filename: str) -> str:
    """One line for an error, with the last line of the cell that it passed through."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f" (cell line {line})" if line else ""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}{where}"
