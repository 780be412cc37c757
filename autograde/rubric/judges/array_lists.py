"""Judge of several arrays that each rank has, such as the parameters of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograde.contract.evidence import Array
from autograde.rubric.judge import Call
from autograde.rubric.judges.arrays import EachRankReturnsArray
from autograde.rubric.words import Wrong


@dataclass(frozen=True)
class EachRankHasArrays:
    """Judge of lists of arrays that are the expected ones: one after the other, see `EachRankReturnsArray`.

    expected: of a call, by place in the list, an array for each rank, in a list, or one for all. results: of a call, by
    rank, the list of what it has.
    """

    expected: Callable[[Call], Sequence[Any]]
    results: Callable[[Call], Sequence[Sequence[Array]]]

    def at(self, place: int, expected: Any) -> EachRankReturnsArray:
        """Judge of what the ranks have at one place."""
        return EachRankReturnsArray(
            lambda call: expected, result=lambda call: [own[place] for own in self.results(call)]
        )

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        judges = (self.at(place, each) for place, each in enumerate(self.expected(call)))
        return next((wrong for judge in judges if (wrong := judge(call)) is not None), None)

    def gives(self, call: Call, value: Sequence[Any]) -> bool:
        """Whether the ranks have these. value: as `expected` gives it."""
        pairs = zip(self.expected(call), value, strict=True)
        return all(self.at(place, due).gives(call, each) for place, (due, each) in enumerate(pairs))
