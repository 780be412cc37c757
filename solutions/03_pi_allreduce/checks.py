"""What each TODO of lab 03 must show: who evaluates which midpoint, what ranks communicate, what they return."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from autograde.check import Check, Finding, raised, trouble
from autograde.collectives import deadlock, left_running, one_allreduce, wrong_group
from autograde.findings import Findings, telling
from autograde.probes import calls_apart, described, meet, nothing_starts_or_ends, progress_until
from autograde.results import SINGLE, agree, compared, single_precision
from autograde.schema import (
    array,
    boolean,
    described_value,
    integer,
    numbers,
    one_of,
    optional,
    outcome,
    record,
    string,
)
from autograde.subject import describe
from course.midpoints import midpoint_sum, midpoints, mistakes, recorded, share_mistakes
from course.world import COMM

RANKS = 4
LATE = 0.05  # seconds that one rank comes late, so that a result nobody waited for is not there by luck

finding = Findings("""
not-an-array 3
{seen}. It takes ndarrays of float64, of any length.

f-not-called 3
The function never calls its argument f. It has to work for any f, not only for this lab's.

not-midpoints 3
{bad} of the {all} points given to f are the middle of no interval. Where is the middle of interval i?

local-h 3
The width of an interval comes from the number of one rank's intervals. How wide is it when *all* cut [0, 1]?

everything-on-every-rank 3
Each of {size} ranks evaluates the whole integral. That takes as long as one rank alone. Which part is a rank's own?

overlapping-shares 2
Evaluated more than once, on {size} ranks: {twice}, so that area counts too often. Where does a share end?

remainder-lost 2
Midpoints that nobody evaluates, on {size} ranks: {n}. As many are left over when the intervals are divided by ranks.

points-missing 2
Midpoints that nobody evaluates, on {size} ranks: {n}. Their area is missing.

unbalanced 1
On {size} ranks, one evaluates {most} midpoints, another {least}, and all wait for the slowest. One more would do.

empty-share 1
With fewer intervals than ranks, a rank that has nothing to do {does}. What does such a rank add to the sum?

average-for-sum 2
On {size} ranks the result is {size} times too small: the average of the ranks' parts instead of their sum.

own-share 2
Every rank returns the part that it put into the reduction. Where is what came out of it?

ranks-differ 1
The ranks' results differ in their last digits. All are to return the very same number, bit for bit.
""")

# Findings that leave the value of a share, or of the result, unexplained: it is looked at all the same.
BESIDES = {"overlapping-shares", "remainder-lost", "points-missing", "unbalanced", "everything-on-every-rank"}
ALSO = {"unbalanced", "allreduce-in-the-loop", "other-communication", "other-library", "too-many-bytes"}


def curve(x: Any) -> Any:
    """What the lab integrates."""
    return 4.0 / (1.0 + x * x)


def stand_in(case: dict, record: dict, given: Callable) -> Callable:
    """A `partial_sum` whose shares have sizes of the case's own: right together, and no model for an answer."""

    def partial_sum(f: Callable, intervals: int, rank: int, size: int) -> float:
        record["shares"].append([int(intervals), int(rank), int(size)])
        whole = math.fsum((curve if f is given else f)(np.array(midpoints(intervals)))) / max(1, intervals)
        known = size == len(case["weights"]) and 0 <= rank < size
        return float(whole * (case["weights"][rank] if known else 1 / size))

    return partial_sum


def all_shares(subject: Any, case: dict) -> list[dict]:
    """Runs on one rank: the student's `partial_sum` for every rank of every split in the case."""
    partial_sum, seen = subject.load(), []
    a, b, c = case["coefficients"]
    for intervals, size in case["splits"]:
        for rank in range(size):
            record = {"used": False, "points": [], "refused": None, "error": None, "result": None}
            try:
                value = partial_sum(recorded(lambda x: a + x * (b + x * c), record), intervals, rank, size)
                record["result"] = described(value)
            except NotImplementedError:
                raise
            except Exception as error:
                record["error"] = describe(error, subject.filename)
            seen.append(record)
    return seen


def pi_calls(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: the student's function for each number of intervals, one rank late for the first."""
    calls, tried, record = [], [], {}
    f = recorded(curve, record)
    # A communicator for each call: a collective that a rank leaves out must not meet the next call's.
    own = [comm.Dup() for _ in case["intervals"]]
    with nothing_starts_or_ends(tried):
        function = subject.load(f=f, partial_sum=stand_in(case, record, f))
        for communicator, intervals in zip(own, case["intervals"], strict=True):
            record.update(used=False, points=[], shares=[])
            if calls:
                meet(comm)
            began = time.monotonic() if calls else time.monotonic() + LATE
            if comm.rank == case["late"] and not calls:
                time.sleep(LATE)
            value = function(communicator, intervals) if case["library"] == "mpi4py" else function(intervals)
            calls.append({"result": described(value), **{key: record[key] for key in ("used", "points", "shares")}})
            progress_until(comm, began + 0.03)
    return {"calls": calls, "tried": tried}


def told(seen: list[tuple[str, dict]]) -> list[Finding]:
    """Findings for what `course.midpoints` saw."""
    return [single_precision(**about) if name == "float32" else finding(name, **about) for name, about in seen]


class PartialSum(Check):
    """Every midpoint once over all shares, fair shares, and the right value of each."""

    todo = "partial_sum"
    points = 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Splits that divide evenly and others; more ranks than intervals; sizes beyond this world's."""
        splits = [[rng.randint(5, 30), 1], [2 * rng.randint(5, 20) + 1, 2], [3 * rng.randint(4, 12) + 2, 3], [3, 4]]
        splits += [[4 * rng.randint(3, 9) + 2, 4], [4 * rng.randint(3, 9), 4], [7 * rng.randint(2, 5) + 4, 7]]
        ### BEGIN HIDDEN CASES
        splits += [[1, 4], [2, 7], [4 * rng.randint(3, 9) + 3, 4], [5 * rng.randint(200, 400) + 3, 5], [6, 6]]
        ### END HIDDEN CASES
        return [{"splits": splits, "coefficients": [round(rng.uniform(0.5, 2), 3) for _ in range(3)]}]

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """All shares of all splits, on one rank: the function needs no other."""
        return world.attempt(all_shares, subject, case, size=1, deadline=20).plain()

    def schema(self, case: dict) -> dict:
        """A record of each share of each split, with a result or an error."""
        text, result = optional(string()), optional(described_value())
        share = record(used=boolean(), points=numbers(), refused=text, error=text, result=result)
        return outcome(1, array(one_of(share, "result", "error"), sum(size for _, size in case["splits"])))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Look at each split by itself, once it is clear that `f` is used as it should be."""
        if found := trouble(evidence, self.points):
            return found
        seen = iter(evidence["ranks"][0]["result"])
        splits = [(intervals, [next(seen) for _ in range(size)]) for intervals, size in case["splits"]]
        shares = [(share, intervals < len(own)) for intervals, own in splits for share in own]
        if refused := next((share["refused"] for share, _ in shares if share["refused"] and share["error"]), None):
            seen = f"f was given a value of type {refused}"
            return [single_precision(seen) if "float32" in refused else finding("not-an-array", seen=seen)]
        if errors := [share["error"] for share, few in shares if share["error"] and not few]:
            return [raised(errors[0], self.points)]
        if errors := [share["error"] for share, _ in shares if share["error"]]:
            return [finding("empty-share", does=f"raises {errors[0]}")]
        if not any(share["used"] for share, _ in shares):
            return [finding("f-not-called")]
        return telling([(intervals // len(own), self.split(case, intervals, own)) for intervals, own in splits])

    def split(self, case: dict, intervals: int, shares: list[dict]) -> list[Finding]:
        """What is wrong with one split: first the points, then the values where the points are midpoints."""
        found, size = told(mistakes(intervals, [share["points"] for share in shares], SINGLE)), len(shares)
        if not {each.key for each in found} <= BESIDES:
            return found
        a, b, c = case["coefficients"]
        for rank, share in enumerate(shares):
            value, own = share["result"]["value"], len(share["points"])
            right = math.fsum(a + x * (b + x * c) for x in share["points"]) / intervals
            if value is None and not own:
                found.append(finding("empty-share", does="returns no finite number"))
            elif value is not None and 1 < own < intervals and math.isclose(value * own, right * intervals):
                found.append(finding("local-h"))
            else:
                found += compared(share["result"], right, rank, size)
        return found


class ParallelPi(Check):
    """The same number on every rank by one reduction, each rank doing its share; in one of three libraries.

    todo: name of the function. library: "mpi4py", "torch" or "horovod".
    """

    points = 3

    def __init__(self, todo: str, library: str) -> None:
        self.todo = todo
        self.library = library

    def cases(self, rng: random.Random) -> list[dict]:
        """All ranks; some in another order; called again, with fewer intervals than ranks; one rank."""

        def case(ranks: list[int], *intervals: int) -> dict:
            parts = [rng.uniform(0.5, 1.5) for _ in ranks]
            weights = [part / math.fsum(parts) for part in parts]
            late = rng.randrange(len(ranks))
            return {"library": self.library, "ranks": ranks, "intervals": intervals, "weights": weights, "late": late}

        some, n = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2], [2, 3, 0]]), rng.randint(10, 25)
        cases = [case([0, 1, 2, 3], 4 * n + 2), case(some, 3 * n + 2, 3 * n, 2)]
        cases += [case(some[:2], 2 * n + 1, 1), case(some[2:], n)]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 2, 1, 0], 4 * rng.randint(100, 200) + 3, 3, 1), case(some[::-2], 6 * n)]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's function on the case's ranks, in their order."""
        init = None if self.library == "mpi4py" else self.library
        return world.attempt(pi_calls, subject, case, COMM, ranks=case["ranks"], init=init, deadline=15).plain()

    def schema(self, case: dict) -> dict:
        """On each rank a record of each call."""
        shares = array(array(integer(), 3))
        call = record(result=described_value(), used=boolean(), points=numbers(), shares=shares)
        return outcome(len(case["ranks"]), record(calls=array(call, len(case["intervals"])), tried=array(string())))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """How the run ended; then each call by itself."""
        logs = [calls_apart(rank["events"]) for rank in evidence["ranks"]]
        flat = [[event for call in log for event in call] for log in logs]
        found = wrong_group(len(flat), flat, evidence["report"])
        if not found and evidence["state"] == "hang":
            found = deadlock(len(case["intervals"]), flat, evidence["report"])
        if found := found or trouble(evidence, self.points):
            if found[0].key == "raised":
                stood = zip(logs, evidence["ranks"], strict=True)
                at, error = next((len(log), rank["error"]) for log, rank in stood if rank["error"])
                if case["intervals"][min(at, len(case["intervals"])) - 1] < len(logs):
                    does = f"raises {error['type']}: {error['message']}"
                    return [finding("empty-share", evidence["report"], does=does)]
            return found
        results, judged = [rank["result"] for rank in evidence["ranks"]], []
        for number, intervals in enumerate(case["intervals"]):
            calls = [result["calls"][number] for result in results]
            made = [log[number] if number < len(log) else [] for log in logs]
            judged.append((intervals // len(logs), self.call(intervals, calls, made)))
        return telling(judged) + left_running([result["tried"] for result in results])

    def call(self, intervals: int, calls: list[dict], made: list[list[dict]]) -> list[Finding]:
        """What is wrong with one call: the work, what was communicated, and results that these do not explain.

        calls: what each rank evaluated and returned. made: its events.
        """
        size, due = len(calls), midpoint_sum(curve, intervals)
        if found := wrong_group(size, [[{"ranks": k} for _, _, k in call["shares"]] for call in calls]):
            return found
        if intervals >= size > 1 and all(len(log) == 1 and agree(log[0]["value"], due) for log in made):
            return [finding("everything-on-every-rank", size=size)]
        used, points = any(call["used"] for call in calls), [call["points"] for call in calls]
        found = told(mistakes(intervals, points, SINGLE)) if used else []
        found += told(share_mistakes(intervals, [call["shares"] for call in calls]))
        found += one_allreduce(self.library, made)
        if not {each.key for each in found} <= ALSO:
            return found
        values = [call["result"]["value"] for call in calls]
        wrong = next(filter(None, (compared(call["result"], due, r, size) for r, call in enumerate(calls))), [])
        if wrong and size > 1 and all(agree(value, due / size) for value in values):
            wrong = [finding("average-for-sum", size=size)]
        elif len(set(values)) > 1 and all(log and agree(log[-1]["value"], values[r]) for r, log in enumerate(made)):
            wrong = [finding("own-share")]
        elif len(set(values)) > 1 and not wrong:
            wrong = [finding("ranks-differ")]
        return found + wrong


CHECKS = [
    PartialSum(),
    ParallelPi("parallel_pi", "mpi4py"),
    ParallelPi("parallel_pi_torch", "torch"),
    ParallelPi("parallel_pi_horovod", "horovod"),
]
