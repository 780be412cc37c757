"""Checks of loaders of several ranks: how the samples are shared out, and how they are cut into batches.

A call has `samplers` and `passes`, see `autograde.probes.sampler_passes.passes_of`, one loader for each sampler, and
`batch_size`. A probe shows `passes`: by pass and batch, the numbers of the samples drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from autograde.rubric.judge import Call, once
from autograde.rubric.mistakes import Mistakes, changed
from autograde.rubric.sampling.shares import evenly
from autograde.rubric.values.same import Difference, Same, on_ranks, shown
from autograde.rubric.words import Words, Wrong

words = Words("""
wrong-batches: On rank {rank}, the batches have the sizes {actual}, where `batch_size` is {batch_size}: expected are
{expected}. What cuts a rank's share into batches, and what was it given?
""")


def samples(call: Call) -> int:
    """How many there are."""
    return call.arguments["samplers"][0][0]


@once
def drawn_samples(call: Call) -> list[list[list[int | None]]]:
    """By rank and pass, the samples."""
    return [[[*chain.from_iterable(each)] for each in own] for own in call.of("passes")]


def sizes(call: Call) -> list[list[list[int]]]:
    """By rank and pass, the sizes of the batches."""
    return [[[*map(len, each)] for each in own] for own in call.of("passes")]


def cut(count: int, batch: int, keep: bool = True) -> list[int]:
    """Sizes of the batches into which samples are cut. keep: also a smaller one at the end."""
    rest = [count % batch] if keep and count % batch else []
    return [batch] * (count // batch) + rest


def counts(call: Call) -> list[list[int]]:
    """By pass and rank, how many samples are drawn."""
    return [[*map(len, each)] for each in zip(*drawn_samples(call), strict=True)]


def last_dropped(call: Call, counted: Sequence[int]) -> bool:
    """Whether all ranks draw so many samples as a share has in full batches, and no more. counted: by rank."""
    share, batch = -(-samples(call) // call.size), call.arguments["batch_size"]
    return share % batch > 0 and {*counted} == {share - share % batch}


def batches(call: Call, batch: int | None = None, keep: bool = True) -> list[list[list[int]]]:
    """By rank and pass, the sizes of batches of what is drawn: of a share without its last batch, with that."""
    batch, share = batch or call.arguments["batch_size"], -(-samples(call) // call.size)
    due = [[share] * call.size if last_dropped(call, each) else each for each in counts(call)]
    return [[cut(count, batch, keep) for count in own] for own in zip(*due, strict=True)]


def wrong_batches(call: Call, off: Difference) -> Wrong | None:
    """The words for the sizes of a pass."""
    rank, number = off.place[:2]
    actual, expected = shown(sizes(call)[rank][number]), shown(batches(call)[rank][number])
    return words("wrong-batches", rank=rank, actual=actual, expected=expected, **call.arguments)


def shared_evenly(call: Call) -> Wrong | None:
    """In each pass all samples are drawn, and by all ranks equally many; that a last batch is missing is judged by
    itself."""
    for counted, shares in zip(counts(call), zip(*drawn_samples(call), strict=True), strict=True):
        if not last_dropped(call, counted) and (wrong := evenly(samples(call), shares)):
            return wrong
    return None


# Mistakes of those who cut batches of another size, or leave out the last one.
CUT = Mistakes(
    """
    batch-size-divided: The batches of a rank have the sizes {actual}, where `batch_size` is {batch_size}. That number
    is for one rank, not for all together.

    last-batch-dropped: With {size:rank}, the batches of a rank have the sizes {actual}: its last batch, which is
    smaller, is left out.
    """,
    changed(
        batches,
        batch_size_divided={"batch": lambda call: max(1, call.arguments["batch_size"] // call.size)},
        last_batch_dropped={"keep": False},
    ),
)
# Judge: each rank's samples are cut into batches of `batch_size`, and a smaller one in the end.
in_batches = Same(sizes, batches, on_ranks("the sizes of batches", "pass", "batch"), otherwise=wrong_batches)
