"""A notebook's cell runs on a rank as it does in the notebook, without what only a notebook can do."""

from __future__ import annotations

import pytest

from autograde.cells.cell_code import ALONE, by_stub, python_source
from autograde.cells.subject import CellFails, NoSuchName, Subject, noted
from autograde.contract.trouble import raised, trouble
from autograde.rubric import Words
from course.world.report import kind_of

RIGHT = "def f(x):\n    return 2 * x\n"


@pytest.mark.parametrize(
    "source",
    [
        "%%time\n" + RIGHT,
        "\n%%capture out\n%%timeit\n" + RIGHT,
        "%matplotlib inline\n!pip install nothing\nfiles = !ls\n" + RIGHT + "%timeit f(3)\n",
        "import asyncio\nawait asyncio.sleep(0)\n" + RIGHT,
        "from __future__ import annotations\n" + RIGHT,
        RIGHT + "display(f(3), 'shown')\n",
        RIGHT + "world.run(f, 3)\n",
        RIGHT + "input()\n",
        RIGHT + "import sys\nsys.exit()\n",
        RIGHT + "import torch\ntorch.nn.Module()(1)\n",
        RIGHT + "f?\n",
    ],
)
def test_notebook_syntax_and_tries_below_do_not_take_a_function_away(source):
    assert Subject("f", source).load()(3) == 6


def test_the_line_that_fails_below_a_function_is_noted(capsys):
    Subject("f", RIGHT + "\nprint(g(3))\n").load()
    Subject("f", RIGHT).load()
    printed = f"before\n{capsys.readouterr().out}"
    (sentence,) = noted({"runs": [{"state": "ok", "ranks": [{"stdout": printed}, {"stdout": printed}]}]})
    assert "`f` is defined, and counts. Below it, the cell stops: NameError: name 'g' is not defined" in sentence
    assert "(cell line 4)" in sentence and sentence.endswith(ALONE)


def test_annotations_are_those_that_the_cell_asks_for():
    """The kit's own `from __future__ import annotations` is not the student's."""
    assert Subject("f", "def f(x: int): return 1").load().__annotations__ == {"x": int}


def test_the_lines_of_a_cell_keep_their_numbers():
    with pytest.raises(CellFails, match="cell line 3"):
        Subject("f", "%%time\n%matplotlib inline\n1 / 0\n" + RIGHT).load()


def test_a_cell_of_another_language_defines_nothing():
    assert python_source("%%bash\nls") == ""
    with pytest.raises(NoSuchName):
        Subject("f", "%%bash\n" + RIGHT).load()


@pytest.mark.parametrize(
    ("body", "stub"),
    [
        ("raise NotImplementedError()", True),
        ("raise NotImplementedError  # later", False),
        ("class Base:\n        def g(self):\n            raise NotImplementedError\n    Base().g()", False),
        ("raise NotImplementedError('no ranks')", False),
        ("import torch; torch.nn.Module()(1)", False),
    ],
)
def test_not_started_is_only_the_stubs_own_line(body, stub):
    with pytest.raises(NotImplementedError) as raised:
        Subject("f", f"def f():\n    {body}\n").load()()
    assert by_stub(raised.value) == stub


@pytest.mark.parametrize(
    ("source", "state"),
    [("raise NotImplementedError()", "not-done"), ("f(x)", "raised"), ("raise NotImplementedError", "raised")],
)
def test_a_run_that_torch_or_a_base_class_does_not_implement_is_an_error(source, state):
    error = {"type": "NotImplementedError", "message": "", "line": 1, "source": source, "traceback": ""}
    assert kind_of(error) == state


def test_what_git_leaves_of_a_conflict_is_named():
    with pytest.raises(CellFails, match=r"`<<<<<<< HEAD` \(cell line 2\) is what a git merge leaves"):
        Subject("f", "def f(x):\n<<<<<<< HEAD\n    return x\n=======\n    return 2\n>>>>>>> other\n").load()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rank 0 raised AttributeError: 'float' object has no attribute 'new', cell line 5.", "Horovod sends tensors"),
        ("rank 0 raised TypeError: object.__init__() takes exactly one argument.", "takes no arguments"),
        ("NameError: name 'np' is not defined (cell line 4)", ALONE),
        ("rank 0 raised NotImplementedError.", "It comes from a base class"),
        ("rank 0 raised NotImplementedError: no such operator.", ""),
        ("rank 0 raised TypeError: f() takes exactly one argument.", ""),
    ],
)
def test_errors_of_libraries_that_say_little_get_their_cause(text, said):
    message = raised(text, 3).message
    assert message.startswith(f"Your code raised an error: {text}") and said in message
    assert message.endswith(text) == (not said)


def test_a_run_whose_time_went_into_compiling_says_what_to_leave_out():
    outcome = {"state": "too-slow", "detail": "rank 0 still compiles in torch.compile, cell line 5.", "report": ""}
    message = trouble({**outcome, "ranks": []}).message
    assert message.startswith("Not finished in time: rank 0 still compiles in torch.compile, cell line 5. Compiling")
    assert message.endswith("leave out what compiles.")


def test_a_labs_own_words_say_it_too():
    fails = Words("fails: It fails: {error}")
    assert fails("fails", error="NameError: name 'os' is not defined").message.endswith(ALONE)
    assert fails("fails", error="KeyError: 'os'").message == "It fails: KeyError: 'os'"


@pytest.mark.parametrize("kind", ["NameError", "NoSuchName"])
def test_where_a_name_is_missing_it_is_said_what_is_handed_in(kind):
    rank = {"rank": 0, "state": "raised", "error": {"type": kind, "message": "x"}}
    outcome = {"state": "raised", "detail": "rank 0 raised it.", "report": "", "ranks": [rank]}
    assert trouble(outcome).message.endswith(ALONE)
