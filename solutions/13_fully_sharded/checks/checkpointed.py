"""The check of `checkpointed`: the layer's own results, nothing kept, two calls, the same random numbers."""

from __future__ import annotations

import random

import torch

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion
from autograde.rubric.judges.arrays import alike
from autograde.rubric.words import Words, Wrong

from ..probes import checkpointed as probe
from ..shared.recomputed import Counted, samples_of, seed_of

words = Words("""
no-tensor-returned: Your function returns {kind}, where a tensor is expected.

other-output: The output is not that of layer(x).

no-gradient-without-x: Where x needs no gradient, the layer's parameters get none. A function of autograd's has a
backward pass only if one of its arguments needs a gradient. Which arguments has yours?

parameters-without-gradients: The output is right, but the layer's parameters get no gradients. What has autograd
watched in the backward pass?

gradient-of-x-missing: The layer's parameters have their gradients, but x has none, or zeros. What does `backward` of
your function return?

gradient-of-x-twice: The layer's parameters have their gradients, but that of x is twice what it should be. Your
backward pass goes back as far as x, and adds to its gradient; what `backward` returns is added, too. At which tensor
should it end?

other-gradients: The output is right, but gradients are not those of layer(x).

gradients-added-twice: The gradients of the layer's parameters are twice what they should be. `backward` adds them up in
`.grad`: who else does?

results-kept: Between the passes, {kept:byte} are kept besides x: the layer's intermediate results. When does autograd
watch the layer at work?

never-recomputed: The layer is called {forward:time} in the forward pass, and {backward:time} in the backward pass. Once
in each is expected.

library-called: Your function calls torch.utils.checkpoint, which does what you are to write.

other-random-numbers: Where the layer draws random numbers, gradients are not those of the output: it draws other ones
when it is called again. What has to be remembered?

random-numbers-set-back: After the backward pass, random numbers go on elsewhere than without it. Training would draw
some of them again. What has to be put back after the layer was called again?
""")


def alone(call: Call) -> list:
    """What the layer itself gives: output, and gradients."""
    layer = Counted(call.arguments, torch.Generator().manual_seed(seed_of(call.arguments)))
    x = samples_of(call.arguments)
    y = layer(x)
    y.square().sum().backward()
    return [
        each.numpy() for each in (y.detach(), x.grad, *(own.grad for own in layer.parameters())) if each is not None
    ]


def results(call: Call) -> Wrong | None:
    """Output and gradients."""
    [seen], needs = call.seen, call.arguments["needs"]
    (y, *got), (right, *due) = seen.got, alone(call)
    if not y.is_array:
        return words("no-tensor-returned", kind=y.kind)
    if not alike(y.entries, right):
        return words("other-output")
    same = [alike(one.entries, other) for one, other in zip(got, due, strict=True)]
    if all(same):
        return None
    x, parameters = (got[:1], got[1:]) if needs else ([], got)
    if not any(each.is_array for each in parameters):
        return words("parameters-without-gradients" if needs else "no-gradient-without-x")
    if x and all(same[1:]):
        if alike(x[0].entries, 2 * due[0]):
            return words("gradient-of-x-twice")
        if not x[0].is_array or alike(x[0].entries, 0 * due[0]):
            return words("gradient-of-x-missing")
    if all(alike(one.entries, 2 * other) for one, other in zip(parameters, due[len(x) :], strict=True)):
        return words("gradients-added-twice")
    return words("other-gradients")


def kept(call: Call) -> Wrong | None:
    """Nothing besides x."""
    return words("results-kept", kept=call.seen[0].kept) if call.seen[0].kept else None


def calls(call: Call) -> Wrong | None:
    """Once in each pass."""
    [seen] = call.seen
    if seen.library:
        return words("library-called")
    forward, both = seen.calls
    return None if (forward, both) == (1, 2) else words("never-recomputed", forward=forward, backward=both - forward)


def random_numbers(call: Call) -> Wrong | None:
    """The same ones again, and none lost."""
    if results(call) is not None:
        return words("other-random-numbers")
    return None if call.seen[0].random else words("random-numbers-set-back")


def draws(arguments: dict) -> bool:
    """Whether the layer draws random numbers."""
    return arguments["dropout"] > 0


class Checkpointed(CallCheck):
    """With and without a gradient of x, with and without dropout."""

    todo, probe = "checkpointed", probe.PROBE
    inputs = ("width", "hidden", "dropout")
    consolidation = "A third more computing, and of all that a layer works out on its way only its input stays."
    criteria = (
        Criterion(
            "results",
            1,
            "the output is that of layer(x), and so are all gradients: that of x, if it needs one, and those of the "
            "layer's parameters",
            results,
            on=lambda arguments: not draws(arguments),
        ),
        Criterion("kept", 1, "between the passes, none of the layer's intermediate results is kept", kept),
        Criterion(
            "calls",
            0.5,
            "the layer is called once in the forward pass, and once more in the backward pass, by your own code "
            "(`torch.utils.checkpoint` does the same)",
            calls,
        ),
        Criterion(
            "random",
            0.5,
            "where the layer draws random numbers, it draws the same ones again, and the random numbers after the "
            "backward pass are those that would have come without it",
            random_numbers,
            on=draws,
            after=("results",),
        ),
    )

    def fits(self, case: dict, arguments: dict, seen: probe.Seen) -> bool:
        """An output, and gradients."""
        return len(seen.got) == 4 + arguments["needs"] and len(seen.calls) == 2

    def cases(self, rng: random.Random) -> list[dict]:
        """Widths of the layer."""

        def call(needs: bool, dropout: float) -> dict:
            about = {"width": rng.randint(2, 4), "hidden": rng.randint(5, 8), "seed": rng.getrandbits(30)}
            return about | {"needs": needs, "dropout": dropout}

        return [{"calls": [call(True, 0.0), call(False, 0.0), call(True, 0.4)]}]


CHECK = Checkpointed()
