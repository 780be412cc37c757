"""The check of `validate`: how the model runs and is left, and the mean over all ranks."""

import torch

from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_shares
from autograde.rubric import (
    WEIGHED,
    CallCheck,
    Criterion,
    DeviceCriterion,
    MeanOnAll,
    Part,
    Ranks,
    Same,
    Words,
    first_of,
    given,
    mode_stays,
    no_graph,
    on_ranks,
    once,
)
from course.models.translator.sentences import collate

from ..probes import validate
from ..shared.model import left_in_grad, state_of, token_loss

words = Words("""
wrapper-waits: The ranks would wait for each other for ever: in a forward pass, DistributedDataParallel broadcasts rank
0's buffers to all ranks, and from rank to rank it does so {by_rank} times. What is inside the wrapper, and does calling
it communicate?

rank-0-alone: Rank 0 would wait for ever: it alone runs the model through DistributedDataParallel, which broadcasts its
buffers to all the others.

model-changed: After validation, the model's parameters, buffers or gradients are not what they were before.

empty-rank: Where a rank has no batch, {who:raises|raise} an error ({error}). What should such a rank contribute, so
that the others can go on?
""")
NO_NUMBER = """
empty-rank-without-a-number: Where a rank has no batch, {who:returns|return} no finite number. What should such a rank
contribute, so that the others can go on?
"""


@once
def parts(call):
    """The batches of all ranks, at the model's parameters in eval mode."""
    model, size = (
        AwkwardTranslator(call.arguments["seed"], norm=call.arguments["norm"]).eval(),
        call.arguments["batch_size"],
    )
    found = []
    with torch.no_grad():
        for rank, own in enumerate(call.arguments["shares"]):
            for start in range(0, len(own), size):
                total, count, places = token_loss(model, collate(own[start : start + size]))
                found.append(Part(rank, total.item(), count, places))
    return found


def without_batch(arguments):
    return {rank for rank, own in enumerate(arguments["shares"]) if not own}


def no_number(call):
    missing = [rank for rank, value in enumerate(call.of("value")) if value.value is None]
    alone = missing and ({*missing} <= without_batch(call.arguments) or 0 in missing)
    return {"who": Ranks(missing)} if alone and without_batch(call.arguments) else False


def nobody_waits(call):
    """The wrapper would broadcast its buffers equally often on all ranks, if at all."""
    counts = call.of("broadcasts")
    if len({*counts}) < 2:
        return None
    return words("wrapper-waits" if any(counts[1:]) else "rank-0-alone", by_rank=counts)


def before(call):
    """By rank, parameters and buffers, and gradients."""
    model = AwkwardTranslator(call.arguments["seed"], norm=call.arguments["norm"])
    return [[state_of(model), left_in_grad(call.arguments["seed"], rank, model)] for rank in range(call.size)]


def broke_off(run):
    """Ranks without batches raise an error."""
    if run.errors and {*run.errors} <= without_batch(run.broken):
        return words("empty-rank", run.report, who=Ranks(run.errors), error=next(iter(run.errors.values())))
    return None


def draw_call(rng, counts, norm):
    return {"shares": draw_shares(rng, counts), "norm": norm, "seed": rng.randrange(10**6), "batch_size": 3}


def case(rng, counts, norm, *modes, **more):
    """A case in which each rank has so many pairs, with a call for each mode in which the model comes."""
    call = draw_call(rng, counts, norm)
    return {"size": len(counts), **more, "calls": [{**call, "train": mode == "train"} for mode in modes]}


def cases(rng):
    """A rank with none, also rank 0; BatchNorm; equally many batches of unequal sizes; a rank that weighs more."""
    few = rng.randint(1, 2)
    cases = [case(rng, [rng.randint(7, 8), few, 0], False, "train", "eval")]
    cases += [case(rng, [few, rng.randint(4, 5), rng.randint(10, 11), 0], True, "train")]
    cases += [case(rng, [0, rng.randint(4, 6), few], True, "eval")]
    cases += [case(rng, [rng.randint(7, 8), few, 0], False, "train", "eval", **{WEIGHED: True})]
    return [*cases, case(rng, [0, few, rng.randint(4, 6)], True, "eval", "train"), case(rng, [5, 4], True, "eval")]


MEAN = MeanOnAll(parts)
UNCHANGED = Same(
    lambda call: [[seen.state, seen.gradients] for seen in call.seen],
    before,
    on_ranks("the model"),
    otherwise=lambda call, off: words("model-changed"),
)
CHECK = CallCheck.of(
    "validate",
    validate.PROBE,
    cases,
    Criterion(
        "mode",
        1,
        "batches run in eval mode; afterwards the model is in the mode in which it came",
        mode_stays,
    ),
    Criterion(
        "mean",
        1.25,
        "all ranks return the same float: the losses of all ranks, divided by the number of all their tokens",
        MEAN,
        MEAN.mistakes("tokens", NO_NUMBER, empty_rank_without_a_number=no_number),
        after=("mode",),
    ),
    Criterion(
        "unchanged",
        0.75,
        "no graph is recorded; afterwards parameters, buffers and gradients are what they were, and torch records "
        "gradients again",
        first_of(no_graph, UNCHANGED),
        after=("mode",),
    ),
    Criterion(
        "waits",
        0.5,
        "no rank waits for another one's batches, also where the model has buffers",
        nobody_waits,
        on=given("norm"),
    ),
    DeviceCriterion(0.5, "batches and what is reduced are on the device of the model's parameters"),
    repeats=False,
    broke_off=broke_off,
    gpu_case=lambda rng: case(rng, [2, 1], False, "train"),
    consolidation="Every sentence counts once, whichever rank has it, and a rank without batches still takes part in "
    "the sum. The model inside the wrapper can be called without waiting for anybody.",
)
