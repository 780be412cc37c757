"""Criteria in the docstring of a TODO, as `lockstep build` puts them there."""

from __future__ import annotations

import ast

import pytest

from autograde.rubric.criterion import Criterion
from autograde.rubric.docstring import with_criteria

LONG = "each rank sends one chunk a round, to rank + 1 only (the last one to rank 0), in a buffer message of float64"
CRITERIA = [
    Criterion("ring", 1, LONG, lambda call: None),
    Criterion("result", 0.5, "a rank returns its “part”", lambda call: None),
]
FUNCTION = '''\
import numpy as np


def part(x):
    """The part of a rank: Σ x.

    x: an array.
    """
    ### BEGIN SOLUTION
    return x.sum()
    ### END SOLUTION'''


def test_they_stand_at_its_end_wrapped_with_their_points_and_nothing_else_changes():
    assert with_criteria(FUNCTION, "part", CRITERIA) == FUNCTION.replace(
        "    x: an array.\n",
        """    x: an array.

    What is checked:
    - 1 point: each rank sends one chunk a round, to rank + 1 only (the last one to rank
      0), in a buffer message of float64
    - 0.5 points: a rank returns its “part”
""",
    )


def test_a_docstring_of_one_line_gets_more_and_what_stands_behind_it_stays():
    source = 'def part(x):\n    """Σ x."""  # a sum\n    return x.sum()\n'
    told = with_criteria(source, "part", CRITERIA[1:])
    assert told == (
        'def part(x):\n    """Σ x.\n\n    What is checked:\n    - 0.5 points: a rank returns its “part”\n'
        '    """  # a sum\n    return x.sum()\n'
    )


def test_a_class_has_them_in_its_own_docstring_and_its_methods_have_none():
    source = 'class Part:\n    """A part."""\n\n    def part(self):\n        """One."""\n'
    (node,) = ast.parse(with_criteria(source, "Part", CRITERIA)).body
    assert ast.get_docstring(node).startswith("A part.\n\nWhat is checked:\n- 1 point: each rank")
    assert ast.get_docstring(node.body[1]) == "One."


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def part(x):\n    return x", "`part` has no docstring"),
        ("def whole(x):\n    '''A part.'''", "`part` has no docstring"),
        ("def part(x):\n    'A part.'", 'write the docstring of `part` between """ and """'),
        ('def part(x):\n    """A part. What is checked:\n    - it\n    """', "leave “What is checked:” out of"),
    ],
)
def test_what_cannot_be_is_named(source, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        with_criteria(source, "part", CRITERIA)
