"""Forged evidence: damage and lies made from honest evidence, and whether the numbers in some evidence are right."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator
from typing import Any

STRANGE = (None, True, False, 0, 1, -1, 0.5, 1e300, -1e300, 1e308, float("nan"), "", "x", "ok", [], {}, [[]], [None])
NEAR = 1e-4  # relative; wrong numbers in this module are further off


def places(tree: Any, here: tuple = ()) -> Iterator[tuple]:
    """The path of every part of a tree of lists and objects, but for the tree itself."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        yield (*here, key)
        yield from places(value, (*here, key))


def at(tree: Any, path: tuple) -> Any:
    """The part of a tree at a path."""
    for key in path:
        tree = tree[key]
    return tree


def forged(honest: list, rng: random.Random) -> list:
    """Evidence for all cases with one to three changes, most of them in what the student's code computed.

    Half of all forgeries keep to the form of the evidence: only numbers change, and lists get shorter.
    """
    tree, formed = copy.deepcopy(honest), rng.random() < 0.5
    for _ in range(rng.choice((1, 1, 2, 3))):
        paths = list(places(tree))
        if formed:
            paths = [path for path in paths if is_number(at(tree, path)) or isinstance(at(tree, path), list)]
        computed = [path for path in paths if "result" in path and "events" not in path]
        if paths:
            change(tree, rng.choice(computed if computed and rng.random() < 0.8 else paths), rng, formed)
    return tree


def change(tree: Any, path: tuple, rng: random.Random, formed: bool) -> None:
    """Change a tree at a path: empty, shorten, shift; where it need not keep its form, also drop, repeat, replace."""
    around, key = at(tree, path[:-1]), path[-1]
    value = around[key]
    match rng.randrange(4 if formed else 8):
        case 0 if isinstance(value, (list, dict)):
            value.clear()
        case 1 if isinstance(value, list) and value:
            del value[rng.randrange(len(value)) :]
        case 2 if isinstance(value, list) and value:
            del value[rng.randrange(len(value))]
        case 0 | 1 | 2 | 3 | 4 if is_number(value):
            around[key] = rng.choice((None, -value, 2 * value, value + 0.01, value * 1.001, 1 / value if value else 1))
        case 3 | 5 if isinstance(around, list):
            other = rng.randrange(len(around))
            around[key], around[other] = around[other], value
        case 6:
            del around[key]
        case 7 if isinstance(around, list):
            around.insert(key, copy.deepcopy(value))
        case _ if not formed:
            around[key] = copy.deepcopy(rng.choice(STRANGE))


def is_number(value: Any) -> bool:
    """Whether a part is a number, which true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def right(todo: str, case: dict, evidence: dict) -> bool:
    """Whether the numbers of a TODO of lab 03 in `evidence` are right.

    For the other labs see `forged_training`.
    """
    results = [rank["result"] for rank in evidence["ranks"]]
    if todo == "partial_sum":
        return all(near(points, due) and near(values, sums) for points, due, values, sums in split_up(case, results[0]))
    calls = zip(*(result["calls"] for result in results), strict=True)
    due = [
        sum(4 / (1 + ((i + 0.5) / n) ** 2) for i in range(n)) / n for n in (call["intervals"] for call in case["calls"])
    ]
    return all(
        near([call["seen"]["value"]["value"] for call in each], [value] * len(each))
        for each, value in zip(calls, due, strict=True)
    )


def split_up(case: dict, result: dict) -> Iterator[tuple[list, list, list, list]]:
    """Of each split: all points, sorted, those that are due, the value of each share, and the one that is due."""
    for call, made in zip(case["calls"], result["calls"], strict=True):
        (a, b, c), intervals, own = call["coefficients"], call["intervals"], made["seen"]["shares"]
        points = sorted(x for share in own for x in share["points"])
        sums = [math.fsum(a + x * (b + x * c) for x in share["points"]) / intervals for share in own]
        yield points, [(i + 0.5) / intervals for i in range(intervals)], [each["value"]["value"] for each in own], sums


def near(seen: Any, due: Any) -> bool:
    """Whether two numbers, or lists of them, are the same but for rounding."""
    if isinstance(due, list):
        return isinstance(seen, list) and len(seen) == len(due) and all(map(near, seen, due))
    return seen is not None and math.isclose(seen, due, rel_tol=NEAR, abs_tol=NEAR)
