"""Verdicts on the orders of lab 11's samplers, and on what is left of them from some place on."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from itertools import chain, cycle, islice, product, zip_longest

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.orders import SamplerOrders, whole_mistakes
from autograde.verdicts.orders import finding as of_orders
from autograde.verdicts.shards import Ids

finding = Findings("""
passes-share-a-place 2
A pass is under way when another one begins, and does not go on as it had begun: rank {rank} gets {actual}, not
{expected}. A `DataLoader` with workers draws ahead. What do your passes have in common?

consumed-ignored 2.5
From {place} of {n} samples, the ranks draw the whole epoch. Its first {consumed} entries are done.

rest-of-own-samples 2.5
From {place} of {n} samples on {size} ranks, more are left out than are done: `consumed` counts the samples of all ranks
together.

dealt-first-then-skipped 2.5
From {place} of {n} samples, the ranks draw {actual}; the rest of the epoch's order is {rest}. You seem to deal out the
whole epoch and skip then. What if other ranks, more or fewer, have done the first part?

rest-shuffled-anew 2.5
From {place}, the right samples come in another order than in the epoch. A second resume, from further on, would find
others done than were.

begins-again 2
From {place} of {n} samples nothing is left, and the ranks draw {actual}.

unequal-lengths 2
From {place} of {n} samples, the ranks draw {counts} samples. All need equally many: whoever makes one more step waits
for the others.

end-of-the-rest-dropped 2
From {place} of {n} samples, {dropped} at the end of the epoch are drawn by nobody.

padded-from-the-rest 1.5
From {place} of {n} samples, what pads the ranks' shares does not come from the epoch's start: the ranks draw {actual}.

blocks-not-turns 2
From {place} of {n} samples, each rank takes a block of the rest. It should take one of every {size} entries.

other-rest 3
From {place} of {n} samples, the {size} ranks draw {actual}; what is left of the epoch's order is {rest}.
""")


def all_orders(case: dict, yielded: Sequence[Sequence[Ids]], setter: str) -> SamplerOrders:
    """The orders of all passes. yielded: by rank and pass."""
    passes = [(which, place and tuple(place)) for which, place, *_ in case["passes"]]
    return SamplerOrders(case["size"], case["samplers"], passes, yielded, setter, (0, 0))


def apart(case: dict, yielded: Sequence[Sequence[Ids]], setter: str) -> tuple[list[Finding], list[list[Ids]]]:
    """A finding for a pass that is under way when another one begins, and is changed by it; and what was yielded, with
    the two as such passes were before."""
    orders, found, repaired = all_orders(case, yielded, setter), [], [[*of_rank] for of_rank in yielded]
    held = [number for number, (_, _, *begun) in enumerate(case["passes"]) if begun]
    for number in held:
        pairs = zip(orders.yielded[number], orders.orders[orders.key(number)], strict=True)
        if wrong := [(rank, *pair) for rank, pair in enumerate(pairs) if pair[0] != pair[1]]:
            rank, actual, expected = wrong[0]
            found.append(finding("passes-share-a-place", rank=rank, actual=shown(actual), expected=shown(expected)))
            for rank, each in product(range(len(repaired)), (number, number + 1)):
                repaired[rank][each] = orders.orders[orders.key(each)][rank]
    return found[:1], repaired


def changed(case: dict, yielded: Sequence[Sequence[Ids]], setter: str) -> list[Finding | Diagnosis]:
    """What is wrong with passes that should be the same, and with whole epochs of single ranks. yielded: by rank and
    pass."""
    orders = all_orders(case, yielded, setter)
    if changes := orders.changes():
        return [*changes]
    for (n, alone, _, _), dealt in orders.orders.items():
        if alone and (found := whole_mistakes(n, dealt[0])):
            return found
        if alone and any(own != dealt[0] for own in dealt):
            return [of_orders("orders-differ-by-rank", n=n, size=case["size"])]
    return []


def whole_orders(case: dict, yielded: Sequence[Sequence[Ids]]) -> SamplerOrders:
    """The orders that samplers of a single rank draw, on which all ranks agree."""
    samplers = [[samples, False, seed] for samples, _, seed in case["samplers"]]
    alone = [number for number, (which, *_) in enumerate(case["passes"]) if case["samplers"][which][1]]
    passes = [(which, place and tuple(place)) for which, place, *_ in (case["passes"][number] for number in alone)]
    return SamplerOrders(1, samplers, passes, [[yielded[0][number] for number in alone]], start=(0, 0))


def rest_mistakes(case: dict, yielded: Sequence[Sequence[Ids]]) -> list[Diagnosis]:
    """What is wrong with shares of what is left, where single ranks' whole epochs are right."""
    orders, places, found = {}, {}, []
    for number, (which, place, *_) in enumerate(case["passes"]):
        samples, single, seed = case["samplers"][which]
        places[which] = at = place or places.get(which, [0, 0])
        if single:
            orders[samples, seed or 0, at[0]] = yielded[0][number]
        else:
            order = orders[samples, seed or 0, at[0]]
            found.append(shares_mistake(order, at, [[*of_rank[number]] for of_rank in yielded]))
    return found


def shares_mistake(order: Ids, place: Sequence[int], actual: list[list]) -> Diagnosis:
    """What is wrong with what the ranks draw from this place of an epoch with this order."""
    n, size, consumed = len(order), len(actual), place[1]
    rest, expected = [*order[consumed:]], dealt(order, order[consumed:], size)
    whole = dealt(order, order, size)
    turns = [value for row in zip_longest(*actual, fillvalue=-1) for value in row if value != -1]
    candidates = {
        "consumed-ignored": whole,
        "dealt-first-then-skipped": [own[consumed // size :] for own in whole],
        "dealt-first-then-skipped/up": [own[-(-consumed // size) :] for own in whole],
        "rest-of-own-samples": dealt(order, order[consumed * size :], size),
        "unequal-lengths": [rest[rank::size] for rank in range(size)],
        "end-of-the-rest-dropped": [rest[rank : len(rest) // size * size : size] for rank in range(size)],
        "padded-from-the-rest": dealt(rest, rest, size) if rest else expected,
        "padded-from-the-rest/last": dealt(rest[-1:], rest, size) if rest else expected,
        "padded-from-the-rest/reversed": dealt(rest[::-1], rest, size) if rest else expected,
        "blocks-not-turns": blocks(dealt(order, rest, size)),
        "begins-again": dealt(order, order[consumed % n :], size) if consumed >= n else expected,
    }
    same = sorted(turns[: len(rest)], key=str) == sorted(rest, key=str)
    candidates["rest-shuffled-anew"] = actual if same and rest and turns[: len(rest)] != rest else expected
    about = partial(
        finding,
        **{"place": f"(epoch {place[0]}, consumed {consumed})", "n": n, "size": size, "consumed": consumed},
        **{"actual": shown(actual), "rest": shown(rest), "counts": ", ".join(str(len(own)) for own in actual)},
        dropped=len(rest) % size,
    )
    return diagnose("rest", actual, expected, candidates, about, "other-rest", operator.eq)


def dealt(order: Ids, rest: Ids, size: int) -> list[list]:
    """Each rank's share of the rest: every size-th, padded from the order's start."""
    each = -(-len(rest) // size)
    padded = [*islice(chain(rest, cycle(order)), each * size)] if rest else []
    return [padded[rank::size] for rank in range(size)]


def blocks(shares: Sequence[Sequence]) -> list[list]:
    """What was dealt out in turns, in blocks."""
    turns, each = [value for row in zip(*shares, strict=True) for value in row], len(shares[0])
    return [turns[each * rank : each * (rank + 1)] for rank in range(len(shares))]


def shown(ids: Sequence) -> str:
    """The beginning of a list, as text."""
    text = str([*ids])
    return text if len(text) <= 120 else text[:120] + "..."
