"""The check of `swap`."""

from autograde.rubric import (
    MESSAGES,
    CallCheck,
    Criterion,
    EachRankReturnsArray,
    Mistakes,
    Words,
    arrays_stay,
    changed,
    first_of,
    messages_between,
    partners,
    unbuffered,
    unchanged_under_way,
    wrong_group,
)

from ..probes import swap
from ..shared.drawn import array_of_rank

OTHER_PARTNER = """
other-partner: Rank {one} exchanges a message with rank {other}. Its partner is rank {partner}: ranks 0 and 1 are
partners, 2 and 3, and so on.
"""
words = Words(f"""
{OTHER_PARTNER}

partner-is-no-rank: On {{size:rank}}, {{who:uses|use}} the number of a rank that is not there. Ranks 0 and 1 are
partners, 2 and 3, and so on. Does every rank have a partner?
""")


def partner_of(rank, size):
    """The last of an odd number of ranks has itself only."""
    return rank ^ 1 if rank ^ 1 < size else rank


def arrays(call, step=0):
    """By rank, the array of the rank so many places further on."""
    return [array_of_rank(call.arguments, (rank + step) % call.size) for rank in range(call.size)]


def partners_arrays(call):
    own = arrays(call)
    return [own[partner_of(rank, call.size)] for rank in range(call.size)]


def both_ways(call):
    return {(rank, partner_of(rank, call.size)) for rank in range(call.size)}


def stranger(logs):
    """The first rank that exchanges a message with another than its partner, as facts; None if none does, or where
    ranks communicate otherwise. logs: events by rank."""
    if any(event["kind"] not in MESSAGES for log in logs for event in log):
        return None
    for rank, log in enumerate(logs):
        partner = partner_of(rank, len(logs))
        others = {other for event in log for other in partners(event)} - {rank, partner}
        if others and partner != rank:
            return {"one": rank, "other": min(others), "partner": partner}
    return None


def broke_off(run):
    """Ranks that exchange with others than their partners, in the group that they are given."""
    if wrong_group(run.events):
        return None
    astray = [rank for rank, error in run.errors.items() if "MPI_ERR_RANK" in error]
    if wrong := words.on_ranks("partner-is-no-rank", astray, run.report, size=len(run.ranks)):
        return wrong
    facts = None if run.full else stranger(run.of_call(run.reached))
    return words("other-partner", run.report, **facts) if facts else None


def cases(rng):
    """Few numbers, of several shapes and kinds; an odd rank out. Then few and many, with sends that wait."""
    few, table, large = ([3], "float64"), ([4, 5], "int32"), ([200, 200], "float32")
    number, empty, many = ([], "float64"), ([0], "int64"), ([40_000], "float64")

    def call(*pairs, **more):
        return {"pairs": [{"shape": shape, "dtype": dtype, "most": 900_000} for shape, dtype in pairs], **more}

    waits = {"sends_wait": True}
    return [
        ([0, 1, 2, 3], call(few, table), call(number, empty)),
        ([2, 0, 3], call(table, few)),
        ([3, 1], call(table), call(empty)),
        ([1], call(table), call(number)),
        ([3, 1, 0, 2], call(many, large, **waits), call(table, number, **waits)),
        ([1, 2, 0], call(many, table, **waits), call(empty, large, **waits)),
        ([3, 1], call(large, **waits)),
    ]


ARRAYS = EachRankReturnsArray(partners_arrays)
MISTAKES = Mistakes(
    f"""
    own-array-back: Each rank returns the array that it had, not that of its partner. What does your code receive, and
    what does it return?

    ring-not-pairs: Each rank returns the array of a neighbour in a ring, in which all ranks pass on in one direction.
    Here they are in pairs: 0 and 1, 2 and 3, and so on.

    {OTHER_PARTNER}
    """,
    changed(own_array_back=arrays),
    # A neighbour's array may be of another dtype, and then it is not compared.
    ring_not_pairs=lambda call: any(ARRAYS.gives(call, arrays(call, step)) for step in (1, -1)),
    other_partner=lambda call: None if call.size < 2 else stranger(call.events) or False,
)
RETURNED = "each rank returns its partner's array; a last rank without a partner returns a copy of its own"
SENT = "each of two partners sends one message to the other; nothing else is communicated"
NEW = "the result is a new array; `array` stays as it is, and they share no memory"
ONE_EACH = first_of(messages_between(both_ways, "partners", least=1), unchanged_under_way)
PARTNER = Criterion("partner", 1, RETURNED, ARRAYS, MISTAKES)
CHECK = CallCheck.of(
    "swap",
    swap.PROBE,
    cases,
    PARTNER,
    Criterion("messages", 0.5, SENT, ONE_EACH, after=("partner",)),
    Criterion("new-array", 0.5, NEW, arrays_stay),
    unbuffered(1, of=PARTNER),
    broke_off=broke_off,
    consolidation="Two that send first, or receive first, wait for each other. Sendrecv does both at once, and so is "
    "safe with any number of bytes.",
)
