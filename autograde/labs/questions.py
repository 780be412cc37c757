"""The questions at a lab's end whose answer is a number, and what is said to a number.

They count no points: the key is in `questions.toml`, which students have in the lab's archive. A question has a table
there, with its name:

    [smallest_lr]
    value = 0.41            # right is what is at most `tolerance` away
    tolerance = 0.005       # 0 if it is left out
    remark = "It is 2 divided by ..."
    wrong = [{value = 0.4, remark = "With 0.4 the loss still falls."}]      # usual wrong numbers, with their own remark
"""

from __future__ import annotations

import ast
import math
import operator
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograde.cells.parsing import parse
from autograde.labs.folder import LabError
from course.lab_archive import QUESTIONS

COMMA = re.compile(r"""\(\s*["']\w+["']\s*,\s*([-+]?\d+),\s*(\d+)\s*\)""")  # an answer such as 3,14
LONGEST = 500  # characters of a cell that is read as a number
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
SIGNS = {ast.USub: operator.neg, ast.UAdd: operator.pos}


class NoNumber(ValueError):
    """A cell has no number that can be read. The message tells the student what to do."""


@dataclass(frozen=True)
class Known:
    """A number that the lab expects, right or wrong: what is at most `tolerance` away from it gets the remark."""

    value: float
    remark: str
    tolerance: float = 0.0

    def __contains__(self, number: float) -> bool:
        return abs(number - self.value) <= self.tolerance + 1e-9 * abs(self.value)


@dataclass(frozen=True)
class Question:
    """A question by its name: the right number, and usual wrong ones."""

    name: str
    right: Known
    wrong: tuple[Known, ...] = ()

    def judge(self, number: float) -> str:
        """What is said to `number`, in a line."""
        if number in self.right:
            return f"{number:.10g} is right. {self.right.remark}"
        remarks = [known.remark for known in self.wrong if number in known]
        return f"{number:.10g} is not right. {(remarks or ['Look once more at what your run shows.'])[0]}"

    def answer_to(self, source: str) -> str:
        """What is said to the text of an answer's cell, in a line. The text is read, not run. Raises nothing."""
        try:
            return f"{self.name}: {self.judge(number_in(source, self.name))}"
        except NoNumber as error:
            return f"{self.name}: {error}"


def is_todo(tag: Mapping) -> bool:
    """Whether a cell with this nbgrader metadata is a TODO's, whose code is checked."""
    return bool(tag.get("solution")) and not tag.get("grade")


def is_text(tag: Mapping) -> bool:
    """Whether it is for an answer that a person reads and grades."""
    return bool(tag.get("solution")) and bool(tag.get("grade"))


def is_number(tag: Mapping) -> bool:
    """Whether it is for the number that a question asks for."""
    return bool(tag) and not tag.get("solution") and not tag.get("grade") and not tag.get("locked", True)


def blank(name: str) -> str:
    """The text of the answer's cell, as students get it."""
    return f'check.answer("{name}", None)'


def number_in(source: str, name: str) -> float:
    """The number in a cell `check.answer("name", number)`, which may be arithmetic with numbers. Raises NoNumber."""
    problem = f"not read. The cell must be as it was, {blank(name)}, with your number in place of None."
    if len(source) > LONGEST:
        raise NoNumber(problem)
    if comma := COMMA.search(source):
        raise NoNumber(f"not read. A number has a decimal point, {comma[1]}.{comma[2]}, not a comma.")
    try:
        match parse(source.strip()).body:
            case [ast.Expr(ast.Call(ast.Attribute(attr="answer"), [ast.Constant(value=found), given], []))] if (
                found == name
            ):
                pass
            case _:
                raise NoNumber(problem)
        if isinstance(given, ast.Constant) and given.value is None:
            raise NoNumber("not answered yet. Write your number in place of None, and run the cell.")
        number = value_of(given)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise error if isinstance(error, NoNumber) else NoNumber(problem) from error
    if not math.isfinite(number):
        raise NoNumber(problem)
    return number


def value_of(node: ast.expr) -> float:
    """The value of an expression of numbers, + - * / and brackets. Raises NoNumber for any other, ArithmeticError."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.UnaryOp(operand=operand) if type(node.op) in SIGNS:
            return SIGNS[type(node.op)](value_of(operand))
        case ast.BinOp(left=left, right=right) if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value_of(left), value_of(right))
    raise NoNumber("not read. Write the number itself, not a variable or a text: only this cell is handed in.")


def read_questions(folder: Path) -> dict[str, Question]:
    """The questions in the `questions.toml` of a lab's `folder`, by name; none if there is no such file.

    Raises LabError, which names the folder and the question.
    """
    path = Path(folder) / QUESTIONS
    try:
        content = path.read_bytes() if path.is_file() else None
    except OSError as error:
        raise LabError(f"{path.parent.name}/{QUESTIONS}: {error}") from error
    return questions_in(content, f"{path.parent.name}/{QUESTIONS}")


def questions_in(content: bytes | None, where: str) -> dict[str, Question]:
    """The questions in the `content` of a `questions.toml`, by name; none for None. where: begins messages. Raises
    LabError."""
    if content is None:
        return {}
    try:
        tables = tomllib.loads(content.decode())
    except ValueError as error:
        raise LabError(f"{where}: {error}") from error
    return {name: read_question(name, table, f"{where}: [{name}]") for name, table in tables.items()}


def read_question(name: str, table: object, where: str) -> Question:
    """The question in one table. Raises LabError."""
    if not isinstance(table, dict):
        raise LabError(f"{where}: it must be a table, with `value` and `remark`")
    table = dict(table)
    wrong = table.pop("wrong", [])
    try:
        question = Question(name, known(table), tuple(map(known, wrong)))
    except (TypeError, ValueError) as error:
        raise LabError(f"{where}: {error}") from error
    if any(each.value in question.right for each in question.wrong):
        raise LabError(f"{where}: one of the wrong numbers is right")
    return question


def known(table: dict) -> Known:
    """One expected number. Raises TypeError or ValueError."""
    if set(table) - {"value", "tolerance", "remark"} or not {"value", "remark"} <= set(table):
        raise ValueError("it takes `value` and `remark`, and may have `tolerance`; the question itself also `wrong`")
    found = Known(float(table["value"]), str(table["remark"]), float(table.get("tolerance", 0)))
    if not (math.isfinite(found.value) and 0 <= found.tolerance < math.inf):
        raise ValueError("`value` and `tolerance` must be finite, and `tolerance` at least 0")
    return found
