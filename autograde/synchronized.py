"""Verdicts on whether all ranks begin with rank 0's model. Pure functions of what `course.numbered.state_of` gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograde.check import Finding
from autograde.findings import Findings
from autograde.replicas import close, same_state
from autograde.schema import array, number, numbers, optional
from course.numbered import BUFFERS, SIZES, TRAINED
from course.report import name_ranks

finding = Findings("""
no-broadcast 3
{who} still {have} the model that they came with, and each trains another one. How does a rank come to know rank 0's?

buffers-not-broadcast 2
The parameters are rank 0's on all ranks, but {who} still {have} buffers of their own: a BatchNorm counts and averages
in them. What else belongs to a model's state?

parameters-not-broadcast 2
{who} still {have} parameters of their own: {names}. What belongs to a model's state?

not-rank-0s 2
After the call, all ranks have the model of rank {root}. Rank 0's is asked for.

rank-0-changed 2
After the call rank 0 has other numbers than before, in {names}. It is the one that the others are to follow.

wrong-start 2
After the call {who} {have} neither rank 0's model nor the one that they came with.

rank-0s-momentum-lost 2
Rank 0 came {came}. After the call {who} {have} something else.

momentum-not-broadcast 2
Rank 0 came {came}. After the call {who} {have} something else. What does an optimizer's state hold?

options-not-broadcast 1
After the call {who} still {have} a learning rate of their own. Options are part of an optimizer's state.
""")


def start_mistakes(came: Sequence[dict], now: Sequence[dict]) -> list[Finding]:
    """What is wrong with the models' states `now`, by rank, where ranks `came` with states of their own.

    Due is rank 0's on all ranks.
    """
    wrong = [rank for rank, state in enumerate(now) if not same_state(state, came[0])]
    if not wrong:
        return []
    for root in range(1, len(came)):
        if all(same_state(state, came[root]) for state in now):
            return [finding("not-rank-0s", root=root)]
    if wrong[0] == 0:
        names = ", ".join(name for name in came[0] if not same_state(now[0], came[0], [name]))
        return [finding("rank-0-changed", names=names)]
    about = {"who": name_ranks(wrong).capitalize(), "have": "has" if len(wrong) == 1 else "have"}
    if all(same_state(now[rank], came[rank], [*TRAINED, *BUFFERS]) for rank in wrong):
        return [finding("no-broadcast", **about)]
    own = {name for rank in wrong for name in came[0] if not same_state(now[rank], came[0], [name])}
    if not all(same_state(now[rank], came[rank], [name]) for rank in wrong for name in own if name in now[rank]):
        return [finding("wrong-start", **about)]
    if own <= set(BUFFERS):
        return [finding("buffers-not-broadcast", **about)]
    return [finding("parameters-not-broadcast", names=", ".join(name for name in SIZES if name in own), **about)]


def optimizer_schema() -> dict[str, dict]:
    """Of what a rank tells of its optimizer: see `optimizer_mistakes`."""
    return {"momentum": array(optional(numbers()), len(SIZES) - 1), "lr": optional(number())}


def optimizer_mistakes(now: Sequence[Mapping], momentum: float, lr: float) -> list[Finding]:
    """What is wrong with the optimizers' states `now`, by rank, where rank 0 came with `momentum` and `lr`.

    now: ``momentum``, a list of numbers for each parameter that is not frozen, or None, and ``lr``. No momentum and
    momentum 0 are the same.
    """
    found, differ = [], []
    for rank, state in enumerate(now):
        held = [[0.0] if each is None else each for each in state["momentum"]]
        if not all(own and all(close(value, momentum) for value in own) for own in held):
            differ.append(rank)
    if differ:
        key = "rank-0s-momentum-lost" if differ[0] == 0 else "momentum-not-broadcast"
        found.append(
            finding(
                key,
                who=name_ranks(differ),
                have="has" if len(differ) == 1 else "have",
                came="with momentum" if momentum else "without momentum",
            )
        )
    if own := [rank for rank, state in enumerate(now) if not close(state["lr"], lr)]:
        found.append(finding("options-not-broadcast", who=name_ranks(own), have="has" if len(own) == 1 else "have"))
    return found
