"""Lists of nodes as Slurm shortens them, each beside the names that it stands for."""

from __future__ import annotations

import random


def draw_list(rng: random.Random, form: int, count: int) -> tuple[str, list[str]]:
    """A list of `count` nodes, and their names one by one.

    form: 0 plain names; 1 a range with leading zeros, then others; 2 text between two brackets; 3 two brackets
    in a name; 4 names with hyphens, and a range that is not the first in its brackets.
    """
    first = rng.randrange(1, 60)
    word = rng.choice(("node", "gpu", "linux", "c"))
    numbers = range(first, first + count)
    if form == 0:
        names = [f"{word}{number}" for number in rng.sample(range(1, 99), count)]
        return ",".join(names), names
    if form == 1:
        names = [f"{word}{number:03d}" for number in numbers]
        last, rest = numbers[-1], names[:-1]
        if len(rest) < 2:
            return f"{word}[{','.join(f'{number:03d}' for number in numbers)}]", names
        return f"{word}[{numbers[0]:03d}-{numbers[-2]:03d}],login{last}", [*rest, f"login{last}"]
    if form == 2:
        names = [f"{word}{number:02d}-ib0" for number in numbers]
        return f"{word}[{numbers[0]:02d}-{numbers[-1]:02d}]-ib[0]", names
    if form == 3:
        rack = rng.randrange(1, 9)
        names = [f"r{rack}n{number:02d}" for number in numbers]
        return f"r[{rack}]n[{numbers[0]:02d}-{numbers[-1]:02d}]", names
    head = [f"{word}2-{number}" for number in (first, *(range(first + 2, first + 1 + count)))]
    spans = f"{first},{first + 2}-{first + count}" if count > 2 else ",".join(name.rpartition("-")[2] for name in head)
    return f"{word}2-[{spans}]", head
