"""The check of `train_step`: when gradients are synchronised, the step's gradient, and the mean loss of all ranks."""

from autograde.rubric import CallCheck, Criterion, DeviceCriterion, MeanOnAll, changed

from ..probes import train_step
from .passes import one_by_one, synchronised_once
from .steps import LRS, draw_step, fits, loss_afterwards, parts, step_made


def last_losses(call):
    micro = len(call.arguments["batches"][0])
    return sum(part.total for part in parts(call)[micro - 1 :: micro]) / sum(part.count for part in parts(call))


# DistributedDataParallel makes calls of its own besides, which are not recorded: no mean comes of these.
VALUE = MeanOnAll(parts, of_record=False)
OTHER_LOSSES = """
loss-after-step: The function returns {actual:.6g}, the loss after the step. Expected is the loss before it:
{expected:.6g}.

last-loss-only: The function returns {actual:.6g}: only the losses of the last micro-batches are in it, divided by all
tokens. Expected is {expected:.6g}.
"""


def case(rng, size, micro_batches, norm=False):
    lr = rng.choice(LRS)
    return {"size": size, "calls": [{**draw_step(rng, size, count, norm), "lr": lr} for count in micro_batches]}


def cases(rng):
    """Two steps on all ranks; ten micro-batches; BatchNorm, and in the end a single micro-batch; one rank."""
    cases = [case(rng, 4, [3, 2]), case(rng, 2, [10]), case(rng, 3, [4, 1], norm=True), case(rng, 1, [2])]
    return [*cases, case(rng, 3, [2]), case(rng, 4, [2, 3, 1], norm=True)]


CHECK = CallCheck.of(
    "train_step",
    train_step.PROBE,
    cases,
    Criterion(
        "passes",
        0.25,
        "in train mode, each micro-batch goes forward and backward before the next one goes forward",
        one_by_one,
    ),
    Criterion(
        "synchronised",
        0.5,
        "the gradients cross the network once, in the backward pass of the last micro-batch; besides, there are up to "
        "two all-reduces of up to 8 numbers",
        synchronised_once,
    ),
    Criterion(
        "gradient",
        0.75,
        "`optimizer` makes one step; in `.grad` is the gradient of L then, and nothing else",
        step_made,
        after=("synchronised",),
    ),
    Criterion(
        "value",
        0.25,
        "L as it was before the step is returned: the same float on all ranks",
        VALUE,
        VALUE.mistakes(
            "tokens",
            OTHER_LOSSES,
            also=changed(loss_after_step=loss_afterwards, last_loss_only=last_losses),
        ),
        after=("gradient",),
    ),
    DeviceCriterion(0.25, "the micro-batches and what is reduced are on the device of the model's parameters"),
    repeats=False,
    fits=fits,
    gpu_case=lambda rng: case(rng, 2, [1]),
    consolidation="One small all-reduce tells every rank the number of all tokens, and with it the step is that of a "
    "single process. Sums can be combined exactly; means of unequal parts cannot.",
)
