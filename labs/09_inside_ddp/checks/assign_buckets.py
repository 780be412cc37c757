"""The check of `assign_buckets`: sizes that fill buckets just so, too much, and in part."""

from autograde.rubric import (
    Call,
    CallCheck,
    Criterion,
    Mistakes,
    Same,
    Words,
    changed,
    first_of,
    given,
    lacking,
    of_call,
)

from ..probes import assign_buckets

sizes, limit = of_call("sizes"), of_call("limit")
words = Words("""
no-buckets: Your function returns {kind}. A list of lists of indices is expected.

sizes-altered: After the call, `sizes` is not what it was before.

other-buckets: The buckets are {actual}. Expected are {expected}.
""")


def backwards(call):
    return range(len(sizes(call)))[::-1]


def filled(call, order=None, ahead=1, less=0, weighed=True):
    """Buckets filled one after the other. order: of the indices. ahead: how much the size of the next one counts when a
    bucket is closed; less: than the limit. weighed: whether the first one in a new bucket counts."""
    buckets, weight = [], 0
    for index in backwards(call) if order is None else order:
        size = sizes(call)[index]
        if not buckets or weight + ahead * size > limit(call) - less:
            buckets.append([])
            weight = 0 if weighed or not buckets[1:] else -size
        buckets[-1].append(index)
        weight += size
    return buckets


def first_fit(call):
    buckets = []
    for index in backwards(call):
        room = [each for each in buckets if sum(sizes(call)[i] for i in [*each, index]) <= limit(call)]
        if not room:
            buckets.append([])
        (room or buckets[-1:])[0].append(index)
    return buckets


def by_count(call, count):
    order = [*backwards(call)]
    return [order[start : start + count] for start in range(0, len(order), count)]


def in_any_order(call, buckets=None, **changes):
    return sorted(map(sorted, filled(call, **changes) if buckets is None else buckets))


def are_buckets(call):
    kind = call.seen[0].kind
    return words("no-buckets", kind=kind) if kind else None


def unaltered(call):
    return words("sizes-altered") if call.seen[0].altered else None


def where(call, place):
    return "what your function returns"


def other_buckets(call, off):
    return words("other-buckets", actual=str(call.seen[0].buckets), expected=str(filled(call)))


MISTAKES = changed(
    filled,
    first_to_last=[
        {"order": lambda call: backwards(call)[::-1]},
        lambda call: filled(call)[::-1],
        lambda call: [bucket[::-1] for bucket in filled(call)[::-1]],
    ],
    ascending_in_buckets=lambda call: [bucket[::-1] for bucket in filled(call)],
    last_bucket_lost=lambda call: filled(call)[:-1],
    closed_when_reached=[{"ahead": 0, "less": 1}, {"ahead": 0}],
    closed_before_the_limit={"less": 1},
    sorted_by_size=[
        {"order": lambda call, step=step: sorted(backwards(call)[::-1], key=sizes(call).__getitem__)[::step]}
        for step in (1, -1)
    ],
    looks_for_room=first_fit,
    counted_not_weighed=[lambda call, n=n: by_count(call, n) for n in (1, 2, 3)],
    first_one_not_weighed={"weighed": False},
)
FILLED = Mistakes(
    """
    first-to-last: The buckets are {actual}: from the first gradient to the last. A backward pass comes by from the last
    to the first.

    ascending-in-buckets: The buckets are {actual}. Within a bucket, too, indices go from the last to the first.

    last-bucket-lost: The buckets are {actual}: the last one is missing.

    closed-when-reached: The buckets are {actual}. A bucket is closed here once it has reached the limit. The gradient
    that would make it larger than the limit belongs to the next one.

    closed-before-the-limit: The buckets are {actual}. A bucket may be just as large as the limit.

    sorted-by-size: The buckets are {actual}. Gradients are taken by size here; they are ready in another order.

    looks-for-room: The buckets are {actual}. A gradient goes into a bucket that was begun before the latest one: that
    bucket would have to wait for it.

    counted-not-weighed: The buckets are {actual}: each has the same number of gradients, whatever their bytes.

    first-one-not-weighed: The buckets are {actual}. Where a new bucket begins, its first gradient is in it, and its
    bytes are not counted.
    """,
    MISTAKES,
)
EDGES = Mistakes(
    """
    empty-bucket: The buckets are {actual}: one of them is empty. What does the first bucket look like before anything
    is in it?

    large-one-left-out: The buckets are {actual}. A gradient that is larger than the limit is missing. It has a bucket
    of its own.
    """,
    changed(
        in_any_order,
        empty_bucket=[
            lambda call: in_any_order(call, [[], *filled(call)] if sizes(call)[-1:] > [limit(call)] else None),
            lambda call: in_any_order(call, filled(call) or [[]]),
        ],
        large_one_left_out={"order": lambda call: [i for i in backwards(call) if sizes(call)[i] <= limit(call)]},
    ),
)


def cases(rng):
    """Random sizes, of which the last two fill a bucket just so, and which tell all mistakes apart; and then none, and
    some that are too large."""

    def drawn():
        unit = rng.randrange(4, 40) * 4
        sizes = [rng.randrange(1, 5) * unit for _ in range(rng.randrange(6, 9))]
        return {"sizes": [*sizes, 2 * unit, 2 * unit, 5 * unit, unit], "limit": 6 * unit, "edge": False}

    def telling():
        while True:
            call = Call({}, 0, drawn(), [])
            forms = [value for sign in MISTAKES(call).values() for value in sign().values]
            if filled(call) not in forms:
                return call.arguments

    large, less = rng.randrange(60, 99) * 4, rng.randrange(30, 40) * 4
    edges = [], [large], [large, less], [less, large, less + 4]
    yield None, *(telling() for _ in range(8)), *({"sizes": each, "limit": 220, "edge": True} for each in edges)


CHECK = CallCheck.of(
    "assign_buckets",
    assign_buckets.PROBE,
    cases,
    Criterion(
        "filled",
        1.25,
        "buckets are filled from the last gradient to the first, each as far as `limit` allows",
        first_of(are_buckets, Same(lambda call: call.seen[0].buckets, filled, where, otherwise=other_buckets)),
        FILLED,
        on=lacking("edge"),
    ),
    Criterion(
        "edges",
        0.5,
        "a gradient that is larger than `limit` has a bucket of its own, and no bucket is empty",
        first_of(
            are_buckets,
            Same(lambda call: in_any_order(call, call.seen[0].buckets), in_any_order, where, otherwise=other_buckets),
        ),
        EDGES,
        on=given("edge"),
        after=("filled",),
    ),
    Criterion("argument", 0.25, "`sizes` stays as it is", unaltered),
    inputs=("sizes", "limit"),
    repeats=False,
    consolidation="A bucket joins what is ready at about the same time. Large buckets save latency, and small ones "
    "leave earlier.",
)
