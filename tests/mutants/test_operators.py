"""Small changes of an answer: each operator makes those that it names, and the text around them stays as it is."""

from __future__ import annotations

import ast

import pytest

from autograde.labs.answers import Answer
from autograde.mutants.answers import mutants_of
from autograde.mutants.operators import OPERATORS, changes
from autograde.mutants.source import Source


def changed(text: str, operator: str) -> set[str]:
    """The texts that an operator makes of one."""
    source = Source(text)
    return {source.changed(edit) for name, edit in changes(source) if name == operator}


CASES = {
    "arithmetic": [
        ("a = b - c", {"a = b + c"}),
        ("a = (b) @ -c", {"a = (b) @ c"}),
        ("ä = 'é' * n // m", {"ä = 'é' / n // m", "ä = 'é' * n / m"}),
    ],
    "assignment": [("a += b", {"a = b", "a -= b"}), ("a[i + 1] /= 2", {"a[i + 1] = 2", "a[i + 1] *= 2"})],
    "constant": [
        ("f(1, x=2.5)", {"f(2, x=2.5)", "f(0, x=2.5)", "f(1, x=3.5)", "f(1, x=1.5)", "f(1, x=0.0)"}),
        ("f(True, 'a')", {"f(False, 'a')", 'f(True, "")'}),
        ("a = [b, c]", {"a = []"}),
    ],
    "comparison": [
        ("a < b != c", {"a <= b != c", "a >= b != c", "a < b == c"}),
        ("a is not b", {"a is b"}),
        ("a not in b", {"a in b"}),
    ],
    "boolean": [
        ("a or (b)", {"a and (b)"}),
        ("c = not (a)", {"c = (a)"}),
        ("if a:\n    f()", {"if True:\n    f()", "if False:\n    f()"}),
        ("while a: f()", {"while False: f()"}),
        ("[x for x in a if b]", {"[x for x in a if True]", "[x for x in a if False]"}),
    ],
    "statement": [
        ("optimizer.zero_grad()", {"pass"}),
        ("for x in a:\n    break", {"for x in a:\n    pass", "for x in a:\n    continue"}),
        ("def f():\n    'Doc.'\n    return 1", {"def f():\n    'Doc.'\n    pass"}),
    ],
    "argument": [
        ("f(a, b=c)", {"f(b=c)", "f(a)"}),
        ("f(a, (b), *c)", {"f(b, *c)", "f(a, *c)", "f(a, b)", "f(b, (a), *c)"}),
        ("sum(x for x in a)", {"sum()"}),
        ("min(a, b)", {"min(a)", "min(b)"}),
    ],
    "confused name": [
        ("comm.rank", {"comm.size"}),
        ("hvd.rank()", {"hvd.size()", "hvd.local_rank()"}),
        ("dist.get_world_size()", {"dist.get_rank()"}),
        ("a = rank + size", {"a = size + size", "a = rank + rank"}),
        ("rank = 3", set()),
        ("environ['RANK']", {'environ["LOCAL_RANK"]'}),
    ],
    "reduction": [
        ("op = MPI.SUM", {"op = MPI.MAX", "op = MPI.PROD"}),
        ("op = dist.ReduceOp.SUM", {f"op = dist.ReduceOp.{name}" for name in ("MAX", "AVG", "PRODUCT")}),
        ("hvd.Average", {"hvd.Sum", "hvd.Max"}),
        ("x.mean()", {"x.sum()", "x.max()"}),
        ("min(a, b)", {"max(a, b)"}),
    ],
    "method": [("a.b.detach().item()", {"a.b.item()", "a.b.detach()"})],
    "gradient mode": [
        ("with torch.no_grad(): f()", {"with torch.enable_grad(): f()"}),
        ("model.eval()", {"model.train()"}),
        ("model.train(was)", {"model.eval()"}),
    ],
    "ends": [
        ("a[b:]", {"a[:]", "a[b + 1:]", "a[b:-1]"}),
        ("a[x if y else z::s]", {"a[::s]", "a[(x if y else z) + 1::s]", "a[x if y else z:-1:s]", "a[x if y else z::]"}),
        ("range(n)", {"range(n - 1)", "range(n + 1)", "range(1, n)"}),
        ("range(a, n)", {"range(a, n - 1)", "range(a, n + 1)", "range(a + 1, n)"}),
    ],
    "device": [
        ("x = y.to(device) + z.to(torch.float64)", {"x = y + z.to(torch.float64)", "x = y.to() + z.to(torch.float64)"}),
        ("torch.zeros(3, device=d)", {"torch.zeros(3)"}),
        ("torch.cuda.set_device(n)", {"pass", "torch.cuda.set_device()"}),
        (
            "device = 'cuda' if a else b",
            {f"device = {new}" for new in ('"" if a else b', "'cuda' if True else b", "'cuda' if False else b")},
        ),
        (
            "if torch.cuda.is_available():\n    n = -m",
            {
                "if True:\n    n = -m",
                "if False:\n    n = -m",
                "if torch.cuda.is_available():\n    pass",
                "if torch.cuda.is_available():\n    n = m",
            },
        ),
        ("model.cpu()", {"pass", "model"}),
    ],
}


@pytest.mark.parametrize(
    ("operator", "text", "expected"), [(operator, *case) for operator, cases in CASES.items() for case in cases]
)
def test_an_operator_makes_its_changes_and_no_others(operator, text, expected):
    assert changed(text, operator) == expected


def test_every_operator_is_tried():
    assert set(CASES) == set(OPERATORS)


def test_signatures_annotations_docstrings_imports_and_messages_stay():
    text = """
import a.b as c
def f(x: int = 1, *, y=2) -> "T":
    '''A 1.'''
    z: list[3]
    raise ValueError("no 1", n - 1)
    g = f"{a - 1} of {b[:2]}"
"""
    source = Source(text)
    assert {source.changed(edit) for _, edit in changes(source)} == {
        text.replace('raise ValueError("no 1", n - 1)', "pass"),
        text.replace('g = f"{a - 1} of {b[:2]}"', "pass"),
    }


def test_mutants_compile_and_differ_from_the_answers_and_from_one_another():
    answers = [
        Answer("f", "solution", "def f(a):\n    return a - 1\n"),
        Answer("f", "plus", "def f(a):\n    return a + 1\n"),
        Answer("f", "commented", "def f(a):\n    return a - 1  # one less\n"),
        Answer("f", "with_a_break", "def f(a):\n    for a in a:\n        break\n    return a\n"),
    ]
    made = list(mutants_of(answers))
    trees = [ast.dump(ast.parse(mutant.source)) for mutant in made]
    assert len(set(trees)) == len(trees)
    assert not set(trees) & {ast.dump(ast.parse(answer.source)) for answer in answers}
    assert {mutant.answer.variant for mutant in made} == {"solution", "plus", "with_a_break"}
    assert [mutant.change for mutant in made if mutant.answer.variant == "plus"] == [
        "return a + 1 -> return a + 2",
        "return a + 1 -> return a + 0",
    ]
