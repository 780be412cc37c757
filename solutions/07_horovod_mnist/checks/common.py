"""What several TODOs of lab 07 share."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from autograde.contract.findings import Findings
from autograde.contract.rank_check import RankCheck
from autograde.contract.schema import array, boolean, integer, numbers, record
from autograde.contract.verdict import Finding
from autograde.fixtures.numbered_net import BUFFERS, SIZES
from autograde.verdicts.judged import JudgedRun, Run
from autograde.verdicts.replicas import close

MOMENTUM = 0.9

STATE = record(**{name: numbers(count) for name, count in {**SIZES, **BUFFERS}.items()})  # of a NumberedNet
FORWARD = {"type": "array", "items": [array(integer()), boolean()], "minItems": 2, "maxItems": 2}  # ids, train mode

finding = Findings("""
collective-on-some-ranks 9
{detail} A collective call needs every rank. Which line do some of the ranks skip?

calls-do-not-match 9
{detail} Each rank waits for the others. Horovod matches their calls by a name, which may come from an object's type.
""")


def deadlock(run: Run) -> list[Finding]:
    """The finding for a run that ended in a deadlock; none for any other."""
    if run.state != "hang":
        return []
    key = "calls-do-not-match" if len({rank["call"] for rank in run.ranks}) == 1 else "collective-on-some-ranks"
    return [finding(key, run.report, detail=f"A deadlock: {run.detail}")]


class HorovodCheck(RankCheck, JudgedRun):
    """A check whose cases run on the first ranks, with Horovod, as many as the case says."""

    needs, deadline = "horovod", 20

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """What a deadlock in Horovod means."""
        return deadlock(run)


def first_difference(states: Sequence[Mapping], expected: Sequence[Mapping]) -> dict:
    """The first number of the ranks' models that is not as expected, as findings name it."""
    for rank, (state, right) in enumerate(zip(states, expected, strict=True)):
        for name, values in right.items():
            for actual, value in zip(state[name], values, strict=True):
                if not close(actual, value):
                    shown = "no finite number" if actual is None else f"{actual:.6g}"
                    return {"rank": rank, "name": f"`{name}`", "actual": shown, "expected": f"{value:.6g}"}
    return {"rank": 0, "name": "the model", "actual": "none", "expected": "none"}


def seeds(rng: random.Random, *names: str) -> dict[str, int]:
    """Random ones by name."""
    return {name: rng.randrange(2**31) for name in names}
