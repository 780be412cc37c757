"""The check of `ResumableSampler`: the orders of whole epochs, and what is left of them from some place on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import chain, cycle, islice

from autograde.probes.sampler_passes import Passes
from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Mistakes, MistakesGiving, first_of, once
from autograde.rubric.judges.shares import turns
from autograde.rubric.sampler_check import ROTATED, Orders, elsewhere, fits_plan, generators, ints_and_length
from autograde.rubric.words import Words, Wrong

from ..probes import ResumableSampler as probe

Shares = list[list[int | None]]  # by rank
words = Words("""
passes-share-a-place: A pass is under way when another one begins, and does not go on as it had begun: rank {rank} gets
{actual}, not {expected}. A `DataLoader` with workers draws ahead. What do your passes have in common?

another-order-alone: A sampler of a single rank draws another order on rank {rank} than on rank 0. What goes into it
that differs between ranks?

other-rest: From {place} of {n:sample}, the {size:rank} draw {actual}; what is left of the epoch's order is {rest}.
""")


class Plan:
    """The passes of a call. orders: by seed and epoch, that of a single rank. places, shares: of all other passes."""

    def __init__(self, call: Call) -> None:
        samplers = call.arguments["samplers"]
        self.passes = [(which, place and tuple(place)) for which, place, *_ in call.arguments["passes"]]
        self.yielded = [[each.ids for each in own] for own in call.of("passes")]
        self.all = Orders(samplers, self.passes, self.yielded, "set_position", (0, 0))
        alone = [at for at, key in enumerate(self.all.keys) if key[0]]
        passes = [(self.passes[at][0], self.all.keys[at][2][0]) for at in alone]
        self.alone = Orders(samplers, passes, [[own[at] for at in alone] for own in self.yielded])
        self.orders = {key[1:]: by_rank[0] for key, by_rank in self.alone.by_key.items()}
        self.rests = [(at, *key[1:]) for at, key in enumerate(self.all.keys) if not key[0]]

    def right(self, deal: Callable[[list, int], Shares]) -> list[Shares]:
        """By pass, each rank's share, where `deal(order, consumed)` gives the shares."""
        return [deal([*self.orders[seed, place[0]]], place[1]) for _, seed, place in self.rests]

    @property
    def shares(self) -> list[Shares]:
        """By pass, what each rank drew."""
        return [[[*own] for own in self.all.yielded[at]] for at, *_ in self.rests]


@once
def plan_in(call: Call) -> Plan:
    """The passes of a call."""
    return Plan(call)


def dealt(order: Sequence, rest: Sequence, size: int) -> Shares:
    """Each rank's share of the rest: every size-th, padded from the order's start."""
    each = -(-len(rest) // size)
    padded = [*islice(chain(rest, cycle(order)), each * size)] if rest else []
    return [padded[rank::size] for rank in range(size)]


def blocks(shares: Shares) -> Shares:
    """What was dealt out in turns, in blocks."""
    row, each = turns(shares), len(shares[0])
    return [row[each * rank : each * (rank + 1)] for rank in range(len(shares))]


def shown(ids: Sequence) -> str:
    """The beginning of a list, as text."""
    text = str([*ids])
    return text if len(text) <= 120 else text[:120] + "..."


def whole_orders(call: Call) -> Wrong | None:
    """What is wrong with the orders that single ranks draw: each has all samples, and it is the same on all ranks."""
    alone = plan_in(call).alone
    for by_rank in alone.by_key.values():
        if other := [rank for rank, own in enumerate(by_rank) if own != by_rank[0]]:
            return words("another-order-alone", rank=other[0])
        if wrong := alone.incomplete(by_rank[:1]):
            return wrong
    return None


def rest(call: Call) -> Wrong | None:
    """The shares of what is left, of the first pass in which they are wrong."""
    plan, size = plan_in(call), call.size
    if wrong := whole_orders(call):
        return wrong
    right = plan.right(lambda order, consumed: dealt(order, order[consumed:], size))
    for (_, seed, place), actual, expected in zip(plan.rests, plan.shares, right, strict=True):
        if actual != expected:
            left = plan.orders[seed, place[0]][place[1] :]
            about = {"place": f"(epoch {place[0]}, consumed {place[1]})", "n": plan.alone.n, "consumed": place[1]}
            about |= {"counts": [*map(len, actual)], "dropped": len(left) % size, "rest": shown(left)}
            return words("other-rest", compared=True, size=size, actual=shown(actual), **about)
    return None


def given_by_mistake(call: Call) -> dict[str, tuple[list[Shares], ...]]:
    """The shares that known mistakes give, by pass."""
    plan, size = plan_in(call), call.size
    if whole_orders(call):
        return {}

    def skipped(order: list, steps: int) -> Shares:
        return [own[steps:] for own in dealt(order, order, size)]

    deals = {
        "consumed-ignored": [lambda o, c: dealt(o, o, size)],
        "dealt-first-then-skipped": [lambda o, c: skipped(o, c // size), lambda o, c: skipped(o, -(-c // size))],
        "rest-of-own-samples": [lambda o, c: dealt(o, o[c * size :], size)],
        "unequal-lengths": [lambda o, c: [o[c + rank :: size] for rank in range(size)]],
        "end-of-the-rest-dropped": [
            lambda o, c: [o[c + rank : len(o) - len(o[c:]) % size : size] for rank in range(size)]
        ],
        "padded-from-the-rest": [lambda o, c: dealt(o[c:], o[c:], size)],
        "blocks-not-turns": [lambda o, c: blocks(dealt(o, o[c:], size))],
        "begins-again": [lambda o, c: dealt(o, o[c % len(o) :], size)],
    }
    values = {key: tuple(map(plan.right, each)) for key, each in deals.items()}
    lefts = [[*plan.orders[seed, place[0]][place[1] :]] for _, seed, place in plan.rests]
    drawn = [turns(shares)[: len(left)] for shares, left in zip(plan.shares, lefts, strict=True)]
    same = [sorted(map(str, each)) for each in drawn] == [sorted(map(str, each)) for each in lefts]
    return values | ({"rest-shuffled-anew": (plan.shares,)} if same else {})


rest.gives = lambda call, value: plan_in(call).shares == value
MISTAKES = MistakesGiving(
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
    given_by_mistake,
)
ROTATION = Mistakes(
    ROTATED,
    only_rotated=lambda call: plan_in(call).alone.rotated(2),
    only_rotated_by_seed=lambda call: plan_in(call).alone.rotated(1),
)


def repeated(call: Call) -> Wrong | None:
    """Orders follow from seed, epoch and place alone."""
    return plan_in(call).all.repeats() or elsewhere(call)


def drawn_anew(call: Call) -> Wrong | None:
    """Each epoch and each seed has an order of its own."""
    orders = plan_in(call).alone
    return orders.shuffled() or orders.anew()


def under_way(call: Call) -> Wrong | None:
    """Two passes at a time are as they are one after the other."""
    orders = plan_in(call).all
    for rank, passes in enumerate(call.of("passes") if call.arguments["overlaps"] else ()):
        for each, key in zip(passes, orders.keys, strict=True):
            first = passes[orders.first[key]]
            if (each.ids, each.length) != (first.ids, first.length):
                about = {"actual": shown(each.ids), "expected": shown(first.ids)}
                if each.ids == first.ids:
                    about = {"actual": f"{each.length} samples by `len`", "expected": str(first.length)}
                return words("passes-share-a-place", rank=rank, **about)
    return None


def one_by_one(arguments: dict) -> bool:
    """Whether each pass ends before the next one begins."""
    return not arguments["overlaps"]


class ResumableSampler(CallCheck):
    """The rest of an epoch, for any number of ranks, whatever was before.

    A call has passes over samplers of one size, see `autograde.probes.sampler_passes`; `overlaps` says whether some are
    under way when others begin.
    """

    todo, probe = "ResumableSampler", probe.PROBE
    consolidation = (
        "A place in an epoch is a number of samples, not of steps or of a rank's own: then any number of ranks can go "
        "on from it. The sampler is told its place, because only the training knows what is done."
    )
    criteria = (
        Criterion(
            "follows",
            0.75,
            "the permutation follows from `seed` and epoch and from nothing else, in any process; a second pass "
            "is the same as the first",
            repeated,
            on=one_by_one,
        ),
        Criterion(
            "anew",
            0.75,
            "in each epoch there is one random permutation of all samples, for all ranks",
            drawn_anew,
            ROTATION,
            on=one_by_one,
        ),
        Criterion(
            "rest",
            1.5,
            "of the rest, rank r takes every size-th entry, from the r-th on. Where ranks would have one entry "
            "less than others, dealing goes on from the first entry of the whole epoch's permutation (not of "
            "the rest): all have equally many, and none where nothing is left",
            rest,
            MISTAKES,
            on=one_by_one,
            after=("follows",),
        ),
        Criterion(
            "passes",
            0.5,
            "a pass that is under way goes on as it began, whatever is called meanwhile: a DataLoader with "
            "workers draws ahead. The global random generators of Python, numpy and torch are left alone",
            first_of(under_way, generators),
            after=("follows",),
        ),
        Criterion("ints", 0.5, "it yields ints, as many as `len` says", ints_and_length, on=one_by_one),
    )

    def fits(self, case: dict, arguments: dict, seen: Passes) -> bool:
        """A pass for each in the plan."""
        return fits_plan(case, arguments, seen)

    def cases(self, rng: random.Random) -> list[dict]:
        """Places that are multiples of the ranks and others, the last sample, the end and behind it; few samples."""

        def calls(size: int, samples: int, salt: int = 0) -> list[dict]:
            seed, samplers, passes = rng.randrange(1, 10**6), [], []
            one, two = rng.sample(range(1, 60), 2)

            def add(alone: bool, seed: int | None, *places: list[int] | None) -> None:
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


CHECK = ResumableSampler()
