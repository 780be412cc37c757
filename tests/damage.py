"""Damages notebooks at random, as a fuzzer does."""

from __future__ import annotations

import copy
import json
import random


def damage(notebook: dict, rng: random.Random) -> dict | bytes:
    """Something that goes wrong with a notebook, somewhere in it."""
    junk = [None, 7, -1.5, "", "text", [], {}, [None], {"grade_id": ["double"]}, {"nbgrader": 3}, True]
    spots: list[tuple[dict | list, str | int]] = []

    def walk(node: object) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            spots.append((node, key))
            walk(value)

    walk(notebook)
    for _ in range(rng.randrange(1, 6)):
        where, key = rng.choice(spots)
        kind = rng.randrange(3)
        if isinstance(where, list):
            if kind == 0 and where:
                where.append(copy.deepcopy(rng.choice(where)))
            elif key < len(where):
                where[key] = rng.choice(junk)
        elif kind == 0:
            where.pop(key, None)
        else:
            where[key] = rng.choice(junk)
    raw = json.dumps(notebook).encode()
    return raw[: rng.randrange(len(raw))] if rng.random() < 0.1 else raw
