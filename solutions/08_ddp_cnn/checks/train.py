"""The check of `train`: alone and on ranks that begin with other weights, beside a replay in one process."""

from autograde.rubric import (
    CallCheck,
    Criterion,
    DeviceCriterion,
    Errors,
    Ranks,
    Words,
    first_of,
    given,
    lacking,
    nothing_starts_or_ends,
)

from ..probes import train
from .samples import OTHER_SAMPLES, SAMPLES, lacking_pass
from .training import ALONE_WRONGLY, OTHER_LOSSES, REPORT, TRAINED, TRAINED_WRONGLY, draw_training, right_alone

SMALL = 64  # bytes of a few numbers; the weights of the model take 96
SMALL_OBJECT = 1000  # likewise, pickled

words = Words("""
not-wrapped: On {size} ranks the model is never wrapped by DistributedDataParallel. Who averages the gradients, and who
sees to it that all ranks begin with the same weights?

wrapped-again: The model is wrapped {times} times in one call. Each time, weights are sent again, buckets are built and
hooks stay behind. When is it time to wrap?

wrapper-not-called: On {who} the forward pass goes past the wrapper. DistributedDataParallel averages the gradients of
what it has seen in a forward pass. Who is to call it?

ids-without-gpu: On a CPU, DistributedDataParallel takes no `device_ids`.

exchanged-by-hand: Besides DistributedDataParallel, the ranks call {op} on line {line}, with {bytes} bytes each. Its
backward pass has averaged the gradients already: with a real model, this would send everything a second time.

called-by-some: Only {who} calls {op} (line {line}). There it meets the next call of {others}, which may be one of the
backward pass, where nothing is wrong. A collective needs every rank: which `if` keeps some away?
""")


def wrapped(call):
    if max(call.of("wraps")) == 0 and call.size > 1:
        return words("not-wrapped", size=call.size)
    if max(call.of("wraps")) > 1:
        return words("wrapped-again", times=max(call.of("wraps")))
    past = lacking_pass(call, "through") if call.size > 1 else []
    return words.on_ranks("wrapper-not-called", past) or (words("ids-without-gpu") if any(call.of("ids")) else None)


def few_numbers(call):
    """What DistributedDataParallel itself sends is never recorded: it does so in C++."""
    for event in (event for log in call.events for event in log):
        if (event["bytes"] or 0) > (SMALL_OBJECT if "object" in event["op"] else SMALL):
            return words("exchanged-by-hand", op=event["op"], line=event["line"], bytes=event["bytes"])
    return None


def called_by_some(run):
    """Some ranks make a call of their own, and others none at all: it may meet one of the backward pass, which nobody
    records, and then the run ends in any way."""
    logs = run.of_call(0)
    callers = [rank for rank, log in enumerate(logs) if log]
    if run.state not in ("rank-died", "raised", "hang") or not 0 < len(callers) < len(logs):
        return None
    event, others = logs[callers[0]][0], Ranks(rank for rank, log in enumerate(logs) if not log)
    return words.on_ranks("called-by-some", callers, run.report, others=others, op=event["op"], line=event["line"])


def cases(rng):
    """On several ranks, or one, and alone; that comes last, as what fails there says nothing about groups. There is
    padding, and a last batch that is smaller."""
    sizes = [(4, False), (3, False), (2, False), (1, False), (1, True)]
    return [{"size": size, "calls": [draw_training(rng, size, alone)]} for size, alone in sizes]


def gpu_case(rng):
    """A single step on two ranks."""
    call = draw_training(rng, 2)
    return {"size": 2, "calls": [{**call, "epochs": 1, "samples": call["batch_size"]}]}


def fits(case, arguments, seen):
    return {name: len(own) for name, own in seen.state.items()} == {"weight": 12, "bias": 4}


CHECK = CallCheck.of(
    "train",
    train.PROBE,
    cases,
    Criterion(
        "samples",
        1.25,
        "each rank trains on the batches that its DistributedSampler deals out, `batch_size` samples of all ranks in a "
        "step, one forward pass for each",
        first_of(nothing_starts_or_ends, SAMPLES),
        OTHER_SAMPLES,
        on=lacking("alone"),
    ),
    Criterion(
        "trained",
        1.5,
        "`model` is wrapped once and called through the wrapper, which alone averages gradients; in the end it is that "
        "of SGD with momentum 0.9 and `lr` on the batches of all ranks, in train mode",
        first_of(wrapped, few_numbers, TRAINED),
        TRAINED_WRONGLY,
        on=lacking("alone"),
        after=("samples",),
    ),
    Criterion(
        "losses",
        1,
        "the mean loss over all samples that all ranks drew is returned, a float for each epoch",
        REPORT,
        OTHER_LOSSES,
        on=lacking("alone"),
        after=("trained",),
    ),
    Criterion(
        "alone",
        0.75,
        "it is the same training alone, without a process group",
        right_alone,
        ALONE_WRONGLY,
        on=given("alone"),
        after=("samples", "trained", "losses"),
    ),
    DeviceCriterion(0.5, "the model and what it is shown are on `device`"),
    repeats=False,
    gpu_case=gpu_case,
    broke_off=called_by_some,
    errors=Errors(
        """
        not-alone: Without a process group your function fails: {error} Alone, there is nobody to communicate with, and
        nothing to wrap.
        """,
        on=lambda run: run.broken["alone"],
        not_alone="process group",
    ),
    fits=fits,
    consolidation="A script that is the same training on any number of ranks can be tried on a laptop and trusted on a "
    "cluster. The batch of a step belongs to all ranks together; so do its loss and its learning rate.",
)
