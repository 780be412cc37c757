"""What the checks have in common whose students' code averages gradients in steps of training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from autograde.contract.rank_check import CallCheck
from autograde.contract.schema import array
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.judged import Call, JudgedCalls, Run

from .averages import average_mistakes, step_shape, weights_changed
from .crooked_net import COMPLETES, SHAPES, SOMETIMES
from .step_traffic import (
    EARLY,
    Ready,
    broken_off,
    left_waiting,
    overlap_mistakes,
    sent_nothing,
    traffic_mistakes,
)
from .training_steps import net_of

NUMBER = 8  # bytes


def gradient_bytes() -> dict[str, int]:
    """Bytes of each trained parameter's gradient, by name."""
    return {name: NUMBER * math.prod(shape) for name, shape in SHAPES.items()}


def passed_when_ready(plan: dict, rank: int, names: Iterable[str]) -> list[int]:
    """The layers through which a rank's backward pass has come when these parameters have their gradients, in its
    order; none where it never has them all."""
    net, layers = net_of(plan, rank), [COMPLETES[name] for name in names]
    backward = net.order()[::-1]
    if SOMETIMES in layers and SOMETIMES not in backward:
        return []
    return backward[: max(map(backward.index, layers)) + 1]


class StepsCheck(CallCheck, JudgedCalls):
    """Gradients, traffic and moments of a call's steps."""

    needs = "torch"

    ordered = False  # whether the order of the all-reduces is given

    def sizes(self, plan: dict) -> list[int]:
        """Bytes of the all-reduces of each step."""
        return [*gradient_bytes().values()]

    def ready(self, plan: dict) -> Ready | None:
        """When each all-reduce can leave, if that is asked for."""
        return None

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The gradients of each step."""
        return {"steps": array(step_shape(), len(call["steps"]))}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Calls that did not meet."""
        return broken_off(run)

    def judge(self, case: dict, call: Call) -> Sequence[Finding | Diagnosis]:
        """What was sent, when it was waited for, and the numbers; last, when it left."""
        traffic = traffic_mistakes(call.noted, self.sizes(call.plan), self.ordered)
        if alone := [each for each in traffic if each.key in ("nothing-sent", "one-gradient-again")]:
            beside = call.plan["beside"]
            return [sent_nothing(each, call.noted, beside) if each.key == "nothing-sent" else each for each in alone]
        ready, inside, broken = self.ready(call.plan), call.plan["steps"], call.plan["broken"]
        moments = overlap_mistakes(call.noted, ready, inside, broken, in_all=not traffic) if ready else []
        if left := left_waiting(call.events):
            found = weights_changed(0, [own[0] for own in call.of("steps")])
            if traffic and call.plan["network"] == "quick":  # elsewhere the averages are those of a moment
                found = average_mistakes(call.plan, call.of("steps"))
            return [*left, *found, *traffic, *moments]
        if any(isinstance(each, Diagnosis) and each.subject == EARLY for each in moments):
            return moments
        return [*average_mistakes(call.plan, call.of("steps")), *traffic, *moments]
