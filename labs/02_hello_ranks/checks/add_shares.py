"""The check of `add_shares`."""

import numpy as np

from autograde.rubric import (
    LOST_DIGITS,
    CallCheck,
    Criterion,
    EachRankReturnsInt,
    Mistakes,
    Same,
    Words,
    argument_unchanged,
    changed,
    first_of,
    has_values,
    nothing_starts_or_ends,
    of_record,
    of_seen,
    on_ranks,
    one_allreduce,
    pieces_in_order,
    through_float,
)

from ..probes import add_shares

BIT = 2**53  # from here on a float64 has no odd numbers

words = Words("""
not-int64-tensor: On rank {rank}, here is `c`: {kind}. It should be an int64 tensor with one dimension, of {n} numbers.
""")


def sums(call):
    """All of a + b."""
    return [a + b for a, b in zip(call.arguments["a"], call.arguments["b"], strict=True)]


def own_places(call):
    """By rank, the places of what it added up."""
    return [{place for place, number in enumerate(c.entries) if number} for c in call.of("c")]


def own_sums(call):
    return [sum(filter(None, c.entries)) for c in call.of("c")]


def c_by_rank(call):
    """What `c` is to be, where it is not 0."""
    right = [*enumerate(sums(call))]
    return [np.array([each if place in own else 0 for place, each in right], int) for own in own_places(call)]


def int64_tensor(call):
    n = len(sums(call))
    for rank, c in enumerate(call.of("c")):
        if (c.kind, c.dtype, c.shape) != ("tensor", "int64", [n]):
            kind = f"{c.kind} of {c.dtype} and shape {c.shape}" if c.is_array else c.kind
            return words("not-int64-tensor", rank=rank, kind=kind, n=n)
    return None


def fair_shares(call):
    return pieces_in_order([*map(sorted, own_places(call))], len(sums(call)))


def everywhere(call):
    return all(len(own) == len(sums(call)) for own in own_places(call))


def c_is_reduced(call):
    """All ranks have all of `c`, as the ranks reduce more than one number."""
    return everywhere(call) and any((event["bytes"] or 0) > 8 for log in call.events for event in log)


def by_local_rank(call):
    """Each rank has the share of its local rank; on one node nobody can tell."""
    on_node, own = call.arguments["local_size"], own_places(call)
    if call.size <= on_node or not any(own):
        return None
    return own == [own[rank % on_node] for rank in range(call.size)] and own[0] != own[1]


def if_several(value):
    """What a mistake gives on several ranks; on one, nobody can tell."""
    return lambda call: value(call) if call.size > 1 else None


def fraction_lost(call):
    """An average was multiplied again: facts for the words."""
    averages = any(event["reduction"] == "AVERAGE" for log in call.events for event in log)
    return averages and TOTAL.lost_digits(call)


def right(call):
    return {each[2].value for each in call.of("results")} == {sum(own_sums(call))}


@of_record
def in_whole_numbers(call):
    floats = any((event["dtype"] or "").startswith("float") for log in call.events for event in log)
    return through_float("The ranks reduce floats") if floats else None


@of_record
def one_of_one_number(call):
    """One all-reduce of one number; without any numbers, it may be left out."""
    needed = call.arguments["a"] or any(call.events)
    return one_allreduce("horovod", right)(call) if needed else None


def cases(rng):
    """Numbers that fill 62 bits in all, as many as divide evenly and not, fewer than ranks, and none."""

    def numbers(n):
        low = 2 * BIT // max(1, n)
        return [rng.randrange(low, 4 * low) | 1 for _ in range(n)]

    def case(size, *lengths):
        return size, *({"a": numbers(n), "b": [2 * x for x in numbers(n)], "local_size": 2} for n in lengths)

    first = case(4, 11, 8, 2), case(3, 13, 8, 0), case(2, 11), case(1, 3)
    return [*first, case(4, 13, 2, 0, rng.randint(17, 24)), case(3, 11, 2, 6)]


C = Same(of_seen("c"), c_by_rank, on_ranks("`c` (0, or a + b)", "number"))
THREE = has_values("`c`, the sum of this share and the sum of all shares", of_seen("results"))
OWN = EachRankReturnsInt(own_sums, lambda call: [each[1] for each in call.of("results")], "the sum of its share")
TOTAL = EachRankReturnsInt(
    lambda call: sum(own_sums(call)), lambda call: [each[2] for each in call.of("results")], "the sum of all shares"
)
SHARES_WRONG = Mistakes(
    """
    c-is-reduced: Your code reduces `c` itself, so afterwards every rank has all of it. Only one number of each rank has
    to be combined: the sum of its share.

    all-of-c-everywhere: Every one of {size:rank} has the whole of `c`. A rank should compute its own share only, and
    have 0 elsewhere.

    share-by-local-rank: On {size:rank}, each rank takes the share of its local rank. The check simulates nodes with
    {local_size:rank} each, on each of which local ranks count from 0. Which number does a rank have among all of them?
    """,
    c_is_reduced=c_is_reduced,
    all_of_c_everywhere=if_several(everywhere),
    share_by_local_rank=by_local_rank,
)
OWN_WRONG = Mistakes(
    f"""
    sum-of-all-as-own: Each rank returns the sum of all shares as the sum of its own. When is that worked out, before
    the reduction or after it?

    {LOST_DIGITS}
    """,
    changed(sum_of_all_as_own=if_several(lambda call: sum(own_sums(call)))),
    digits_lost_in_a_float=OWN.lost_digits,
)
TOTAL_WRONG = Mistakes(
    f"""
    own-sum-only: Each rank returns the sum of its own share as the sum of all shares. Look at what the reduction
    returns.

    average-of-sums: On {{size:rank}}, the sum of all shares is {{actual}}. Expected is {{size}} times as much,
    {{expected}}. What does Horovod's all-reduce do unless you tell it otherwise?

    fraction-lost: On {{size:rank}}, the sum of all shares is {{actual}}, where {{expected}} is expected. It is off by a
    little, since your reduction averages: an average of whole numbers loses its fraction, and no multiplication brings
    that back.

    {LOST_DIGITS}
    """,
    changed(
        own_sum_only=if_several(own_sums),
        # Horovod works an average out in floats, so its last digits are not known.
        average_of_sums=if_several(lambda call: sum(own_sums(call)) / call.size),
    ),
    fraction_lost=fraction_lost,
    digits_lost_in_a_float=TOTAL.lost_digits,
)
FORM = first_of(THREE, int64_tensor)
SHARES = "`c` is an int64 tensor [N] with a + b in this rank's share and 0 elsewhere; `a` and `b` stay as they are"
OWN_SUM = "the first sum is that of the numbers in this share"
REDUCTION = "one all-reduce of one int64, and no other communication. On a single rank it may be left out"
ALL_SUMS = "the second sum is that of all shares, on every rank"
REDUCED = first_of(in_whole_numbers, one_of_one_number, nothing_starts_or_ends)
CHECK = CallCheck.of(
    "add_shares",
    add_shares.PROBE,
    cases,
    Criterion("shares", 0.75, SHARES, first_of(argument_unchanged, FORM, C, fair_shares), SHARES_WRONG),
    Criterion("own-sum", 0.25, OWN_SUM, first_of(FORM, OWN), OWN_WRONG, after=("shares",)),
    Criterion("reduction", 0.5, REDUCTION, REDUCED, after=("shares", "own-sum")),
    Criterion("total", 0.5, ALL_SUMS, first_of(FORM, TOTAL), TOTAL_WRONG, after=("shares", "own-sum", "reduction")),
    repeats=False,
    consolidation="Every rank keeps what it computed, and only one number of each travels. Horovod averages unless it "
    "is told otherwise, and averages of whole numbers lose their fraction.",
)
