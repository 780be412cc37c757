"""No answer can be read in a student's folder: nothing that stands there gets all points where it is handed in.

That is what is in the notebook, and the figures and models of the lab that it imports by name. The checks are in an
archive, and are no secret: they know the right numbers, which is what grading draws anew. Each function and class is
handed in, with what it calls, under the name of each TODO
that takes as many arguments. The rest of the cell is the solution's. A function inside of another one is handed in as
that one makes it, with the ranks' communicator, and with mocks for what else it is given. Methods that need their
object are not tried, nor the classes of checks. Of what is installed beside the labs, only what computes figures and
more for labs and lectures is: each function and class of `course` whose arguments have the names of the TODO's.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from case_by_case import checks_of, results_by_case
from labs_under_test import LABS

import course
from autograde.cells.cell_code import has_stub, python_source
from autograde.contract import show
from autograde.contract.lab_package import LabPackage
from autograde.labs.folder import Lab, read_package
from autograde.making.build import instructor_notebook, release

Definition = ast.FunctionDef | ast.ClassDef
COURSE = Path(course.__file__).parent

# Loads a lab's modules as if they stood in the cell, so that what they do is seen there, and hands in something of one.
CELL = """

import importlib, sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

class Released:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=name in {packages!r}) if name in {modules!r} else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        code = compile({modules!r}[module.__name__], {file!r}, "exec", dont_inherit=True)
        exec(code, module.__dict__)

def given(parameter):
    from autograde.contract.call_rank import CallRank
    from course.world.subworld import shell
    comm = shell().lockstep_subworld.comm
    return {{"comm": comm, "rank": CallRank(comm)}}.get(parameter) or MagicMock()

del {todo}
if {package!r} not in sys.modules:
    sys.meta_path.insert(0, Released())
{todo} = importlib.import_module({module!r}).{expression}
"""


class Released(NamedTuple):
    """A function or class that students get. expression: what gives it, in its module. least, most: how many positional
    arguments it takes."""

    module: str
    name: str
    expression: str
    least: int
    most: int


class Asked(NamedTuple):
    """A function or class that a TODO asks for, and how many arguments it may get, by which names."""

    todo: str
    name: str
    least: int
    most: int
    arguments: frozenset[str]


@cache
def notebook_cells(lab: Lab) -> tuple[dict[str, str], dict[str, str]]:
    """The source of each code cell by id, as Python: with the solutions, and as released."""
    solved = instructor_notebook(lab)
    return tuple(
        {cell.id: python_source(cell.source) for cell in notebook.cells if cell.cell_type == "code"}
        for notebook in (solved, release(solved))
    )


@cache
def modules_of(lab: Lab) -> dict[str, str]:
    """What students can read of the lab in Python, by module: its figures and models, and what the notebook's given
    cells define."""
    folders = [lab.folder / name for name in ("figures", "models") if (lab.folder / name).is_dir()]
    files = {f"{folder.name}/{name}": text for folder in folders for name, text in read_package(folder).items()}
    modules = {"__init__": "", **LabPackage.of(files, lab.name).texts}
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    trees = [ast.parse(source) for source in notebook_cells(lab)[1].values() if not has_stub(source)]
    kept = [node for tree in trees for node in tree.body if isinstance(node, kinds)]
    modules["in_the_notebook"] = ast.unparse(ast.Module(kept, []))
    return {name: text + "\n\n" + "\n\n".join(made for _, made in inner(text)) for name, text in modules.items()}


def functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """The functions of a module or a class, those of its classes included."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef):
            yield each
        elif isinstance(each, ast.ClassDef):
            yield from functions(each)


def inner(text: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Each function or class inside of a function, and the text of a function that makes it."""
    for outer in functions(ast.parse(text)):
        for place, each in enumerate(outer.body):
            if isinstance(each, Definition):
                names = [one.arg for one in (*outer.args.posonlyargs, *outer.args.args, *outer.args.kwonlyargs)]
                head = f"def made_{outer.name}_{each.name}(given):\n"
                filled = "".join(f"    {name} = given({name!r})\n" for name in names)
                body = ast.unparse(ast.Module([*outer.body[: place + 1]], []))
                lines = "".join(f"    {line}\n" for line in body.splitlines())
                yield each, f"{head}{filled}{lines}    return {each.name}\n"


def arguments(node: Definition) -> tuple[int, int]:
    """How many positional arguments a function or a class takes, at least and at most."""
    args, own = node.args if isinstance(node, ast.FunctionDef) else None, 0
    if args is None:
        made = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        if not made:
            return 0, 99
        args, own = made[0].args, 1
    takes = len(args.posonlyargs) + len(args.args) - own
    return takes - len(args.defaults), 99 if args.vararg else takes


def names(node: Definition) -> frozenset[str]:
    """What the arguments of a function or a class are called; nothing where a class says none."""
    made = [each for each in functions(node) if each.name == "__init__"] if isinstance(node, ast.ClassDef) else [node]
    own = made[0].args if made else ast.arguments([], [], None, [], [], None, [])
    return frozenset(one.arg for one in (*own.posonlyargs, *own.args, *own.kwonlyargs)) - {"self"}


@cache
def in_the_course() -> dict[frozenset[str], list[Released]]:
    """The functions and classes of `course`, by what their arguments are called."""
    found: dict[frozenset[str], list[Released]] = {}
    for path in sorted(COURSE.rglob("*.py")):
        module = ".".join(path.relative_to(COURSE.parent).with_suffix("").parts)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, Definition) and names(node):
                found.setdefault(names(node), []).append(Released(module, node.name, node.name, *arguments(node)))
    return found


def is_check(node: Definition) -> bool:
    """Whether this is the class of a check, which is no answer, though its static methods may be."""
    return isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Check") for base in node.bases)


def released(lab: Lab) -> list[Released]:
    """What can be handed in."""
    found = {}
    for module, text in modules_of(lab).items():
        tree = ast.parse(text)
        for node in tree.body:
            if isinstance(node, Definition) and not node.name.startswith("made_") and not is_check(node):
                found[module, node.name] = Released(module, node.name, node.name, *arguments(node))
            for each in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(each, ast.FunctionDef) and "staticmethod" in map(ast.unparse, each.decorator_list):
                    name = f"{node.name}.{each.name}"
                    found[module, name] = Released(module, name, name, *arguments(each))
        for each, made in inner(text):
            name = made.removeprefix("def ").partition("(")[0]
            if not name.startswith("made_made_"):
                found[module, name] = Released(module, name, f"{name}(given)", *arguments(each))
    return [*found.values()]


def asked(lab: Lab, todo: str) -> list[Asked]:
    """What one of the lab's TODOs asks for."""
    return [
        Asked(todo, node.name, *arguments(node), names(node))
        for node in ast.parse(notebook_cells(lab)[1][todo]).body
        if isinstance(node, Definition) and has_stub(ast.unparse(node))
    ]


def handed_in(lab: Lab, asks: Asked, answer: Released) -> str:
    """The cell's source: the solution's, with this in place of what is asked for."""
    package = f"released_{asks.todo}_{hashlib.sha256(repr(modules_of(lab)).encode()).hexdigest()[:12]}"
    known = {name: package if name == "__init__" else f"{package}.{name}" for name in modules_of(lab)}
    modules = {known[name]: text for name, text in modules_of(lab).items()}
    packages = {package, *(known[name] for name in known if any(other.startswith(f"{name}.") for other in known))}
    about = {
        "package": package,
        "packages": packages,
        "modules": modules,
        "file": f"<cell {asks.todo}>",
        "todo": asks.name,
    }
    return notebook_cells(lab)[0][asks.todo] + CELL.format(
        **about, module=known.get(answer.module, answer.module), expression=answer.expression
    )


def fits(asks: Asked, answer: Released) -> bool:
    """Whether a call as the TODO asks for may be one of this function or class."""
    return answer.least <= asks.most and answer.most >= asks.least


TODOS = [
    pytest.param(lab, todo, id=f"{lab.name}-{todo}", marks=[pytest.mark.thorough] if number else [])
    for number, (lab, todo) in enumerate((lab, todo) for lab in LABS for todo in checks_of(lab))
]


@pytest.mark.parametrize(("lab", "todo"), TODOS)
def test_nothing_that_students_get_is_an_answer(worlds, lab, todo):
    check, answers = checks_of(lab)[todo], []
    for asks in asked(lab, todo):
        for answer in (*released(lab), *in_the_course().get(asks.arguments, ())):
            if not fits(asks, answer):
                continue
            results = results_by_case(worlds.of(lab), check, handed_in(lab, asks, answer))
            lost = next((result for result in results if result.score < result.points), None)
            if lost is None:
                answers.append(f"{answer.module}.{answer.name} for {asks.name}")
            print(answer.module, answer.name, lost and show.text(lost))
    assert answers == [], f"all points for {todo}: {answers}"
