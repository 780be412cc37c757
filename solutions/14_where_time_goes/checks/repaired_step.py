"""The check of `repaired_step`: the gradients and the loss of the step, and what it costs, counted."""

import torch

from autograde.rubric import (
    CallCheck,
    Collectives,
    Criterion,
    EachRankReturns,
    Mistakes,
    Same,
    Words,
    changed,
    first_of,
    of_seen,
    once,
)

from ..probes import repaired_step
from ..shared.small_steps import before_of, loss_fn, micro_batches, model_of

words = Words("""
waits-too-often: In a step of {micro} micro-batches, rank {rank} waits for the device {n:time}. A number that is read in
Python, as by `.item()`, is waited for. How long can the sum stay a tensor?

second-forward-pass: In a step of {micro} micro-batches, the model is called {n:time}. Each call computes a forward
pass. Where is the loss already?

too-few-passes: In a step of {micro} micro-batches, the model is called {n:time}. Each micro-batch needs a forward pass
of its own.
""")


def micro(call):
    return call.arguments["micro"]


@once
def parts(call):
    """By rank and micro-batch, the loss and the gradients."""
    return parts_by(call, loss_fn)


@once
def swapped(call):
    """The same, where the loss gets its arguments in the other order."""
    return parts_by(call, lambda outputs, y: loss_fn(y, outputs))


def parts_by(call, loss_fn):
    model = model_of(call.arguments)
    trained = [each for each in model.parameters() if each.requires_grad]

    def part(x, y):
        loss = loss_fn(model(x), y)
        return loss.item(), torch.autograd.grad(loss, trained)

    return [[part(*each) for each in micro_batches(call.arguments, rank)] for rank in range(call.size)]


def before(call, rank):
    """What was in `.grad` of the parameters that are trained; zeros if nothing was."""
    model = model_of(call.arguments)
    pairs = zip(model.parameters(), before_of(call.arguments, rank), strict=True)
    return [torch.zeros_like(each) if old is None else old for each, old in pairs if each.requires_grad]


def grads(call, of=parts, over=lambda own: own, by=lambda call: call.size * micro(call), own=False, kept=False):
    """By rank and parameter, what is in `.grad` in the end. of: the parts by rank. over: of a rank's parts, those that
    are summed. by: what the sum is divided by. own: whether each rank has its own alone. kept: whether what was there
    is added."""
    frozen = [not each.requires_grad for each in model_of(call.arguments).parameters()]

    def of_rank(rank):
        chosen = [each for other in range(call.size) if other == rank or not own for each in over(of(call)[other])]
        summed = [sum(each) / by(call) for each in zip(*(gradients for _, gradients in chosen), strict=True)]
        if kept:
            added = [before(call, other) for other in range(call.size)]
            summed = [each + sum(old[place] for old in added) / call.size for place, each in enumerate(summed)]
        found = iter(summed)
        return [None if none else next(found) for none in frozen]

    return [*map(of_rank, range(call.size))]


def losses(call, of=lambda own: sum(loss for loss, _ in own) / len(own), choose=None, by=parts):
    """By rank, what is returned. of: a rank's parts. choose: of these numbers by rank, what each returns. by: the parts
    by rank."""
    own = [of(each) for each in by(call)]
    return choose(own) if choose else [sum(own) / len(own)] * call.size


def few_waits(call):
    """Each rank waits once at most."""
    most = max(call.of("waits"))
    if most <= 1:
        return None
    micro = call.arguments["micro"]
    return words("waits-too-often", micro=micro, n=most, rank=call.of("waits").index(most))


def one_pass_each(call):
    """The model is called once for each micro-batch."""
    micro, wrong = call.arguments["micro"], [each for each in call.of("passes") if each != call.arguments["micro"]]
    if not wrong:
        return None
    return words("second-forward-pass" if wrong[0] > micro else "too-few-passes", micro=micro, n=wrong[0])


def sent(call):
    """How many collectives each rank makes."""
    return [sum(event["library"] == "torch" for event in log) for log in call.events]


def trained(call):
    """How many parameters get a gradient."""
    return sum(each.requires_grad for each in model_of(call.arguments).parameters())


def for_each_parameter(call):
    return any(0 <= each - trained(call) <= 1 for each in sent(call))


def for_each_micro_batch(call):
    count, micro = trained(call), call.arguments["micro"]
    return any(each in (micro, micro + 1, 2 * micro, count * micro, count * micro + 1) for each in sent(call))


GRADIENT = Mistakes(
    """
    ranks-summed: Each gradient is {size} times what it should be: the sum over the ranks, not their mean.

    micro-batches-summed: The gradient is that of the sum over the micro-batches, not of their mean.

    own-gradient-only: Each rank has the mean of its own micro-batches. Where do the other ranks' come in?

    last-micro-batch-only: Only the last micro-batch of each rank is in the gradient. What happens to `.grad` between
    two of them?

    carried-over: What was in `.grad` before the call is in the result, too.

    averaged-twice: The mean over the ranks is divided by their number once more.

    arguments-swapped: The gradient is that of `loss_fn(y, outputs)`. Which of the two comes first?
    """,
    changed(
        grads,
        ranks_summed=lambda call: grads(call, **times_size(call)) if call.size > 1 else None,
        micro_batches_summed=lambda call: (
            grads(call, by=lambda call: call.size) if call.arguments["micro"] > 1 else None
        ),
        own_gradient_only=lambda call: grads(call, own=True, by=micro) if call.size > 1 else None,
        last_micro_batch_only=[
            {"over": lambda call: lambda own: own[-1:]},
            {"over": lambda call: lambda own: own[-1:], "by": lambda call: lambda call: call.size},
        ],
        carried_over=lambda call: grads(call, kept=True) if call.arguments["left"] else None,
        averaged_twice=lambda call: (
            grads(call, by=lambda call: call.size**2 * call.arguments["micro"]) if call.size > 1 else None
        ),
        arguments_swapped=lambda call: grads(call, of=swapped),
    ),
)


def times_size(call):
    return {"by": micro}


LOSS = Mistakes(
    """
    own-loss: Each rank returns the mean over its own micro-batches.

    losses-summed: The sum of the ranks' losses is returned, {size} times their mean.

    micro-batch-losses-summed: The losses of the micro-batches are summed up: {actual}. Expected is their mean:
    {expected}.

    last-loss-only: Only the last micro-batch of each rank is in the loss.

    arguments-swapped: The loss is `loss_fn(y, outputs)`. Which of the two comes first?
    """,
    changed(
        losses,
        own_loss=lambda call: losses(call, choose=list) if call.size > 1 else None,
        losses_summed=lambda call: losses(call, choose=lambda own: [sum(own)] * len(own)) if call.size > 1 else None,
        micro_batch_losses_summed=lambda call: losses(call, of=lambda own: sum(loss for loss, _ in own)),
        last_loss_only=[
            lambda call: losses(call, of=lambda own: own[-1][0]),
            lambda call: losses(call, of=lambda own: own[-1][0] / len(own)),
        ],
        arguments_swapped=lambda call: losses(call, by=swapped),
    ),
)
SENT = Mistakes(
    """
    all-reduce-for-each-parameter: There is still an all-reduce for each parameter. Each pays its latency. What can be
    sent as one row?

    all-reduce-for-each-micro-batch: There is an all-reduce for each micro-batch. Gradients add up in `.grad`: when do
    they have to cross the network?
    """,
    all_reduce_for_each_parameter=for_each_parameter,
    all_reduce_for_each_micro_batch=for_each_micro_batch,
)


def where(call, place):
    rank, number, *entry = place
    return f"On rank {rank}, {f'entry {entry[0]} of ' if entry else ''}`.grad` of parameter {number}"


def cases(rng):
    """Several micro-batches and a single one; gradients left from before; several ranks, and one."""

    def call(micro, left):
        count = rng.randint(4, 6)
        return {"widths": [rng.randint(2, 5) for _ in range(count)], "micro": micro, "left": left}

    yield 4, call(rng.randint(3, 5), True), call(2, False)
    yield 3, call(rng.randint(3, 5), False), call(1, True)
    yield 2, call(rng.randint(3, 5), True)
    yield 1, call(rng.randint(3, 5), True)


CHECK = CallCheck.of(
    "repaired_step",
    repaired_step.PROBE,
    cases,
    Criterion(
        "gradient",
        0.75,
        "afterwards `.grad` is the mean of the gradients of all micro-batches of all ranks, and nothing else; of a "
        "frozen parameter, None",
        Same(of_seen("grads"), grads, where),
        GRADIENT,
    ),
    Criterion(
        "passes",
        0.5,
        "the model is called once for each micro-batch",
        one_pass_each,
    ),
    Criterion(
        "all-reduces",
        0.75,
        "each rank makes one or two all-reduces, and communicates nothing else (a single rank need not communicate)",
        Collectives("torch", "allreduce", "all-reduce", most=2),
        SENT,
    ),
    Criterion(
        "loss",
        1,
        "the mean loss of all micro-batches of all ranks is returned, and each rank waits for its device once at most",
        first_of(few_waits, EachRankReturns(losses, of_seen("loss"))),
        LOSS,
    ),
    inputs=("micro",),
    consolidation="What is asked of the device, and of the network, is asked once for all of it.",
    fits=lambda case, arguments, seen: len(seen.grads) == 2 * (len(arguments["widths"]) - 1),
)
