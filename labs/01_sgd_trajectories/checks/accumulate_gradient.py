"""The check of `accumulate_gradient`: how much each micro-batch counts in the gradient, and what else has changed."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import torch

from autograde.fixtures.numbered_net import SIZES
from autograde.rubric import (
    Call,
    CallCheck,
    Criterion,
    Run,
    Words,
    Wrong,
    argument_unchanged,
    first_of,
    mean_gradient,
    why_it_broke_off,
)
from autograde.verdicts import one_process

from ..probes import accumulate_gradient as probe
from ..shared.micro_batches import batches_of, left_over, loss_of, model_of

CARRIED, UNCLEAR = "gradient-carried-over", ("no-gradient", "wrong-gradient", "parameters-moved")

words = Words("""
no-gradient: After the call, `.grad` of {names} is None or zero: no micro-batch has left anything there.

frozen-has-gradient: After the call, a frozen or unused parameter has a gradient, or its `requires_grad` has changed.

none-gradient: {error} That is a parameter whose `.grad` is None: there was no `backward` yet, or
it is frozen, or no micro-batch has used it. Large models often have some that are frozen.

all-at-once: Several micro-batches go through the model in one forward pass. A micro-batch saves memory only if it is
done with before the next one begins.

parameters-moved: The parameters have changed, so a step was taken. This function only leaves a gradient; the code that
calls it takes the step.

mode-changed: The model was in {before} mode when your function was called, and is in the other one afterwards. Dropout
and the like behave otherwise from then on. Who decides which mode it is in?

backward-changed: After the call, `backward` on the model leaves another gradient than before: something that your
function registered, such as a hook, is still there. Remove it before you return.
""")


def found_in(call: Call) -> list[Wrong]:
    """What is wrong with the gradient of the weight and the bias."""
    [seen], names = call.seen, probe.PARAMETERS[:2]
    if empty := [
        name for name, own in zip(names, seen.grads, strict=False) if not any(each != 0 for each in own.entries)
    ]:
        return [words("no-gradient", names=" and ".join(empty))]
    loss = one_process.mean_over_samples(loss_of(call.arguments))
    parts = one_process.parts_of(model_of(call.arguments), loss, [batches_of(call.arguments)], names)
    row = torch.cat([each.flatten() for each in left_over(call.arguments)])
    numbers = [each for own in seen.grads[:2] for each in own.entries]
    found = mean_gradient(parts, [numbers], [row] * call.arguments["left"])
    return [words("parameters-moved")] if found and seen.moved else found


def gradient(call: Call) -> Wrong | None:
    """How much each micro-batch counts."""
    return next((wrong for wrong in found_in(call) if wrong.key != CARRIED), None)


def from_zero(call: Call) -> Wrong | None:
    """What lay in `.grad` before does not count; where nobody can tell, the gradient is wrong."""
    return next((wrong for wrong in found_in(call) if wrong.key in (CARRIED, *UNCLEAR)), None)


def frozen_stay(call: Call) -> Wrong | None:
    """What is frozen, or not used, gets no gradient."""
    [seen] = call.seen
    touched = seen.thawed or any(any(each.entries) for each in seen.grads[2:])
    return words("frozen-has-gradient") if touched else None


def nothing_done(call: Call) -> Wrong | None:
    """What is wrong where there is no gradient, as for a function that does nothing."""
    return next((wrong for wrong in found_in(call) if wrong.key == "no-gradient"), None)


def one_at_a_time(call: Call) -> Wrong | None:
    """No forward pass has samples of several micro-batches."""
    return words("all-at-once") if call.seen[0].together else nothing_done(call)


def nothing_else(call: Call) -> Wrong | None:
    """The model and the micro-batches are what they were."""
    [seen], before = call.seen, call.arguments["training"]
    if seen.moved:
        return words("parameters-moved")
    if seen.training != before:
        return words("mode-changed", before="train" if before else "eval")
    changed = ["micro_batches"] * seen.changed
    if seen.hooked:
        return words("backward-changed")
    return argument_unchanged(replace(call, changed=[changed])) or nothing_done(call)


def usual(arguments: dict[str, Any]) -> bool:
    """Whether no parameter is frozen or unused."""
    return not arguments["frozen"]


class AccumulateGradient(CallCheck):
    """Unequal micro-batches and one alone; where gradients are left over, and where parameters are frozen or unused."""

    todo, probe = "accumulate_gradient", probe.PROBE
    inputs = ("sizes", "loss")
    consolidation = (
        "Weighted by their numbers of samples, the micro-batches give exactly the gradient of the whole batch. Memory "
        "limits the micro-batch, not the batch."
    )
    criteria = (
        Criterion(
            "gradient",
            1.75,
            "the gradient is that of the mean loss over all samples, whatever the sizes of the micro-batches",
            gradient,
            on=usual,
        ),
        Criterion(
            "from-zero",
            0.75,
            "it starts from zero: whatever `.grad` holds when the function is called is discarded",
            from_zero,
            on=lambda arguments: arguments["left"],
            after=("gradient",),
        ),
        Criterion("one-at-a-time", 0.5, "one micro-batch at a time goes through the model", one_at_a_time, on=usual),
        Criterion(
            "nothing-else",
            0.5,
            "nothing else changes: parameters, `requires_grad`, train mode and micro_batches stay, and no hook is left "
            "that would change what a later `backward` gives. There is no optimizer step",
            nothing_else,
            on=usual,
        ),
        Criterion(
            "frozen",
            0.5,
            "it also works where parameters are frozen (`requires_grad=False`) or unused; their `.grad` stays None or "
            "zero",
            first_of(frozen_stay, gradient),
            on=lambda arguments: arguments["frozen"],
            after=("gradient",),
        ),
    )

    def broke_off(self, run: Run) -> Wrong | None:
        """An error of a gradient that is None."""
        errors = [rank["error"] for rank in run.ranks if rank["error"]]
        if not any("NoneType" in each["message"] and "grad" in (each["source"] or "") for each in errors):
            return None
        return words("none-gradient", run.report, error=why_it_broke_off(run).message)

    def fits(self, case: dict, arguments: dict, seen: probe.Seen) -> bool:
        """Nothing for a parameter, or all its numbers."""
        sizes = [SIZES[name] for name in probe.PARAMETERS]
        return all(len(own.entries) in (0, size) for own, size in zip(seen.grads, sizes, strict=True))

    def cases(self, rng: random.Random) -> list[dict]:
        """Sizes of the micro-batches; a model with frozen and unused parameters comes by itself, as it may break."""

        def call(*sizes: int, loss: str = "mse", left: bool = False, frozen: bool = False) -> dict:
            about = {"sizes": [*sizes], "loss": loss, "left": left, "frozen": frozen, "training": len(sizes) > 1}
            return about | {"seed": rng.getrandbits(30)}

        usual = [call(5, 2, 3), call(4, 1, 6, 2, loss="cross_entropy", left=True), call(6, left=True)]
        return [{"calls": usual}, {"calls": [call(1, 7, loss="cross_entropy", frozen=True), call(6, frozen=True)]}]


CHECK = AccumulateGradient()
