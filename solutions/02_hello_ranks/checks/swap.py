"""The check of `swap`."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, integer, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.results import keep_result
from autograde.verdicts.collectives import MESSAGES
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.point_to_point import other_messages, stuck
from autograde.verdicts.results import overwritten
from course.simulated.safe import safe

finding = Findings("""
not-an-ndarray 3
Rank {rank} of {size} returns {kind}; a NumPy array is expected, on every rank.

other-dtype 1.5
Rank {rank} returns an array of {actual}, where its partner has {expected}. Numbers of one kind are read as those of
another if the array for them is of the wrong dtype.

other-shape 1
Rank {rank} returns an array of shape {actual}; its partner's has shape {expected}.

own-array-back 3
Rank {rank} returns the array that it had, not that of its partner, rank {partner}.

ring-not-pairs 3
Rank {rank} returns the array of rank {other}. Its partner is rank {partner}: two ranks exchange with each other, so it
is not a ring, where everything moves on by one.

other-partner 3
Rank {rank} exchanges messages with rank {other}. Its partner is rank {partner}: ranks 0 and 1 are partners, 2 and 3,
and so on.

partner-is-no-rank 3
Rank {rank} of {size} exchanges a message with a rank of a number that none has. Its partner is rank {partner}: ranks 0
and 1 are partners, 2 and 3, and so on.

wrong-array 3
Rank {rank} returns an array that is not what rank {partner} had.

not-a-copy 1
Rank {rank} returns {what}. Whoever changes the result then changes the argument, too: return an array with memory of
its own.
""")


def array_of(rank: int, plan: dict) -> np.ndarray:
    """The array that a rank has: partners' are alike but for the numbers."""
    pair = plan["pairs"][rank // 2]
    draw = np.random.default_rng([plan["seed"], rank])
    return np.array(draw.integers(1, 10**6, size=pair["shape"])).astype(pair["dtype"])


def fingerprint(values: np.ndarray) -> dict:
    """What tells one array from another."""
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    return {"dtype": str(values.dtype), "shape": list(values.shape), "digest": digest}


def other_partners(logs: list[list[dict]], report: str = "") -> list[Finding]:
    """A finding where no rank that sends or receives has to do with its partner. logs: events by rank."""
    size, found = len(logs), []
    for rank, log in enumerate(logs):
        messages = [event for event in log if event["kind"] in MESSAGES]
        others = {event[name] for event in messages for name in ("peer", "source")} - {None, rank}
        others = {other for other in others if 0 <= other < size}
        if rank ^ 1 in others or any(event["kind"] not in MESSAGES for event in log):
            return []
        found += [(rank, other) for other in sorted(others) if rank ^ 1 < size]
    if not found:
        return []
    rank, other = found[0]
    return [finding("other-partner", report, rank=rank, other=other, partner=rank ^ 1)]


def other_sources(run: Run) -> list[Finding]:
    """A finding where a rank of an unfinished run receives from another one than its partner, or asks for no rank."""
    logs = run.of_call(run.reached)
    size = len(logs)
    for rank, log in enumerate(logs):
        about, partner = {"rank": rank, "partner": rank ^ 1}, rank ^ 1
        failed = "MPI_ERR_RANK" in (run.ranks[rank]["error"] or {}).get("message", "")
        if failed and partner < size:
            return [finding("partner-is-no-rank", run.report, size=size, **about)]
        sources = {event["source"] for event in log if event["kind"] == "sendrecv"}
        sources |= {event["peer"] for event in log if event["kind"] == "recv"}
        if others := [other for other in sources - {None, rank, partner} if 0 <= other < size]:
            return [finding("other-partner", run.report, other=others[0], **about)] if partner < size else []
    return []


class Swap(CallCheck, JudgedCalls):
    """Pairs exchange arrays, also where each send waits for its receive."""

    todo, points = "swap", 3
    consolidation = (
        "Two that send first, or receive first, wait for each other. Sendrecv does both at once, and so is safe with "
        "any number of bytes."
    )
    prices = MappingProxyType(
        {
            "collective-for-messages": 1.5,
            "no-such-rank": 1.5,
            "sends-first": 3,
            "receives-first": 3,
            "message-never-sent": 3,
            "message-not-received": 2,
        }
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Few numbers and many, of several shapes and kinds; an odd rank out; plain and safe."""

        def call(safe: bool, *pairs: tuple[list[int], str]) -> dict:
            given = [{"shape": shape, "dtype": dtype} for shape, dtype in pairs]
            return {"safe": safe, "seed": rng.getrandbits(32), "pairs": given}

        def case(ranks: list[int], *calls: dict) -> dict:
            return {"ranks": ranks, "calls": [*calls], "late": rng.randrange(len(ranks))}

        few, many, table = ([3], "float64"), ([40_000], "float64"), ([4, 5], "int32")
        number, empty, large = ([], "float64"), ([0], "int64"), ([200, 200], "float32")
        cases = [
            case(
                [0, 1, 2, 3],
                call(False, few, table),
                call(True, many, large),
                call(True, number, empty),
                call(True, many, large),
            )
        ]
        cases += [case([2, 0, 3], call(True, table, few), call(False, few, number)), case([3, 1], call(True, large))]
        cases += [case([1], call(True, table))]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 1, 0, 2], call(True, table, many), call(False, number, empty))]
        cases += [case([1, 2, 0], call(True, many, table), call(True, empty, large))]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """What this rank got, and whether it has memory of its own."""
        own = array_of(rank.rank, call)
        rank.argument("array", own)
        value = function(safe(rank.comm) if call["safe"] else rank.comm, own)
        earlier = keep_result(rank, value)
        if not isinstance(value, np.ndarray):
            value = value if isinstance(value, np.generic) else None
            kind = type_in_words(value)
            return {"kind": kind, "array": None, "shared": False, "earlier": earlier}
        shared = bool(np.shares_memory(value, own) or value is own)
        return {"kind": "", "array": fingerprint(value), "shared": shared, "earlier": earlier}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The fingerprint of an array, or what came instead."""
        print_of = record(dtype=string(), shape=array(integer(0)), digest=string())
        return {"kind": string(), "array": optional(print_of), "shared": boolean(), "earlier": boolean()}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Who exchanges with whom, and who waits for whom."""
        return other_partners(run.of_call(run.reached), run.report) or other_sources(run) or stuck(run)

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The arrays, and the messages that brought them."""
        size, got = call.size, call.of("array")
        partner = [rank ^ 1 if rank ^ 1 < size else rank for rank in range(size)]
        if None in got:
            rank = got.index(None)
            return [finding("not-an-ndarray", rank=rank, size=size, kind=call.of("kind")[rank])]
        pairs = {(rank, other) for rank, other in enumerate(partner)}
        had = [fingerprint(array_of(rank, call.plan)) for rank in range(size)]
        found = self.arrays(got, had, partner)
        if isinstance(found[0], Diagnosis) and found[0].otherwise:
            found = other_partners(call.events) or found
        if got == [had[other] for other in partner]:
            found += other_messages(call.events, pairs, "partners")
        if True in call.of("shared"):
            rank = call.of("shared").index(True)
            what = "its own argument, or a view of it"
            found.append(finding("not-a-copy", rank=rank, what=what))
        return found + overwritten(call.of("earlier"))

    def arrays(self, got: list[dict], had: list[dict], partner: list[int]) -> list[Finding | Diagnosis]:
        """What is wrong with the arrays that came. got, had: fingerprints by rank."""
        size, expected = len(got), [had[other] for other in partner]
        for name, key in ("dtype", "other-dtype"), ("shape", "other-shape"):
            for rank in range(size):
                off = got[rank][name] != expected[rank][name] and had[rank][name] == expected[rank][name]
                if off and got[rank] not in had:
                    about: dict[str, Any] = {"actual": got[rank][name], "expected": expected[rank][name]}
                    return [finding(key, rank=rank, **about)]
        rank = next((rank for rank in range(size) if got[rank] != expected[rank]), 0)
        other = next((other for other in range(size) if got[rank] == had[other]), rank)
        # Empty arrays are all alike.
        candidates = {"own-array-back": had}
        candidates |= {"ring-not-pairs/up": [had[rank - 1] for rank in range(size)]}
        candidates |= {"ring-not-pairs/down": [had[(rank + 1) % size] for rank in range(size)]}
        about = partial(finding, rank=rank, partner=partner[rank], other=other)
        return [diagnose("array", got, expected, candidates, about, "wrong-array", lambda one, two: one == two)]


CHECK = Swap()
