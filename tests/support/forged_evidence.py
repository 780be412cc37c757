"""Forged evidence: damage and lies, made from honest evidence at random."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

STRANGE = (None, True, False, 0, 1, -1, 0.5, 1e300, -1e300, 1e308, float("nan"), "", "x", "ok", [], {}, [[]], [None])


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
