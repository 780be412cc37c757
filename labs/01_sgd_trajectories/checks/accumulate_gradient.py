"""The check of `accumulate_gradient`: how much each micro-batch counts in the gradient, and what else has changed."""

from dataclasses import replace

import torch

from autograde.fixtures.numbered_net import SIZES
from autograde.rubric import (
    CallCheck,
    Criterion,
    Words,
    argument_unchanged,
    first_of,
    given,
    lacking,
    mean_gradient,
    mean_over_samples,
    once,
    why_it_broke_off,
    with_gradients,
)

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

mode-changed: The model was in {before} mode when your function was called, and is in the other one {when}. Dropout and
the like behave otherwise then. Who decides which mode it is in?

backward-changed: After the call, `backward` on the model leaves another gradient than before: something that your
function registered, such as a hook, is still there. Remove it before you return.
""")


def empty(call):
    """Names of the weight and the bias, as far as their `.grad` are None or zero."""
    pairs = zip(probe.PARAMETERS[:2], call.seen[0].grads, strict=False)
    return [name for name, own in pairs if not any(each != 0 for each in own.entries)]


@once
def found_in(call):
    """All that is wrong with the gradient of the weight and the bias."""
    [seen], about = call.seen, call.arguments
    if names := empty(call):
        return [words("no-gradient", names=" and ".join(names))]
    loss = mean_over_samples(loss_of(about))
    parts = with_gradients(model_of(about), loss, [batches_of(about)], probe.PARAMETERS[:2])
    row = torch.cat([each.flatten() for each in left_over(about)])
    numbers = [each for own in seen.grads[:2] for each in own.entries]
    found = mean_gradient(parts, [numbers], [row] * about["left"])
    return [words("parameters-moved")] if found and seen.moved else found


def gradient(call):
    return next((wrong for wrong in found_in(call) if wrong.key != CARRIED), None)


def from_zero(call):
    """What lay in `.grad` before does not count; where nobody can tell, the gradient is wrong."""
    return next((wrong for wrong in found_in(call) if wrong.key in (CARRIED, *UNCLEAR)), None)


def frozen_stay(call):
    [seen] = call.seen
    touched = seen.thawed or any(any(each.entries) for each in seen.grads[2:])
    return words("frozen-has-gradient") if touched else None


def nothing_done(call):
    """What is wrong where there is no gradient at all, as for a function that does nothing."""
    return gradient(call) if len(empty(call)) == 2 else None


def one_at_a_time(call):
    return words("all-at-once") if call.seen[0].together else nothing_done(call)


def nothing_else(call):
    """The model and the micro-batches are what they were."""
    [seen], before = call.seen, call.arguments["training"]
    if seen.moved:
        return words("parameters-moved")
    if seen.training != before or seen.other_mode:
        when = "afterwards" if seen.training != before else "while the micro-batches go through it"
        return words("mode-changed", before="train" if before else "eval", when=when)
    if seen.hooked:
        return words("backward-changed")
    changed = [["micro_batches"] * seen.changed]
    return argument_unchanged(replace(call, changed=changed)) or nothing_done(call)


def broke_off(run):
    """An error of a gradient that is None."""
    errors = [rank["error"] for rank in run.ranks if rank["error"]]
    if not any("NoneType" in each["message"] and "grad" in (each["source"] or "") for each in errors):
        return None
    return words("none-gradient", run.report, error=why_it_broke_off(run).message)


def whole(case, arguments, seen):
    """Whether there is nothing for a parameter, or all its numbers."""
    sizes = [SIZES[name] for name in probe.PARAMETERS]
    return all(len(own.entries) in (0, size) for own, size in zip(seen.grads, sizes, strict=True))


def cases(rng):
    """Unequal micro-batches and one alone, also with gradients that are left over; a model with frozen and unused
    parameters comes by itself, as it may break."""

    def call(*sizes, loss="mse", left=False, frozen=False):
        about = {"sizes": [*sizes], "loss": loss, "left": left, "frozen": frozen, "training": len(sizes) > 1}
        return about | {"seed": rng.getrandbits(30)}

    usual = call(5, 2, 3), call(4, 1, 6, 2, loss="cross_entropy", left=True), call(6, left=True)
    return [(None, *usual), (None, call(1, 7, loss="cross_entropy", frozen=True), call(6, frozen=True))]


MEAN = "the gradient is that of the mean loss over all samples, whatever the sizes of the micro-batches"
ZERO = "it starts from zero: whatever `.grad` holds when the function is called is discarded"
NOTHING_ELSE = (
    "nothing else changes: parameters, `requires_grad`, train mode and micro_batches stay, and no hook is left that "
    "would change what a later `backward` gives. There is no optimizer step"
)
FROZEN = "it also works where parameters are frozen (`requires_grad=False`) or unused; their `.grad` stays None or zero"
ONE = "one micro-batch at a time goes through the model"
CHECK = CallCheck.of(
    "accumulate_gradient",
    probe.PROBE,
    cases,
    Criterion("gradient", 1.75, MEAN, gradient, on=lacking("frozen")),
    Criterion("from-zero", 0.75, ZERO, from_zero, on=given("left"), after=("gradient",)),
    Criterion("one-at-a-time", 0.5, ONE, one_at_a_time, on=lacking("frozen")),
    Criterion("nothing-else", 0.5, NOTHING_ELSE, nothing_else, on=lacking("frozen")),
    Criterion("frozen", 0.5, FROZEN, first_of(frozen_stay, gradient), on=given("frozen"), after=("gradient",)),
    inputs=("sizes", "loss"),
    repeats=False,  # each call has another model
    fits=whole,
    broke_off=broke_off,
    consolidation="Weighted by their numbers of samples, the micro-batches give exactly the gradient of the whole "
    "batch. Memory limits the micro-batch, not the batch.",
)
