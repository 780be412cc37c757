"""The check of `chain`."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod
from types import MappingProxyType

import numpy as np

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, integer, numbers, optional, string
from autograde.contract.verdict import Finding
from autograde.probes.results import keep_result
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.point_to_point import stuck
from autograde.verdicts.results import overwritten
from course.watch.notes import note, note_of
from course.world.report import name_ranks

ASIDE = 1024  # bytes that a call may carry besides the sender's own rows
BEGINS = "multiply begins"  # a note among the events of a rank
ROUNDING = 1e-9  # relative to the largest entry
TO_EVERYBODY = frozenset({"allgather", "alltoall", "allreduce", "reduce_scatter", "scan"})  # kinds of collectives
FROM_ONE = frozenset({"broadcast", "scatter", "recv", "sendrecv"})

finding = Findings("""
collective-of-some 4
A deadlock in a collective call: {who} never made it. It is a call of a communicator to which these ranks belong, too.
Does it stand behind an `if` that lets only some of its ranks pass?

no-product 4
Rank 0 returns {kind}, where an array of shape [{p}, {t}] is expected.

product-elsewhere 1
Rank {rank} returns an array. Only rank 0 returns the product, and all others return None.

wrong-product 4
What rank 0 returns is not A D: entry {place} is {actual:.6g}, where {expected:.6g} is expected.

rows-in-another-order 3
Rank 0 returns a product in which {matrix} has its rows in another order: those of one rank, then those of the next.
Each rank takes every so-many-th row, but where they are put together they are taken for neighbours.

not-by-multiply 2
The calls of `multiply` make up {counted} multiplications on the {group} ranks together, where their products take
{expected}. All products are to be made by `multiply`.

too-much-work 2
With {p} rows of A and {r} of D on {size} ranks, rank {rank} makes {counted} multiplications by `multiply`, where
{most} are its share at most. Which rows are its own, and whom does it share them with?

waited-for-the-others 2
Before rank {rank} begins to compute its rows of A, it has already been waiting for something from {who} ({op}, line
{line}). A does not need that: B and C are here. What can an even rank do while the odd ones work?

too-much-sent 2
Rank {rank} sends {bytes} bytes by {op} (line {line}). Its own rows of {matrix} are {own} bytes, and nothing else needs
to move: A and the given matrices stay where they are.
""")


def matrices(plan: dict) -> dict[str, np.ndarray]:
    """B, C, E and F of a call."""
    draw = np.random.default_rng(plan["seed"])
    p, q, r, s, t = plan["sizes"]
    return {
        name: draw.uniform(-1, 1, shape) for name, shape in zip("BCEF", [(p, q), (q, r), (r, s), (s, t)], strict=True)
    }


class Chain(CallCheck, JudgedCalls):
    """Two groups of ranks, each with its own product, and one message's worth of D between them."""

    todo, points = "chain", 4
    consolidation = (
        "Independent work goes on side by side, and who waits for whom follows from what each product needs. What "
        "moves is the small matrix: the large one is used where it was computed."
    )
    prices = MappingProxyType({"sends-first": 4, "receives-first": 4, "message-never-sent": 4})

    def cases(self, rng: random.Random) -> list[dict]:
        """Four ranks, three in another order, and two; r and s are large and t is small, so moved matrices show."""

        def call(p: int) -> dict:
            sizes = [p, rng.randint(3, 6), rng.randint(300, 320), rng.randint(340, 360), rng.randint(2, 3)]
            return {"sizes": sizes, "seed": rng.getrandbits(32)}

        def case(ranks: list[int], *rows: int) -> dict:
            return {"ranks": ranks, "calls": [call(p) for p in rows], "late": rng.randrange(len(ranks))}

        cases = [case([0, 1, 2, 3], 2 * rng.randint(4, 6) + 1, 1), case([2, 0, 3], 7), case([3, 1], 5, 5)]
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """How much this rank multiplied, and what it returned."""
        comm, work = rank.comm, []
        given, odd = matrices(call), rank.rank % 2
        left, right = (np.ascontiguousarray(given[name]) for name in ("EF" if odd else "BC"))
        for name, values in ("left", left), ("right", right):
            rank.argument(name, values)

        def multiply(one: np.ndarray, two: np.ndarray) -> np.ndarray:
            if not work:
                note(comm, BEGINS)
            product = np.asarray(one) @ np.asarray(two)
            work.append([one.shape[0], one.shape[1], two.shape[1]])
            return product

        value = function(rank.comm, multiply, left, right)
        earlier = keep_result(rank, value)
        shown = {
            "work": work[:1000],
            "none": value is None,
            "kind": type_in_words(value),
            "product": None,
            "earlier": earlier,
        }
        if isinstance(value, np.ndarray):
            shown["kind"] = f"an array of shape {list(value.shape)}"
            if list(value.shape) == [call["sizes"][0], call["sizes"][4]]:
                shown["product"] = value.astype(float).ravel().tolist()
        return shown

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Sizes of the products that were made, and the entries of what was returned."""
        product = optional(numbers(call["sizes"][0] * call["sizes"][4]))
        return {
            "work": array(array(integer(0), 3)),
            "none": boolean(),
            "kind": string(),
            "product": product,
            "earlier": boolean(),
        }

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """A collective that some ranks leave out, or messages that wait for each other."""
        calls = [[event for event in log if event["kind"] != "communicator"] for log in run.of_call(run.reached)]
        open_ones = [log[-1] for log in calls if log and log[-1]["end"] is None and log[-1]["members"]]
        for event in open_ones:
            absent = [rank for rank in event["members"] if rank is not None and not self.stands_in(calls[rank], event)]
            if run.state == "hang" and event["kind"] not in ("send", "recv", "sendrecv") and absent:
                return [finding("collective-of-some", run.report, who=name_ranks(absent))]
        return [*stuck(run)]

    @staticmethod
    def stands_in(log: list[dict], event: dict) -> bool:
        """Whether a rank waits in the same collective."""
        return any(each["end"] is None and each["kind"] == event["kind"] for each in log)

    def judge(self, case: dict, call: Call) -> list[Finding]:
        """The product; the work; what moved; what was waited for."""
        found = self.product(call) or self.work(call) or self.moved(call) or self.waited(call)
        return found or overwritten(call.of("earlier"))

    def product(self, call: Call) -> list[Finding]:
        """What is wrong with what the ranks returned."""
        given, (p, _, _, _, t) = matrices(call.plan), call.plan["sizes"]
        expected = (given["B"] @ given["C"] @ (given["E"] @ given["F"])).ravel()
        actual = call.of("product")[0]
        if actual is None or None in actual:
            kind = "None" if call.of("none")[0] else call.of("kind")[0]
            return [finding("no-product", kind=kind, p=p, t=t)]
        off = np.abs(np.array(actual) - expected)
        if off.max() > ROUNDING * np.abs(expected).max():
            for matrix, other in stacked(given, call.size).items():
                if np.abs(np.array(actual) - other.ravel()).max() <= ROUNDING * np.abs(expected).max():
                    return [finding("rows-in-another-order", matrix=matrix)]
            place = int(off.argmax())
            about = {"actual": actual[place], "expected": expected[place]}
            return [finding("wrong-product", place=[place // t, place % t], **about)]
        others = [rank for rank in range(1, call.size) if not call.of("none")[rank]]
        return [finding("product-elsewhere", rank=others[0])] if others else []

    def work(self, call: Call) -> list[Finding]:
        """Whether each rank makes its share of the products, by `multiply`."""
        p, q, r, s, t = call.plan["sizes"]
        done = [sum(map(prod, of_rank)) for of_rank in call.of("work")]
        for odd, group, rows, each in (0, "even", p, q * r + r * t), (1, "odd", r, s * t):
            ranks = range(odd, call.size, 2)
            if (counted := sum(done[rank] for rank in ranks)) < rows * each:
                return [finding("not-by-multiply", counted=counted, group=group, expected=rows * each)]
            most = -(-rows // len(ranks)) * each
            for rank in ranks:
                if done[rank] > most:
                    return [
                        finding("too-much-work", p=p, r=r, size=call.size, rank=rank, counted=done[rank], most=most)
                    ]
        return []

    def moved(self, call: Call) -> list[Finding]:
        """Whether a rank sends more than its own rows of D or G."""
        p, _, r, _, t = call.plan["sizes"]
        for rank, log in enumerate(call.events):
            group, rows, matrix = range(rank % 2, call.size, 2), (p, r)[rank % 2], "GD"[rank % 2]
            own = -(-rows // len(group)) * t * 8
            for event in log:
                # What the root of a gather puts in does not move.
                moves = event["kind"] != "gather" or event["peer"] != rank
                if moves and (event["bytes"] or 0) > own + ASIDE:
                    about = {"bytes": event["bytes"], "op": event["op"], "line": event["line"]}
                    return [finding("too-much-sent", rank=rank, matrix=matrix, own=own, **about)]
        return []

    def waited(self, call: Call) -> list[Finding]:
        """Whether something from an odd rank reached an even one before it began to multiply."""
        for rank in range(0, call.size, 2):
            log = call.events[rank]
            began = next((event["start"] for event in call.noted[rank] if note_of(event) == BEGINS), None)
            for event in log:
                if began is None or event["end"] is None or event["end"] > began:
                    continue
                if odd := [other for other in senders(event) if other % 2]:
                    about = {"who": name_ranks(odd), "op": event["op"], "line": event["line"]}
                    return [finding("waited-for-the-others", rank=rank, **about)]
        return []


def stacked(given: dict[str, np.ndarray], size: int) -> dict[str, np.ndarray]:
    """What comes out where ranks take every so-many-th row, and the rows are stacked by rank: of D, of A, of both."""
    a, d = given["B"] @ given["C"], given["E"] @ given["F"]

    def by_rank(rows: np.ndarray, ranks: int) -> np.ndarray:
        return np.concatenate([rows[rank::ranks] for rank in range(ranks)])

    moved_a, moved_d = by_rank(a, (size + 1) // 2), by_rank(d, size // 2)
    return {"D": a @ moved_d, "A": moved_a @ d, "each of A and D": moved_a @ moved_d}


def senders(event: dict) -> list[int]:
    """The ranks whose data a call has brought."""
    if event["kind"] in FROM_ONE:
        source = event["source"] if event["kind"] == "sendrecv" else event["peer"]
        return [] if source is None else [source]
    if event["kind"] in TO_EVERYBODY:
        return [rank for rank in event["members"] or () if rank is not None]
    return []


CHECK = Chain()
