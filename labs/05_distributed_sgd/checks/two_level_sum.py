"""The check of `two_level_sum`."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, integer, numbers, optional, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.results import keep_result
from autograde.verdicts.collectives import MESSAGES, only
from autograde.verdicts.diagnosis import agree, diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.results import overwritten
from course.world.report import name_ranks

NAME = 200  # bytes that may go through all ranks: a host's name
LAST = 1000  # the last digits of a whole number are told beside it
KINDS = frozenset({"communicator", "probe", "barrier"})  # calls that carry nothing

finding = Findings("""
no-sum 3
Rank {rank} returns {kind}; an array is expected, on every rank.

sum-of-another-form 2
Rank {rank} returns {actual}. Expected is {expected}, as its argument is.

sum-in-the-argument 1
What rank {rank} returns shares its memory with its argument. Return a new array.

sum-through-float 1
Rank {rank} returns whole numbers whose last digits are wrong. They have more than the 53 bits that a float64 has for
them. Which array in your code holds floats?

split-by-some 3
A deadlock in `{op}`: {who} never made it. It is a collective call: all ranks of the communicator make it, also those
that pass `MPI.UNDEFINED`. Does it stand behind an `if`?

null-communicator 3
{who} calls {call} a communicator that is none there: `Split` with `MPI.UNDEFINED` gives `MPI.COMM_NULL`. Which ranks
have anything to do on it?

sum-of-own-host 3
Each rank returns the sum over its own host. Where do the other hosts' sums come in?

left-with-leaders 2
Only {who} have the sum over all ranks. How do the others on their host get it?

leaders-alone 3
The result is the sum of {n} ranks' arrays, one of each host. What should such a rank add up before it goes to the other
hosts?

host-counted-by-ranks 3
Each host's sum is counted as often as the host has ranks. Who takes part in the sum over the hosts?

other-sum 3
Number {place} on rank {rank} is {actual:.6g}, where the sum over all ranks is {expected:.6g}. The hosts are {hosts}.

all-ranks-cross 2
With hosts {hosts}, {op} of {bytes} bytes joins {who}, several of one host. All of them send over the network: one rank
of each host is enough.

hosts-apart-by-hash 2
With hosts {hosts}, {who} make calls on communicators of their own, as if each were alone on its host, and then
exchange with all. Python's `hash` of a string differs from process to process. What do two ranks on the same host
really have in common?

several-cross 2
With hosts {hosts}, {who} of one host all exchange with other hosts. It should always be the same one of a host.
""")


def values_of(rank: int, plan: dict) -> np.ndarray:
    """A rank's array."""
    draw = np.random.default_rng([plan["seed"], rank])
    if plan["dtype"] == "int64":
        return np.asarray(draw.integers(2**55, 2**58, plan["shape"])) | 1
    return np.array(draw.integers(-1000, 1000, plan["shape"]) / 8, dtype=plan["dtype"])


class TwoLevelSum(CallCheck, JudgedCalls):
    """The sum on every rank, and who takes part in what joins several hosts."""

    todo, points = "two_level_sum", 3
    prices = MappingProxyType({"argument-changed": 1, "not-waited-for": 1})
    consolidation = (
        "Within a node, exchange is cheap, and between nodes it is not: so each node adds up first, and one rank "
        "speaks for it. NCCL and Horovod can do so on large clusters."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Hosts of equal and unequal size, single ones and one alone; several shapes and dtypes."""
        number = rng.randint(1, 9)
        names = {"a": f"node{number}", "b": f"node{number}{rng.randint(0, 9)}", "c": f"gpu-{rng.randint(10, 99)}"}

        def case(ranks: list[int], *calls: tuple[str, list[int], str]) -> dict:
            plans = [
                {"hosts": [names[a] for a in on], "shape": shape, "dtype": dtype, "seed": rng.getrandbits(32)}
                for on, shape, dtype in calls
            ]
            return {"ranks": ranks, "calls": plans, "late": rng.randrange(len(ranks))}

        many, table, number_alone = ([60], "float64"), ([20, 30], "int64"), ([], "float64")
        cases = [
            case([0, 1, 2, 3], ("abab", *many), ("aaba", *table), ("bcca", [8, 5, 3], "float32"), ("abba", *many)),
            case([2, 0, 3], ("aab", *many), ("ccc", *number_alone)),
            case([3, 1], ("ab", *table), ("cc", [0], "float64")),
            case([1], ("a", *many)),
        ]
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """What this rank returned."""
        own = values_of(rank.rank, call)
        rank.argument("array", own)
        value = function(rank.comm, call["hosts"][rank.rank], own)
        shown: dict[str, Any] = {"kind": type_in_words(value), "sum": None, "last": []}
        shown["earlier"] = keep_result(rank, value)
        shown |= {"dtype": "", "shape": [], "shared": False}
        if isinstance(value, (np.ndarray, np.generic)):
            shown["shared"] = isinstance(value, np.ndarray) and bool(np.shares_memory(value, own))
            shown |= {
                "dtype": str(value.dtype),
                "shape": list(value.shape),
                "sum": value.astype(float).ravel().tolist(),
                "last": (value.ravel() % LAST).tolist() if value.dtype == np.int64 else [],
            }
        return shown

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The numbers that came, and in which form."""
        form = {"dtype": string(), "shape": array(integer(0)), "shared": boolean(), "earlier": boolean()}
        return {"kind": string(), "sum": optional(numbers()), "last": array(integer(0, LAST - 1)), **form}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """A call on the communicator that is none."""
        nobody = [
            rank
            for rank in run.ranks
            if any(text in (rank["error"] or {}).get("message", "") for text in ("MPI_ERR_COMM", "COMM_NULL"))
            or "Comm object has no" in (rank["error"] or {}).get("message", "")
        ]
        if nobody:
            who = name_ranks([rank["rank"] for rank in nobody])
            yield finding("null-communicator", run.report, who=who[0].upper() + who[1:], call="a method of")
            return
        if run.state == "hang":
            yield from self.made_by_some(run)

    @staticmethod
    def made_by_some(run: Run) -> Iterator[Finding]:
        """A `Split` in which some ranks wait, and others do not."""
        last = [log[-1] if log else None for log in run.of_call(run.reached)]
        making = [
            event if event and event["end"] is None and event["kind"] == "communicator" else None for event in last
        ]
        for event in filter(None, making):
            absent = [rank for rank in event["members"] or () if rank is not None and making[rank] is None]
            if absent:
                yield finding("split-by-some", run.report, op=event["op"], who=name_ranks(absent))
                return

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The sums, and what went between hosts."""
        for rank, shown in enumerate(call.shown):
            if shown["sum"] is None or None in shown["sum"] or len(shown["sum"]) != prod(call.plan["shape"]):
                return [finding("no-sum", rank=rank, kind=shown["kind"])]
            expected = call.plan["dtype"], call.plan["shape"]
            if (shown["dtype"], shown["shape"]) != expected:
                actual, right = (
                    f"an array of {one}, of shape {two}" for one, two in ((shown["dtype"], shown["shape"]), expected)
                )
                return [finding("sum-of-another-form", rank=rank, actual=actual, expected=right)]
        found: list[Finding | Diagnosis] = [self.sums(call)]
        if True in call.of("shared"):
            found.append(finding("sum-in-the-argument", rank=call.of("shared").index(True)))
        if call.plan["dtype"] == "int64" and found[0].otherwise is None:
            found += self.digits(call)
        found += overwritten(call.of("earlier"))
        return [*found, *self.crossing(call), *only("mpi4py", call.events)]

    def digits(self, call: Call) -> list[Finding]:
        """Whether sums of whole numbers, which are right as floats, are so to their last digit."""
        total = sum(values_of(rank, call.plan) for rank in range(call.size)).ravel() % LAST
        wrong = [rank for rank, last in enumerate(call.of("last")) if last != total.tolist()]
        return [finding("sum-through-float", rank=wrong[0])] if wrong else []

    def sums(self, call: Call) -> Diagnosis:
        """The arrays against what known mistakes give."""
        hosts, arrays = (
            call.plan["hosts"],
            [values_of(rank, call.plan).astype(float).ravel() for rank in range(call.size)],
        )
        by_host = {host: sum(a for a, own in zip(arrays, hosts, strict=True) if own == host) for host in hosts}
        first = {host: hosts.index(host) for host in hosts}
        total, size = sum(arrays), call.size
        expected = [total.tolist()] * size
        leaders = [rank for rank in range(size) if rank in first.values()]
        candidates: dict[str, Any] = {
            "sum-of-own-host": [by_host[host].tolist() for host in hosts],
            "leaders-alone": [sum(arrays[rank] for rank in leaders).tolist()] * size,
            "host-counted-by-ranks": [sum(by_host[host] for host in hosts).tolist()] * size,
        }
        others = (
            [own.tolist() for own in arrays],
            [by_host[host].tolist() for host in hosts],
            [[0.0] * total.size] * size,
        )
        for number, rest in enumerate(others):
            some = [total.tolist() if rank in leaders else rest[rank] for rank in range(size)]
            candidates[f"left-with-leaders/{number}"] = some
        actual = call.of("sum")
        off = [
            (rank, place)
            for rank in range(size)
            for place in range(total.size)
            if not agree(actual[rank][place], float(total[place]))
        ]
        rank, place = off[0] if off else (0, 0)
        about: dict[str, Any] = {"hosts": ", ".join(hosts), "rank": rank, "place": place, "n": len(first)}
        about |= (
            {"actual": actual[rank][place], "expected": float(total[place])} if off else {"actual": 0, "expected": 0}
        )
        about["who"] = name_ranks([each for each in range(size) if actual[each] == expected[each]] or leaders)
        return diagnose("sum", actual, expected, candidates, partial(finding, **about), "other-sum")

    def apart(self, call: Call) -> list[int]:
        """Ranks that call something on a communicator of their own alone, though others are on their host."""
        hosts = call.plan["hosts"]
        lone = [{rank for event in log if event["members"] == [rank]} for rank, log in enumerate(call.events)]
        return [rank for rank in range(call.size) if lone[rank] and hosts.count(hosts[rank]) > 1]

    def crossing(self, call: Call) -> list[Finding]:
        """Who takes part in calls and messages that join several hosts."""
        hosts, crossing = call.plan["hosts"], defaultdict(set)
        named = ", ".join(hosts)
        for rank, log in enumerate(call.events):
            for event in log:
                size = max(event["bytes"] or 0, event["received"] or 0)
                if event["kind"] in KINDS or size <= NAME:
                    continue
                members = [each for each in event["members"] or () if each is not None]
                if event["kind"] in MESSAGES:
                    members = [
                        rank,
                        *(each for each in (event["peer"], event["source"]) if each is not None and each >= 0),
                    ]
                on = [hosts[each] for each in {*members}]
                if len({*on}) < 2:
                    continue
                if len(on) > len({*on}) and event["kind"] not in MESSAGES and (lone := self.apart(call)):
                    return [finding("hosts-apart-by-hash", hosts=named, who=name_ranks(lone))]
                if len(on) > len({*on}) and event["kind"] not in MESSAGES:
                    about = {"op": event["op"], "bytes": size, "who": name_ranks(sorted({*members}))}
                    return [finding("all-ranks-cross", hosts=named, **about)]
                for each in members:
                    crossing[hosts[each]].add(each)
        several = next((ranks for ranks in crossing.values() if len(ranks) > 1), None)
        return [finding("several-cross", hosts=named, who=name_ranks(sorted(several)))] if several else []


CHECK = TwoLevelSum()
