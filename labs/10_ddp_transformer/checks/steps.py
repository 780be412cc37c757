"""One step on all ranks: how its cases are drawn, and its gradient beside that of one process."""

import torch

from autograde.fixtures.awkward_translator import draw_batches
from autograde.rubric import Words, expected_gradient, mean_gradient, once, same_gradient, with_gradients
from course.models.translator.sentences import collate

from ..shared.model import SteepTranslator, left_in_grad, parameters_of, token_loss, trained

STEEPEST = 10.0  # norm that each expected gradient has at least: clipping, mostly to 1 or 5, must not go unseen
LRS = (0.05, 0.1, 0.2)

words = Words("""
no-step: The optimizer makes no step. In which order do `zero_grad`, `backward` and `step` come?

several-steps: The optimizer made {n:step} in one call of your function.

scaled-too-late: When `optimizer.step` is called, `.grad` is not yet what it should be; after the call, it is. In which
order do scaling and `step` come?

rate-changed: The step is not that of the optimizer with its own learning rate. Adam and momentum keep the gradient:
what should be scaled is the gradient alone.

frozen-moved: A frozen parameter (`requires_grad=False`) has moved. Which parameters does your code change?
""")


def draw_step(rng, size, micro_batches, norm):
    """The micro-batches of a step on `size` ranks, by rank, and a seed for which the model's gradient is large."""
    while True:
        drawn = {"batches": draw_batches(rng, size, micro_batches), "norm": norm, "seed": rng.randrange(10**6)}
        if steep(drawn):
            return drawn


def steep(arguments):
    """Whether the gradient of the mean loss, and that of each micro-batch's mean, have a norm of STEEPEST at least."""
    parts = parts_of(arguments)
    whole = sum(part.gradient for part in parts) / sum(part.count for part in parts)
    return min(float(row.norm()) for row in (whole, *(part.gradient / part.count for part in parts))) >= STEEPEST


def model_of(arguments, training=True):
    return SteepTranslator(arguments["seed"], norm=arguments["norm"]).train(training)


def parts_of(arguments, training=True):
    """Each micro-batch of each rank, at the parameters before the step."""
    batches = [[collate(pairs) for pairs in own] for own in arguments["batches"]]
    return with_gradients(model_of(arguments, training), token_loss, batches)


@once
def parts(call):
    """The same, in the mode in which the model was."""
    modes = {each for own in call.of("modes") for each in own}
    return parts_of(call.arguments, modes != {False})


def mean_loss(call):
    return sum(part.total for part in parts(call)) / sum(part.count for part in parts(call))


def left(call):
    return [left_in_grad(call.arguments["seed"], rank, model_of(call.arguments)) for rank in range(call.size)]


def loss_afterwards(call):
    """The mean loss after the step that is right."""
    model, lr = model_of(call.arguments), call.arguments["lr"]
    rows = [part.gradient for part in parts(call)]
    step = iter((lr * sum(rows) / sum(part.count for part in parts(call))).split([p.numel() for p in trained(model)]))
    with torch.no_grad():
        for parameter in trained(model):
            parameter -= next(step).reshape(parameter.shape)
        batches = [collate(pairs) for own in call.arguments["batches"] for pairs in own]
        return sum(token_loss(model, batch)[0].item() for batch in batches) / sum(p.count for p in parts(call))


def fits(case, arguments, seen):
    """Rows have an entry for each parameter, or for each that is trained."""
    model = model_of(arguments)
    every, own = (sum(each.numel() for each in some) for some in (model.parameters(), trained(model)))
    rows = [len(each) for each in (seen.parameters, seen.gradients_after, seen.gradients)]
    return rows == [every, own, own if seen.steps else 0]


def step_made(call):
    """Each rank makes one step, with the gradient of the mean loss over the tokens of all ranks in `.grad`."""
    if not all(call.of("steps")):
        return words("no-step")
    if max(call.of("steps")) > 1:
        return words("several-steps", n=max(call.of("steps")))
    if found := mean_gradient(parts(call), call.of("gradients"), left(call), "tokens"):
        expected = expected_gradient(parts(call))
        late = all(same_gradient(row, expected) for row in call.of("gradients_after"))
        return words("scaled-too-late") if late else found[0]
    return moved(call)


def moved(call):
    """The parameters moved by the learning rate times the gradient, and frozen ones did not."""
    before, model = parameters_of(model_of(call.arguments)), model_of(call.arguments)
    moving = torch.cat([torch.full((each.numel(),), each.requires_grad) for each in model.parameters()])
    for after, gradient in zip(call.of("parameters"), call.of("gradients"), strict=True):
        step = before - torch.tensor([float("nan") if each is None else each for each in after], dtype=before.dtype)
        if bool((step[~moving] != 0).any()):
            return words("frozen-moved")
        due = call.arguments["lr"] * torch.tensor(gradient, dtype=before.dtype)
        if not torch.allclose(step[moving], due, rtol=1e-5, atol=1e-9):
            return words("rate-changed")
    return None
