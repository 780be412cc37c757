"""The student's code under a check: the source text of one cell, run afresh on each rank.

Only this text is handed in, so only this text is run. Names from other cells are missing, except those that the check
provides: the lab's own functions, and stand-ins for earlier TODOs.
"""

from __future__ import annotations

import linecache
import os
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from autograde.cells.cell_code import ALONE, NOTEBOOK_NAMES, by_stub, run_cell
from autograde.cells.salted_hash import salted_hash
from course.calls.main_module import MAIN, become_main
from course.world.output import TooMuchOutput

NOTE = "\x1e"  # what a line that a rank prints begins with if it is a note


class NoSuchName(Exception):
    """The cell runs, but does not define what the TODO asks for."""


class CellFails(Exception):
    """The cell itself raised, before anything that it defines was called."""


@dataclass(frozen=True)
class Subject:
    """The source text of the cell for `todo`, which travels to the ranks as it is.

    notebook: the source of each TODO's cell, in the notebook's order, for probes that run them together; see
    `load_all`. salt: of the `hash` that the cell finds, see `salted`; none: it is Python's own.
    """

    todo: str
    source: str
    notebook: dict[str, str] = field(default_factory=dict)
    salt: str = ""

    def __post_init__(self) -> None:
        self.show_lines()

    @property
    def filename(self) -> str:
        """The cell's file name in tracebacks and reports."""
        return f"<cell {self.todo}>"

    def salted(self, rank: int) -> Subject:
        """The same cell, with a `hash` of this rank's own: as in a process of its own, where the ranks are forks of
        one, and share Python's. A Python that is started with another salt has another one."""
        return replace(self, salt=f"rank {rank}")

    def names(self) -> dict[str, Any]:
        """What each cell finds, whatever it is given."""
        salt = f"{self.salt}, {os.environ.get('PYTHONHASHSEED', '')}"
        return {**NOTEBOOK_NAMES, **({"hash": salted_hash(salt)} if self.salt else {})}

    def load(self, **given: Any) -> Any:
        """Run the cell in a namespace that holds `given`, and return what it defines under the TODO's name.

        The namespace is this process's module `__main__` from now on, as a program's is: see
        `course.calls.main_module`. An error below the definition, as of a call that tries it, does not take it away,
        but is noted, see `noted`. Raises NoSuchName, or CellFails for any other error in the cell, SyntaxError
        included.
        """
        return self._define((self.todo,), self.own_main(given))[0]

    def load_several(self, *names: str, **given: Any) -> tuple[Any, ...]:
        """Like `load`, of a cell that has to define all of these names."""
        return self._define(names, self.own_main(given))

    def load_all(self, **given: Any) -> Any:
        """Like `load`, after running the notebook's other TODO cells in the same namespace, from top to bottom."""
        namespace = self.own_main(given)
        for todo, source in self.notebook.items():
            if todo != self.todo:
                Subject(todo, source)._run(namespace)
        return self._define((self.todo,), namespace)[0]

    def own_main(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The namespace of a new module `__main__`, with what the cell finds."""
        of_main = {name: defined_in_main(name, value) for name, value in given.items()}
        return become_main({**self.names(), **of_main}, self.filename)

    def _define(self, names: Sequence[str], namespace: dict[str, Any]) -> tuple[Any, ...]:
        """Run the cell in this namespace, and return what it defines under these names."""
        before = {name: namespace.get(name) for name in names}

        def missing() -> list[str]:
            return [name for name in names if namespace.get(name) is before[name]]

        try:
            self._run(namespace)
        except (CellFails, NotImplementedError) as error:
            if missing():
                raise
            told = str(error) if isinstance(error, CellFails) else describe(error, self.filename)
            note(f"`{self.todo}` is defined, and counts. Below it, the cell stops: {told}. {ALONE}")
        if lacking := missing():
            raise NoSuchName(f"The cell defines no `{lacking[0]}`. Keep the name that the lab asks for.")
        return tuple(namespace[name] for name in names)

    def _run(self, namespace: dict[str, Any]) -> None:
        """Run the cell in this namespace."""
        self.show_lines()  # again: this may be a rank, to which the subject was copied
        try:
            run_cell(self.source, self.filename, namespace)
        except TooMuchOutput:
            raise
        except (Exception, SystemExit) as error:
            if by_stub(error):
                raise
            if isinstance(error, SyntaxError) and (left := conflict(self.source)):
                raise CellFails(left) from error
            raise CellFails(describe(error, self.filename)) from error

    def show_lines(self) -> None:
        """Let tracebacks and reports in this process quote the cell."""
        lines = self.source.splitlines(keepends=True)
        linecache.cache[self.filename] = (len(self.source), None, lines, self.filename)


def defined_in_main(name: str, value: Any) -> Any:
    """What a cell finds under this name. For a function or a class that is local to a function, it is another one that
    does the same and says that it is of `__main__`, where pickle finds it."""
    if not isinstance(value, (FunctionType, type)) or "<locals>" not in value.__qualname__:
        return value
    if isinstance(value, type):
        new = types.new_class(name, (value,))
    else:
        new = FunctionType(value.__code__, value.__globals__, name, value.__defaults__, value.__closure__)
        new.__kwdefaults__, new.__annotations__ = value.__kwdefaults__, value.__annotations__
        new.__dict__ = vars(value)  # one for both: a probe may count there
    new.__module__, new.__qualname__, new.__doc__ = MAIN, name, value.__doc__
    return new


def conflict(source: str) -> str:
    """What to say of a cell in which git has left both versions of a merge; nothing if it has not."""
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith(("<<<<<<< ", ">>>>>>> ")):
            return f"`{line[:40]}` (cell line {number}) is what a git merge leaves where two versions differ: keep one."
    return ""


def describe(error: BaseException, filename: str) -> str:
    """One line on an error, with the innermost line of the cell in its traceback."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f" (cell line {line})" if line else ""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"


def note(sentence: str) -> None:
    """Note something on the cell for its result, by way of what this rank prints."""
    print(f"{NOTE}{' '.join(sentence.split())}", flush=True)


def noted(evidence: Any) -> list[str]:
    """What was noted on the ranks of any run in this evidence, once each."""
    if isinstance(evidence, dict) and "ranks" in evidence and "state" in evidence:  # an outcome
        printed = (rank.get("stdout") for rank in evidence["ranks"] if isinstance(rank, dict))
        lines = (line for text in printed if isinstance(text, str) for line in text.split("\n"))
        return [*dict.fromkeys(line[1:] for line in lines if line.startswith(NOTE))]
    values = evidence.values() if isinstance(evidence, dict) else evidence if isinstance(evidence, list) else ()
    return [*dict.fromkeys(sentence for value in values for sentence in noted(value))]
