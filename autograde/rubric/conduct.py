"""Judges of how a function behaves to whoever calls it: arguments, results, libraries."""

from __future__ import annotations

from autograde.rubric.judge import Call, first_of
from autograde.rubric.words import Ranks, Words, Wrong

words = Words("""
argument-changed: After the call, `{which}` is not what it was before. Whoever called your function still needs it: work
on a copy.

result-overwritten: What {who:returns|return} is changed by a later call of your function: both use the same memory.
Whoever called it first still needs that result. Which array is kept from one call to the next?

memory-of-the-argument: What {who:returns|return} shares its memory with the argument `{which}`. Whoever changes the one
changes the other: return an array that does not.

starts-or-ends: Your function calls {calls}. The libraries are running before and after it, and it has to work again and
again. Leave starting and ending to whoever calls it.
""")


def argument_unchanged(call: Call) -> Wrong | None:
    """Each argument is after the call what it was before. The probe names them by `rank.argument`."""
    names = sorted({name for of_rank in call.changed for name in of_rank})
    return words("argument-changed", which=names[0]) if names else None


def result_stays(call: Call) -> Wrong | None:
    """No later call changes what this one returned. The probe hands results over by `rank.returned`."""
    return words("result-overwritten", who=Ranks(call.overwritten)) if call.overwritten else None


def memory_not_shared(call: Call) -> Wrong | None:
    """The array in `result` shares no memory with the arguments that the probe names to `rank.returned`."""
    ranks = [rank for rank, seen in enumerate(call.seen) if seen.result.shares]
    if not ranks:
        return None
    return words("memory-of-the-argument", who=Ranks(ranks), which=call.seen[ranks[0]].result.shares[0])


def arrays_stay(call: Call) -> Wrong | None:
    """Arguments stay as they are, and the result is an array of its own, which stays, too."""
    return first_of(argument_unchanged, memory_not_shared, result_stays)(call)


def nothing_starts_or_ends(call: Call) -> Wrong | None:
    """No library (MPI, torch's process group, Horovod) is started or ended."""
    calls = sorted({each for of_rank in call.tried for each in of_rank})
    return words("starts-or-ends", calls=calls) if calls else None
