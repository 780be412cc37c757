"""What is wrong with how a training run begins, in the form that `train` has."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.fixtures.numbered_net import BUFFERS, SIZES, TRAINED
from autograde.verdicts.replicas import same_state
from course.world.report import name_ranks

finding = Findings("""
no-broadcast 3
{who} still {have} the model from before the call, so the ranks train different models. How do the other ranks get rank
0's model?

buffers-not-broadcast 2
The parameters are rank 0's on all ranks. {who} still {have} the buffers from before the call, such as BatchNorm's
running statistics. What else belongs to a model's state?

parameters-not-broadcast 2
{who} still {have} parameters from before the call: {names}. Which parameters belong to a model's state?

not-rank-0s 2
After the call, all ranks have the model of rank {root}; expected is rank 0's.

rank-0-changed 2
After the call, rank 0 has other numbers than before, in {names}. The other ranks should take over rank 0's, not the
other way round.

wrong-start 2
After the call, {who} {have} neither rank 0's model nor the one from before the call.
""")


def start_mistakes(came: Sequence[dict], now: Sequence[dict]) -> list[Finding]:
    """What is wrong with the models' states `now`, by rank, where ranks `came` with states of their own.

    Rank 0's is expected on all ranks.
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
