"""Answers of a class that are much alike, by RapidFuzz: groups that are worth a look. Likeness proves nothing."""

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
FEWEST = 50  # tokens; who answers in fewer has little choice
MOST = 1000  # tokens that are compared; time goes with their square
NATURAL = 0.25  # an answer that more than this share of the class comes close to is the one that suggests itself
FEW = 5  # students may share an answer, whatever their share of the class

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Group:
    """Students with answers that are much alike, and for each TODO the least likeness that joins one to the others."""

    students: tuple[str, ...]
    likeness: dict[str, float]


def groups(answers: dict[str, dict[str, str]], released: dict[str, str]) -> list[Group]:
    """Groups of students, those with most TODOs in common first.

    answers: source text by student and TODO. released: by TODO, the text that everybody was given.
    """
    found: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for todo, given in released.items():
        tokens = {student: own_tokens(by_todo.get(todo, ""), given) for student, by_todo in answers.items()}
        tokens = {student: own for student, own in tokens.items() if len(own) >= FEWEST}
        most = max(FEW, NATURAL * len(answers))
        for members, least in alike(tokens).items():
            if len(members) <= most:
                found[members][todo] = least
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), -max(item[1].values()), item[0]))
    return [Group(students, likeness) for students, likeness in ordered]


def alike(tokens: dict[str, list[str]]) -> dict[tuple[str, ...], float]:
    """Groups of students whose tokens are much alike, each to one other at least, and the least such likeness."""
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
            new = {int(other) for one in new for other in np.flatnonzero(likeness[one])} - members
        left -= members
        if len(members) > 1:
            found[tuple(names[one] for one in sorted(members))] = float(min(likeness[one].max() for one in members))
    return found


def own_tokens(source: str, given: str) -> list[str]:
    """The first tokens of `source`, without comments, layout and lines of `given`; what is no Python ends the list."""
    lines, known, found = source.split("\n"), {line.strip() for line in given.split("\n")}, []
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in LAYOUT and lines[token.start[0] - 1].strip() not in known:
                found.append(token.string)
            if len(found) == MOST:
                break
    return found
