"""The check of `ResumableSampler`: the orders of whole epochs, and what is left of them from some place on."""

from itertools import chain, cycle, islice
from types import SimpleNamespace

from autograde.rubric import (
    ROTATED,
    CallCheck,
    Criterion,
    Mistakes,
    Orders,
    Same,
    Words,
    changed,
    elsewhere,
    first_of,
    fits_plan,
    generators,
    ints_and_length,
    lacking,
    on_ranks,
    once,
    turns,
)

from ..probes import ResumableSampler

words = Words("""
passes-share-a-place: A pass is under way when another one begins, and does not go on as it had begun: rank {rank} gets
{actual}, not {expected}. A `DataLoader` with workers draws ahead. What do your passes have in common?

another-order-alone: A sampler of a single rank draws another order on rank {rank} than on rank 0. What goes into it
that differs between ranks?

other-rest: From {place} of {n:sample}, the {size:rank} draw {actual}; what is left of the epoch's order is {rest}.
""")


@once
def plan(call):
    """all: the orders of all passes; alone: of those of a single rank; rests: of each other pass, the epoch's order,
    its place, and what each rank draws."""
    samplers, yielded = call.arguments["samplers"], [[each.ids for each in own] for own in call.of("passes")]
    passes = [(which, place and tuple(place)) for which, place, *_ in call.arguments["passes"]]
    orders = Orders(samplers, passes, yielded, "set_position", (0, 0))
    alone = [at for at, key in enumerate(orders.keys) if key[0]]
    epochs = [(passes[at][0], orders.keys[at][2][0]) for at in alone]
    whole = Orders(samplers, epochs, [[own[at] for at in alone] for own in yielded])
    rests = [
        (whole.by_key.get((True, seed, place[0]), [[]])[0], place, [*map(list, shares)])
        for (on_one, seed, place), shares in zip(orders.keys, orders.yielded, strict=True)
        if not on_one
    ]
    return SimpleNamespace(all=orders, alone=whole, rests=rests)


@once
def whole_orders(call):
    """What is wrong with the orders of single ranks: each has all samples, and is the same on all ranks."""
    for by_rank in plan(call).alone.by_key.values():
        if other := [rank for rank, own in enumerate(by_rank) if own != by_rank[0]]:
            return words("another-order-alone", rank=other[0])
        if wrong := plan(call).alone.incomplete(by_rank[:1]):
            return wrong
    return None


def dealing(deal):
    """Of a call, what the ranks draw in each pass where `deal(order, consumed, size)` gives their shares."""

    def drawn(call):
        rests = [] if whole_orders(call) else plan(call).rests
        return [deal([*order], consumed, call.size) for order, (_, consumed), _ in rests] or None

    return drawn


def dealt(order, rest, size):
    """Every size-th of the rest, padded from the order's start."""
    each = -(-len(rest) // size)
    padded = [*islice(chain(rest, cycle(order)), each * size)] if rest else []
    return [padded[rank::size] for rank in range(size)]


def in_blocks(order, rest, size):
    row = turns(dealt(order, rest, size))
    each = len(row) // size
    return [row[each * rank : each * (rank + 1)] for rank in range(size)]


def in_another_order(call):
    """Whether what is drawn is what is left, wherever it is; None where that cannot be told."""
    rests = [] if whole_orders(call) else plan(call).rests
    pairs = [(turns(shares), [*order[place[1] :]]) for order, place, shares in rests]
    return all(sorted(map(str, row[: len(due)])) == sorted(map(str, due)) for row, due in pairs) if pairs else None


def shown(ids):
    text = str([*ids])
    return text if len(text) <= 120 else text[:120] + "..."


def other_rest(call, off):
    order, (epoch, consumed), shares = plan(call).rests[off.place[0]]
    rest, n = order[consumed:], plan(call).alone.n
    about = {"place": f"(epoch {epoch}, consumed {consumed})", "n": n, "size": call.size, "consumed": consumed}
    about |= {"counts": [*map(len, shares)], "dropped": len(rest) % call.size, "rest": shown(rest)}
    return words("other-rest", actual=shown(shares), **about)


REST = Same(
    lambda call: [shares for *_, shares in plan(call).rests],
    dealing(lambda order, consumed, size: dealt(order, order[consumed:], size)),
    on_ranks("the share"),
    otherwise=other_rest,
)
MISTAKES = Mistakes(
    """
    consumed-ignored: From {place} of {n:sample}, the ranks draw the whole epoch. Its first {consumed} entries are done.

    dealt-first-then-skipped: From {place} of {n:sample}, the ranks draw {actual}; the rest of the epoch's order is
    {rest}. You seem to deal out the whole epoch and skip then. What if other ranks, more or fewer, have done the first
    part?

    rest-of-own-samples: From {place} of {n:sample} on {size:rank}, more are left out than are done: `consumed` counts
    the samples of all ranks together.

    unequal-lengths: From {place} of {n:sample}, the ranks draw {counts} samples. All need equally many: whoever makes
    one more step waits for the others.

    end-of-the-rest-dropped: From {place} of {n:sample}, {dropped} at the end of the epoch are drawn by nobody.

    padded-from-the-rest: From {place} of {n:sample}, what pads the ranks' shares does not come from the epoch's start:
    the ranks draw {actual}.

    blocks-not-turns: From {place} of {n:sample}, each rank takes a block of the rest. It should take one of every
    {size} entries.

    begins-again: From {place} of {n:sample} nothing is left, and the ranks draw {actual}.

    rest-shuffled-anew: From {place}, the right samples come in another order than in the epoch. A second resume, from
    further on, would find others done than were.
    """,
    changed(
        consumed_ignored=dealing(lambda o, c, size: dealt(o, o, size)),
        dealt_first_then_skipped=[
            dealing(lambda o, c, size: [own[c // size :] for own in dealt(o, o, size)]),
            dealing(lambda o, c, size: [own[-(-c // size) :] for own in dealt(o, o, size)]),
        ],
        rest_of_own_samples=dealing(lambda o, c, size: dealt(o, o[c * size :], size)),
        unequal_lengths=dealing(lambda o, c, size: [o[c + rank :: size] for rank in range(size)]),
        end_of_the_rest_dropped=dealing(
            lambda o, c, size: [o[c + rank : len(o) - len(o[c:]) % size : size] for rank in range(size)]
        ),
        padded_from_the_rest=dealing(lambda o, c, size: dealt(o[c:], o[c:], size)),
        blocks_not_turns=dealing(lambda o, c, size: in_blocks(o, o[c:], size)),
        begins_again=dealing(lambda o, c, size: dealt(o, o[c % len(o) :], size)),
    ),
    rest_shuffled_anew=in_another_order,
)
ROTATION = Mistakes(
    ROTATED,
    only_rotated=lambda call: plan(call).alone.rotated(2),
    only_rotated_by_seed=lambda call: plan(call).alone.rotated(1),
)


def under_way(call):
    """Two passes at a time are as they are one after the other."""
    orders = plan(call).all
    for rank, passes in enumerate(call.of("passes") if call.arguments["overlaps"] else ()):
        for each, key in zip(passes, orders.keys, strict=True):
            first = passes[orders.first[key]]
            if each.ids != first.ids:
                return words("passes-share-a-place", rank=rank, actual=shown(each.ids), expected=shown(first.ids))
            if each.length != first.length:
                about = {"actual": f"{each.length} samples by `len`", "expected": str(first.length)}
                return words("passes-share-a-place", rank=rank, **about)
    return None


def cases(rng):
    """Places that are multiples of the ranks and others, the last sample, the end and behind it; few samples.

    A call has passes over samplers of one size, see `autograde.probes.sampler_passes`; `overlaps` says whether some are
    under way when others begin."""

    def calls(size, samples, salt=0):
        seed, samplers, passes = rng.randrange(1, 10**6), [], []
        one, two = rng.sample(range(1, 60), 2)

        def add(alone, seed, *places):
            passes.extend([len(samplers), place] for place in places)
            samplers.append([samples, alone, seed])

        odd = [count for count in range(1, samples) if count % size] or [1]
        some = sorted({rng.choice(odd), rng.choice(odd), samples - 1, min(samples, size), samples // 2})
        for each in (seed, seed + 1, None):
            add(True, each, None, [0, 0], [one, 0], [two, 0])
        add(True, 0, None)
        behind = [samples, samples + 1, 3 * samples + 2]
        add(False, seed, None, None, *([one, count] for count in some), [two, 0], [two, some[0]])
        add(False, seed, *([two, count] for count in behind), [one, some[0]], [one, some[0]], None)
        add(False, seed, [0, some[-1]], [0, 0])
        about = {"samplers": samplers, "passes": passes, "salt": salt, "overlaps": False}
        here, there = [one, some[0]], [two, some[-1]]
        plan = [[0, place] for place in (here, there, here, there, here, None, there)]
        plan[2] += [1]  # as a loader with workers draws ahead
        plan[4] += [1]
        overlapping = {"samplers": [[samples, False, seed]], "passes": plan, "salt": 0, "overlaps": True}
        return [{**each, "luck": rng.randrange(10**6)} for each in (about, overlapping)]

    sizes = [(4, [4 * rng.randint(4, 7) + 2, 2], 0), (3, [3 * rng.randint(4, 8) + 1, 5], rng.randrange(1, 2**31))]
    sizes += [(1, [13, 1], 0), (2, [2 * rng.randint(8, 12) + 1], 0)]
    return [
        {"size": size, "calls": [call for n in few for call in calls(size, n, salt if n == few[0] else 0)]}
        for size, few, salt in sizes
    ]


ALONE = lacking("overlaps")
FOLLOWS = (
    "the permutation follows from `seed` and epoch and from nothing else, in any process; a second pass is the same as "
    "the first"
)
ANEW = "in each epoch there is one random permutation of all samples, for all ranks"
SHARES = (
    "of the rest, rank r takes every size-th entry, from the r-th on. Where ranks would have one entry less than "
    "others, dealing goes on from the first entry of the whole epoch's permutation (not of the rest): all have equally "
    "many, and none where nothing is left"
)
PASSES = (
    "a pass that is under way goes on as it began, whatever is called meanwhile: a DataLoader with workers draws "
    "ahead. The global random generators of Python, numpy and torch are left alone"
)

CHECK = CallCheck.of(
    "ResumableSampler",
    ResumableSampler.PROBE,
    cases,
    Criterion("follows", 0.75, FOLLOWS, lambda call: plan(call).all.repeats() or elsewhere(call), on=ALONE),
    Criterion(
        "anew", 0.75, ANEW, lambda call: plan(call).alone.shuffled() or plan(call).alone.anew(), ROTATION, on=ALONE
    ),
    Criterion("rest", 1.5, SHARES, first_of(whole_orders, REST), MISTAKES, on=ALONE, after=("follows",)),
    Criterion("passes", 0.5, PASSES, first_of(under_way, generators), after=("follows",)),
    Criterion("ints", 0.5, "it yields ints, as many as `len` says", ints_and_length, on=ALONE),
    fits=fits_plan,
    consolidation="A place in an epoch is a number of samples, not of steps or of a rank's own: then any number of "
    "ranks can go on from it. The sampler is told its place, because only the training knows what is done.",
)
