"""Finds similar answers in a class, with RapidFuzz: groups that are worth a look. Similarity proves nothing."""

from __future__ import annotations

import contextlib
import io
import tokenize
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

ALIKE = 0.9  # share of the tokens of two answers that are the same, in the same order
FEWEST = 50  # tokens; shorter answers leave little choice
MOST = 1000  # tokens that are compared; the time grows with their square
NATURAL = 0.25  # an answer that a larger share of the class comes close to is the obvious one
FEW = 5  # up to so many students are a group, whatever their share of the class

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Group:
    """Students with similar answers. likeness: by TODO, of the student least similar to the others."""

    students: tuple[str, ...]
    likeness: dict[str, float]


def groups(answers: dict[str, dict[str, str]], released: dict[str, str]) -> list[Group]:
    """Groups of students with similar answers, those with the most TODOs in common first.

    answers: source text by student and TODO. released: by TODO, the text that all students were given.
    """
    found: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for todo, given in released.items():
        tokens = {student: own_tokens(by_todo.get(todo, ""), given) for student, by_todo in answers.items()}
        tokens = {student: found for student, found in tokens.items() if len(found) >= FEWEST}
        most = max(FEW, NATURAL * len(answers))
        for members, least in alike(tokens).items():
            if len(members) <= most:
                found[members][todo] = least
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), -max(item[1].values()), item[0]))
    return [Group(students, likeness) for students, likeness in ordered]


def alike(tokens: dict[str, list[str]]) -> dict[tuple[str, ...], float]:
    """Groups of students, each with tokens similar to those of at least one other, and the least such likeness."""
    if len(tokens) < 2:
        return {}
    names = sorted(tokens)
    numbers: dict[str, int] = {}
    texts = [[numbers.setdefault(token, len(numbers)) for token in tokens[name]] for name in names]
    likeness = cdist(texts, texts, scorer=Indel.normalized_similarity, score_cutoff=ALIKE, dtype=np.float64)
    np.fill_diagonal(likeness, 0.0)
    left, found = set(range(len(names))), {}
    while left:
        members, new = set(), {left.pop()}
        while new:
            members |= new
            new = {int(other) for index in new for other in np.flatnonzero(likeness[index])} - members
        left -= members
        if len(members) > 1:
            least = min(likeness[index].max() for index in members)
            found[tuple(names[index] for index in sorted(members))] = float(least)
    return found


def own_tokens(source: str, given: str) -> list[str]:
    """The first tokens of `source`, without comments, layout and lines of `given`, up to what is not Python."""
    lines, known, found = source.split("\n"), {line.strip() for line in given.split("\n")}, []
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in LAYOUT and lines[token.start[0] - 1].strip() not in known:
                found.append(token.string)
            if len(found) == MOST:
                break
    return found
