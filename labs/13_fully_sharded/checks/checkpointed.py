"""The check of `checkpointed`: the layer's own results, nothing kept, two calls, the same random numbers."""

import torch

from autograde.rubric import (
    CallCheck,
    Criterion,
    Errors,
    Mistakes,
    Same,
    Words,
    alike,
    argument_unchanged,
    changed,
    first_of,
    given,
    lacking,
)

from ..probes import checkpointed
from ..shared.recomputed import Counted, before_of, samples_of, seed_of

words = Words("""
results-kept: Between the passes, {kept:byte} are kept besides x, such as the layer's intermediate results. When does
autograd watch the layer at work?

never-recomputed: The layer is called {forward:time} in the forward pass, and {backward:time} in the backward pass. Once
in each is expected.

library-called: Your function calls torch.utils.checkpoint, which does what you are to write.

other-random-numbers: Where the layer draws random numbers, gradients are not those of the output: it draws other ones
when it is called again. What has to be remembered?

random-numbers-set-back: After the {direction} pass, random numbers go on elsewhere than without your function. Training
would draw some of them again. Where do they have to be after the layer was called?

x-needs-a-gradient: Your function makes x need a gradient. Whoever called it has not asked for that.
""")
PARTS = "the output", "the gradient of x", *(f"the gradient of the layer's parameter {number}" for number in range(3))


def alone(call, x_times=1, parameters_times=1, x_before=1):
    """What the layer itself gives: output, and gradients, times what is said. x_before: times of what x has before."""
    about = call.arguments
    layer, x = Counted(about, torch.Generator().manual_seed(seed_of(about))), samples_of(about)
    y = layer(x)
    y.square().sum().backward()
    leaves = [*([x] if about["needs"] else []), *layer.parameters()]
    times = [*([(x_times, x_before)] if about["needs"] else []), *[(parameters_times, 1)] * 3]
    pairs = zip(times, leaves, before_of(about, leaves), strict=True)
    return [y.detach(), *(n * each.grad + (0 if old is None else m * old) for (n, m), each, old in pairs)]


def where(call, place):
    number, *entry = place
    what = PARTS[number if call.arguments["needs"] or not number else number + 1]
    return f"Entry {entry[0]} of {what}" if entry else what[0].upper() + what[1:]


def no_gradients(call):
    """Whether there is an output, and the parameters get no gradients; None where some are there before."""
    y, *_, first, bias, second = (each.is_array for each in call.seen[0].got)
    return None if call.arguments["before"] else y and not (first or bias or second)


def gradient_of_x_missing(call):
    if not call.arguments["needs"] or no_gradients(call):
        return False
    x = call.seen[0].got[1]
    return not x.is_array or alike(x.entries, alone(call, x_times=0)[1])


def kept(call):
    return words("results-kept", kept=call.seen[0].kept) if call.seen[0].kept else None


def calls(call):
    [seen] = call.seen
    if seen.library:
        return words("library-called")
    forward, both = seen.calls
    return None if (forward, both) == (1, 2) else words("never-recomputed", forward=forward, backward=both - forward)


def random_numbers(call):
    if RESULTS(call):
        return words("other-random-numbers")
    wrong = [name for name, right in zip(("forward", "backward"), call.seen[0].random, strict=True) if not right]
    return words("random-numbers-set-back", direction=wrong[0]) if wrong else None


def asked_for(call):
    return words("x-needs-a-gradient") if call.seen[0].needs and not call.arguments["needs"] else None


def cases(rng):
    """With and without a gradient of x, with and without dropout; and gradients that are there before."""

    def call(needs, dropout=0.0, before=False):
        about = {"width": rng.randint(2, 4), "hidden": rng.randint(5, 8), "seed": rng.getrandbits(30)}
        return about | {"needs": needs, "dropout": dropout, "before": before}

    return [{"calls": [call(True), call(False), call(True, before=True), call(True, 0.4)]}]


RESULTS = Same(lambda call: call.seen[0].got, alone, where)
MISTAKES = Mistakes(
    """
    no-gradient-without-x: Where x needs no gradient, the layer's parameters get none. A function of autograd's has a
    backward pass only if one of its arguments needs a gradient. Which arguments has yours?

    parameters-without-gradients: The output is right, but the layer's parameters get no gradients. What has autograd
    watched in the backward pass?

    gradient-of-x-missing: The layer's parameters have their gradients, but x has none, or zeros. What does `backward`
    of your function return?

    gradient-of-x-twice: The layer's parameters have their gradients, but that of x is twice what it should be. Your
    backward pass goes back as far as x, and adds to its gradient; what `backward` returns is added, too. At which
    tensor should it end?

    gradients-added-twice: The gradients of the layer's parameters are twice what they should be. `backward` adds them
    up in `.grad`: who else does?
    """,
    changed(
        alone,
        gradient_of_x_twice=[{"x_times": 2}, {"x_times": 2, "x_before": 2}],
        gradients_added_twice={"parameters_times": 2},
    ),
    no_gradient_without_x=lambda call: no_gradients(call) if not call.arguments["needs"] else False,
    parameters_without_gradients=no_gradients,
    gradient_of_x_missing=gradient_of_x_missing,
)
ERRORS = Errors(
    """
    not-watched: An error of PyTorch: {error}. There is no graph to go back through: inside of a function's `backward`,
    autograd does not watch what you compute, unless you tell it to.
    """,
    not_watched="element 0 of tensors does not require grad",
)
SAYS = (
    "the output is that of layer(x), and so are all gradients: that of x, if it needs one, and those of the layer's "
    "parameters; they are added to what is in `.grad`"
)
CALLS = (
    "the layer is called once in the forward pass, and once more in the backward pass, by your own code: do without "
    f"`{checkpointed.LIBRARY}`, which does the same"
)
RANDOM = (
    "where the layer draws random numbers, it draws the same ones again, and the random numbers after either pass are "
    "those that would have come without your function"
)
DROPS = lacking(dropout=0.0)

CHECK = CallCheck.of(
    "checkpointed",
    checkpointed.PROBE,
    cases,
    Criterion("results", 1, SAYS, RESULTS, MISTAKES, on=given(dropout=0.0)),
    Criterion("kept", 0.75, "between the passes, none of the layer's intermediate results is kept", kept),
    Criterion("calls", 0.5, CALLS, calls, after=("results", "kept")),
    Criterion("random", 0.5, RANDOM, random_numbers, on=DROPS, after=("results",)),
    Criterion("conduct", 0.25, "x stays as it is", first_of(asked_for, argument_unchanged)),
    consolidation="A third more computing, and of all that a layer works out on its way only its input stays.",
    inputs=("width", "hidden", "dropout"),
    errors=ERRORS,
    fits=lambda case, arguments, seen: (
        (len(seen.got), len(seen.calls), len(seen.random)) == (4 + arguments["needs"], 2, 2)
    ),
)
