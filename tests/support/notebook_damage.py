"""Damages notebooks at random, as a fuzzer does: in their JSON, in the bytes of the file, and by whole cells."""

from __future__ import annotations

import copy
import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"<<<<<<< HEAD\n", b"NaN", b"\r", b"\x1f\x8b")


def damage(notebook: dict, rng: random.Random) -> bytes:
    """The file of a notebook in which something goes wrong, somewhere."""
    with deep_recursion():
        for _ in range(rng.randrange(1, 6)):
            rng.choice((damage_value, damage_value, damage_value, damage_cells, damage_text))(notebook, rng)
        text = json.dumps(notebook, ensure_ascii=rng.random() < 0.5)
    raw = text.encode("utf-8", "surrogatepass")
    return damage_bytes(raw, rng) if rng.random() < 0.2 else raw


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for what `nested` gives, and that inside another."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def damage_value(notebook: dict, rng: random.Random) -> None:
    """Take a value out, put junk in its place, or put one more in."""
    spots: list[tuple[dict | list, str | int]] = []

    def walk(node: object) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            spots.append((node, key))
            walk(value)

    walk(notebook)
    if not spots:
        return
    where, key = rng.choice(spots)
    kind = rng.randrange(3)
    if isinstance(where, list):
        if kind == 0 and where:
            where.append(copy.deepcopy(rng.choice(where)))
        else:
            where[key] = junk(rng)
    elif kind == 0:
        where.pop(key, None)
    else:
        where[key] = junk(rng)


def damage_cells(notebook: dict, rng: random.Random) -> None:
    """Shuffle, double or drop cells, or exchange what two of them have."""
    cells = notebook.get("cells")
    if not isinstance(cells, list) or len(cells) < 2:
        return
    one, other = rng.sample(range(len(cells)), 2)
    match rng.randrange(5):
        case 0:
            rng.shuffle(cells)
        case 1:
            cells.insert(other, copy.deepcopy(cells[one]))
        case 2:
            del cells[one]
        case 3:
            cells.extend(copy.deepcopy(cells[one]) for _ in range(rng.randrange(1, 300)))
        case 4 if isinstance(cells[one], dict) and isinstance(cells[other], dict):
            key = rng.choice(["id", "metadata", "source", "cell_type"])
            cells[one][key], cells[other][key] = cells[other].get(key), cells[one].get(key)


def damage_text(notebook: dict, rng: random.Random) -> None:
    """Change a cell's text a little, as a slip of the finger does."""
    cells = notebook.get("cells")
    cells = [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []
    cells = [cell for cell in cells if isinstance(cell.get("source"), str)]
    if not cells:
        return
    cell = rng.choice(cells)
    source, place = cell["source"], rng.randrange(len(cell["source"]) + 1)
    slips = ["", "\n", "\t", " ", "\0", "\x1b[2J", "(", "'''", "\ud800", "%%bash\n", "!ls\n", "é", "\u2028"]
    inserted = rng.choice(slips)
    cell["source"] = source[:place] + inserted + source[place + rng.randrange(3) :]


def damage_bytes(raw: bytes, rng: random.Random) -> bytes:
    """The bytes of a file cut off, changed, doubled, or with something put in."""
    place = rng.randrange(len(raw))
    match rng.randrange(5):
        case 0:
            return raw[:place]
        case 1:
            return raw[:place] + bytes([rng.randrange(256)]) + raw[place + 1 :]
        case 2:
            return raw + raw[place:]
        case 3:
            return rng.choice(MARKS) + raw
    return raw[:place] + rng.choice(MARKS) + raw[place:]


def junk(rng: random.Random) -> Any:
    """Something that belongs nowhere in a notebook."""
    values = [None, 7, -1.5, "", "text", [], {}, [None], {"grade_id": ["double"]}, {"nbgrader": 3}, True, float("nan")]
    values += [
        10**400,
        -(2**63),
        "x" * 200_000,
        "\ud800",
        "\0",
        "<script>",
        "double",
        "double-check",
        ["a", "b"],
        [["a"]],
    ]
    if rng.random() < 0.05:
        return nested(rng.randrange(1, 900))
    return rng.choice(values)


def nested(depth: int) -> Any:
    """Lists and objects in each other."""
    made: Any = "inside"
    for level in range(depth):
        made = [made] if level % 2 else {"source": made}
    return made
