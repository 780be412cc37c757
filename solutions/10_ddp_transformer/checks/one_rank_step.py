"""The check of `one_rank_step`: the gradient of a step, and the loss that is returned."""

from autograde.rubric import (
    SINGLE,
    CallCheck,
    Criterion,
    DeviceCriterion,
    EachRankReturns,
    Mistakes,
    Words,
    changed,
    of_seen,
)

from ..probes import one_rank_step
from .steps import LRS, draw_step, fits, loss_afterwards, mean_loss, parts, step_made

words = Words("""
not-train-mode: The model was not in train mode while it was trained: dropout and BatchNorm then do what they do in an
evaluation.
""")


def train_mode(call):
    return None if all(all(own) for own in call.of("modes")) else words("not-train-mode")


def loss(call, items=None):
    """The loss of the batch, divided by its tokens. items: by what else."""
    return parts(call)[0].total / (items or parts(call)[0].count)


VALUE = Mistakes(
    """
    loss-not-divided: The function returns {actual:.6g}, the sum of the losses. Expected is their mean over the tokens:
    {expected:.6g}.

    loss-with-padding: The function returns {actual:.6g}: the sum of the losses divided by all places in the batch,
    padding included. Over the tokens alone it is {expected:.6g}.

    loss-per-sentence: The function returns {actual:.6g}: the sum of the losses divided by the number of sentences.
    Expected is the mean over the tokens: {expected:.6g}.

    loss-after-step: The function returns {actual:.6g}, the loss after the step. Expected is the loss before it:
    {expected:.6g}.
    """,
    changed(
        loss,
        loss_not_divided={"items": 1},
        loss_with_padding={"items": lambda call: parts(call)[0].places},
        loss_per_sentence={"items": lambda call: len(call.arguments["batches"][0][0])},
        loss_after_step=loss_afterwards,
    ),
)


def case(rng, calls, norm):
    lr = rng.choice(LRS)
    return {"size": 1, "calls": [{**draw_step(rng, 1, 1, norm), "lr": lr} for _ in range(calls)]}


def cases(rng):
    """Several steps with one model; with BatchNorm and without."""
    return [case(rng, 3, False), case(rng, 2, True), case(rng, 2, True), case(rng, 2, False)]


CHECK = CallCheck.of(
    "one_rank_step",
    one_rank_step.PROBE,
    cases,
    Criterion("mode", 0.25, "the model is in train mode", train_mode),
    Criterion(
        "gradient",
        1,
        "`optimizer` makes one step; in `.grad` is the gradient of the mean loss per token then, and nothing else",
        step_made,
    ),
    Criterion(
        "value",
        0.5,
        "the mean loss per token before the step is returned, as a float",
        EachRankReturns(mean_loss, of_seen("value"), SINGLE),
        VALUE,
        after=("gradient",),
    ),
    DeviceCriterion(0.25, "the batch is on the device of the model's parameters"),
    repeats=False,
    fits=fits,
    gpu_case=lambda rng: case(rng, 1, False),
    consolidation="The mean loss per token is the sum divided by the number of tokens that count. Padding is in the "
    "tensors, and neither in the loss nor in that number.",
)
