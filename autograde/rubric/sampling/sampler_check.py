"""Checks of samplers of several ranks: the orders in which they yield samples, and what else they do.

A probe shows what `autograde.probes.sampler_passes` sees of a plan of passes over samplers of one size: `passes`,
`drawn` and `derived`, and on rank 0 perhaps `other` and `error`, of another process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograde.probes.sampler_passes import Ids as ListedIds
from autograde.probes.sampler_passes import Pass, Passes, generators_after
from autograde.rubric.judge import Call, once
from autograde.rubric.mistakes import Mistakes
from autograde.rubric.sampling.orders import ROTATED, Orders
from autograde.rubric.values.rounding import EXACT
from autograde.rubric.words import Words, Wrong

words = Words("""
not-a-list: The function returns a value of type {type}, where a list is expected.

not-ints: Some samples are of type {kinds}, where ints are expected. Other code may look them up in a dictionary, or
write them to a file.

length-of-the-whole-set: `len` of a rank's sampler is {length}, and the sampler yields {n:sample}. That is the length of
the whole data set. A `DataLoader` works out its number of batches from it.

wrong-length: `len` of a rank's sampler is {length}, but the sampler yields {n:sample}.

not-a-sampler: The class is not derived from torch.utils.data.Sampler.

disturbs-generators: Using the sampler changes the state of the global random generator of {which}. Dropout and
augmentation draw from it: they would draw other numbers than without the sampler, and where it is seeded, the same on
all ranks in each epoch.

another-process-differs: With the same seed and place, the sampler of a process that starts later {does}. A run that is
resumed there would not get the batches of its epoch. What in your code differs from process to process?
""")


@once
def orders(call: Call) -> Orders:
    """What the samplers yielded."""
    yielded = [[each.ids for each in own] for own in call.of("passes")]
    return Orders(call.arguments["samplers"], call.arguments["passes"], yielded)


def fits_plan(case: dict, arguments: dict, seen: Passes) -> bool:
    """Whether there is a pass for each in the plan, and three generators: a check's `fits`."""
    others = seen.other or []
    shapes = [len(seen.passes), *map(len, others)]
    return len(seen.drawn) == 3 and {*shapes} == {len(arguments["passes"])} and len(others) in (0, case["size"])


def elsewhere(call: Call) -> Wrong | None:
    """Another process has the same orders."""
    other, here = call.seen[0].other, [[each.ids for each in own] for own in call.of("passes")]
    if not call.arguments["salt"] or other == here:
        return None
    does = "draws another order" if other else f"fails ({call.seen[0].error or 'it gives no answer'})"
    return words("another-process-differs", does=does)


@once
def shares(call: Call) -> Wrong | None:
    """What is wrong with how the orders are shared out."""
    return orders(call).shares()


def on_other_ranks(call: Call) -> Wrong | None:
    """Another number of ranks has the same orders."""
    wrong = shares(call)
    return wrong if wrong is not None and wrong.key == "depends-on-size" else None


def shared_out(call: Call) -> Wrong | None:
    """Ranks share each order; that it is another one with other ranks is judged elsewhere."""
    return None if on_other_ranks(call) else shares(call)


def generators(call: Call) -> Wrong | None:
    """The global generators have not moved."""
    for rank, drawn in enumerate(call.of("drawn")):
        untouched = generators_after(call.arguments["luck"] + rank)
        if which := [name for name, one in zip(untouched, drawn, strict=True) if not EXACT(one, untouched[name])]:
            return words(
                "disturbs-generators", which=["Python's `random`" if each == "random" else each for each in which]
            )
    return None


def ints_and_length(call: Call) -> Wrong | None:
    """Ints, as many as `len` says, from a Sampler of torch's."""
    return ints_and_length_of(call, [each for own in call.of("passes") for each in own])


def begun_anew(call: Call) -> Wrong | None:
    """The same, but for passes that yield nothing because each begins where the one before it has ended."""
    every = [each for own in call.of("passes") for each in own]
    return ints_and_length_of(call, [each for each in every if each.ids] if orders(call).emptied else every)


def ints_and_length_of(call: Call, every: Sequence[Pass]) -> Wrong | None:
    """What is wrong with the ints in these passes, and their number."""
    for each in every:
        if each.length != len(each.ids):
            whole = each.length == call.arguments["samplers"][0][0]
            key = "length-of-the-whole-set" if whole else "wrong-length"
            return words(key, length=each.length, n=len(each.ids))
    return not_ints(every) or (None if all(call.of("derived")) else words("not-a-sampler"))


def repeated(call: Call) -> Wrong | None:
    """Orders follow from the seed and the epoch alone."""
    return orders(call).repeats() or orders(call).shuffled() or on_other_ranks(call) or elsewhere(call)


# Mistakes of those whose orders are made from one another.
ROTATION = Mistakes(
    ROTATED,
    only_rotated=lambda call: orders(call).rotated(2),
    only_rotated_by_seed=lambda call: orders(call).rotated(1),
)


def drawn_anew(call: Call) -> Wrong | None:
    """Each epoch and each seed has an order of its own."""
    return orders(call).shuffled() or orders(call).anew()


def not_a_list(types: Iterable[str]) -> Wrong | None:
    """What is wrong if a value is no list. types: of values."""
    other = next((each for each in types if each != "list"), None)
    return words("not-a-list", type=other) if other else None


def not_ints(lists: Iterable[ListedIds]) -> Wrong | None:
    """What is wrong if lists hold what is no int."""
    kinds = sorted({kind for each in lists for kind in each.kinds})
    return words("not-ints", kinds=kinds[:3]) if kinds else None
