"""Judge of a path: the points that SGD goes through, a row for each, beginning with the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograde.contract.evidence import Points
from autograde.rubric.judge import Call
from autograde.rubric.values.rounding import Rounding
from autograde.rubric.values.same import Place
from autograde.rubric.words import Words, Wrong

NEAR = Rounding(2e-5)  # of the start; a path may be of float32

words = Words("""
not-a-path: {whose} is {kind}, where a tensor [steps + 1, 2] of points (m, n) is expected.

not-finite: Row {row} of the path is not a finite number, and the gradients that your function is given are all finite.

rows-all-equal: From row 1 on, all rows of the path are the same point, {first}. Does the path hold one tensor many
times, which every step changes?

not-from-start: Row 0 of the path is {first}, where {start} = {expected} is expected.

start-missing: Row 0 of the path is {first}, the point after the first step; {start} = {expected} is expected there.

last-row-missing: The path has {rows:row}, one too few for {steps:step}: it ends before the last step.

wrong-number-of-rows: The path has {rows:row}. With {steps:step}, {due} are expected: the start, and a point after each
step.

wrong-dtype: {whose} is {kind}, where a tensor of {dtype} is expected, as x is one. Which dtype has a tensor that is
made of a list of floats?

not-detached: {whose} still requires grad (`requires_grad`), so it keeps the graphs of all its steps in memory. It is a
record of points, from which nothing is derived.
""")


@dataclass(frozen=True)
class Path:
    """A path of points on each rank: row 0 is the start, and each step has one more; `rows` are all finite.

    rows: of a call, the `Points` of each rank, or of one process alone. start: of a call, the point that it begins at.
    steps: of a call, numbers of steps that it may have; the first is the expected one. dtype: of a call, that of x.
    """

    rows: Callable[[Call], Sequence[Points]]
    start: Callable[[Call], Sequence[float]]
    steps: Callable[[Call], Sequence[int]]
    dtype: Callable[[Call], str] = lambda call: "float64"

    def __call__(self, call: Call) -> Wrong | None:
        """What is wrong with the points, with how many there are, and with the first path's start."""
        return self.points(call) or self.number(call) or self.begins(call)

    def points(self, call: Call) -> Wrong | None:
        """What is wrong if there are no points that can be judged: no path, no numbers, or one point alone."""
        paths = self.rows(call)
        for number, path in enumerate(paths):
            if not path.rows:
                return words("not-a-path", whose=whose(number, paths), kind=path.kind)
            if bad := [row for row, point in enumerate(path.rows) if None in point]:
                return words("not-finite", row=bad[0])
        one = next((path.rows for path in paths if len(path.rows) > 2 and len({*path.rows[1:]}) == 1), None)
        return words("rows-all-equal", first=in_words(one[1])) if one else None

    def number(self, call: Call) -> Wrong | None:
        """What is wrong with the number of rows."""
        steps = self.steps(call)
        if not (others := [len(path.rows) for path in self.rows(call) if len(path.rows) - 1 not in steps]):
            return None
        short = others[0] == steps[0]
        if short and (wrong := self.begins(call, "start-missing")):
            return wrong
        key = "last-row-missing" if short else "wrong-number-of-rows"
        return words(key, rows=others[0], steps=steps[0], due=steps[0] + 1)

    def begins(self, call: Call, key: str = "not-from-start") -> Wrong | None:
        """What is wrong with the first path's start, in the words of `key`."""
        paths, start = self.rows(call), self.start(call)
        first = paths[0].rows[0]
        name = "`start`" if len(paths) == 1 else "rank 0's `start`"
        about = {"first": in_words(first), "expected": in_words(start), "start": name}
        return None if NEAR([*first], [*start]) else words(key, **about)

    def dtype_and_history(self, call: Call) -> Wrong | None:
        """What is wrong with the tensors: their dtype is that of x, and they have no autograd history."""
        paths = self.rows(call)
        for number, path in enumerate(paths):
            about = {"whose": whose(number, paths), "kind": path.kind, "dtype": self.dtype(call)}
            if self.dtype(call) not in path.kind:
                return words("wrong-dtype", **about)
            if path.attached:
                return words("not-detached", **about)
        return None


def whose(number: int, paths: Sequence[Points]) -> str:
    """A path in words."""
    return "The path" if len(paths) == 1 else f"Rank {number}'s path"


def in_words(point: Sequence[float | None]) -> str:
    """A point as text."""
    return f"({', '.join('nan' if each is None else f'{each:.6g}' for each in point)})"


def of_path(call: Call, place: Place) -> str:
    """For `Same(where=...)`, of the rows of one path: "Row 3 of the path", "In row 3 of the path, m"."""
    row, *column = place or (0,)
    return f"In row {row} of the path, {'mn'[column[0]]}" if column else f"Row {row} of the path"
