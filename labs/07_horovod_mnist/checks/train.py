"""The check of `train`: how it starts, what it trains on, its history, and its checkpoints."""

from autograde.fixtures.numbered_net import BUFFERS, state_of
from autograde.rubric import (
    WEIGHED,
    CallCheck,
    Criterion,
    DeviceCriterion,
    Mistakes,
    Same,
    Words,
    changed,
    evenly,
    first_of,
    on_ranks,
)

from ..probes import train
from .files import OTHER_WRITERS, WRITERS, content
from .history import REPORT, REPORTED_WRONGLY, come_about, has_history, seconds, tested
from .runs import drawn, net
from .states import known as known_samples
from .states import whole
from .trained import FORMS, NEAR, TRAINED, final

words = Words("""
collective-on-some-ranks: A deadlock: the ranks wait for each other in different lines of your cell, {lines}. The
functions that average, broadcast or evaluate need every rank. Which line do some of the ranks skip?

not-trained-at-all: On {who} the model is never trained, neither by `train_epoch` nor by the function itself.

not-passed-on: On rank {rank}, the loader is made with the {name} {actual}; the argument is {expected}.

epoch-numbers: On rank {rank}, `train_epoch` is called with the epochs {told}. Epochs count from 0.

unknown-samples: The model is trained on what is no sample of the training set.

uneven-steps: The ranks train on {counts} batches in {epochs:epoch}. All ranks need equally many in each epoch.

eval-while-training: The model is in eval mode while it is trained.

same-order-every-epoch: Each epoch has the samples in one and the same order. What tells the sampler which epoch it is?
""")


def start(call, rank=0, buffers=None):
    """By rank, the state of a model before it is trained. rank: whose, None for each its own; buffers: the same."""
    came = [state_of(net(seed)) for seed in call.arguments["models"]]
    first = [came[own if rank is None else rank] for own in range(call.size)]
    return [one | {name: came[own][name] for name in BUFFERS} if buffers else one for own, one in enumerate(first)]


def trained_at_all(call):
    return words.on_ranks("not-trained-at-all", [rank for rank, begin in enumerate(call.of("begin")) if begin is None])


def passed_on(call):
    """What the check's functions are given, of those that are used."""
    about = call.arguments
    due = about["batch_size"], about["loader_seed"]
    for rank, seen in enumerate(call.seen):
        for n, *given in seen.loaders:
            pairs = zip(("batch size", "seed"), given, due, strict=True)
            other = [each for each in pairs if each[1] != each[2]] if n == about["samples"] else []
            if other:
                name, actual, expected = other[0]
                return words("not-passed-on", rank=rank, name=name, actual=actual, expected=expected)
        if seen.told not in ([], [*range(about["epochs"])]):
            return words("epoch-numbers", rank=rank, told=seen.told)
    return None


def draws(call):
    about = call.arguments
    if wrong := trained_at_all(call) or passed_on(call):
        return wrong
    if drawn(call) is None and not known_samples(call.of("batches"), about["samples"]):
        return words("unknown-samples")
    if drawn(call) is None:
        return words("uneven-steps", counts=[len(each) for each in call.of("batches")], **about)
    if not all(mode for own in call.of("train") for mode in own):
        return words("eval-while-training")
    orders = [[[each for ids in own for each in ids] for own in epoch] for epoch in drawn(call)]
    wrong = next(filter(None, (evenly(about["samples"], shares) for shares in orders)), None)
    alike = about["epochs"] > 1 and all(each == orders[0] for each in orders)
    return wrong or (words("same-order-every-epoch") if alike else None)


TRAINED_WRONGLY = Mistakes(
    """
    lr-not-scaled: On {size:rank} the learning rate is {lr}, as for one. Gradients are averaged: a step for the batches
    of {size:rank} is as long as a step for one batch.

    lr-scaled-by-local-size: The learning rate is {local_size} times that of one rank. There are {size:rank},
    {local_size} of them on each node. How many batches go into a step?

    lr-scaled-twice: The learning rate is scaled more than once on {size:rank}. What does `make_optimizer` do with it?

    own-gradient-only: Each of {size:rank} steps with its own gradient alone, so the ranks' models drift apart. What
    should average the gradients, and is it in use?

    gradients-summed: The ranks' gradients are added up where their average is expected.

    gradient-carried-over: What was in `.grad` before is still part of the step's gradient: `backward` adds to what is
    there. When does your code start from zero?

    momentum: The model in the end is that of SGD without momentum; expected is momentum 0.9. Is one optimizer used for
    all epochs?
    """,
    changed(final, **FORMS),
)


def broke_off(run):
    """The check's functions communicate by mpi4py, from lines of the student's."""
    last = [log[-1] if log else None for log in run.events]
    waits = [event for event in last if event is not None and event["end"] is None]
    lines = sorted({event["line"] for event in waits if event["line"] is not None})
    if run.state != "hang" or run.full or len(lines) < 2 or not any(event["library"] == "mpi4py" for event in waits):
        return None
    return words("collective-on-some-ranks", run.report, lines=lines)


def case(rng, size, local_size, pad=1, epochs=3):
    """Each rank draws five samples an epoch, three and two. pad: how many of them are there twice."""
    n = 5 * size - pad

    def order():
        ids = rng.sample(range(n), n)
        return [[*ids, *ids][rank : 5 * size : size] for rank in range(size)]

    call = {"local_size": local_size, "samples": n, "batch_size": 3, "tests": 2 * size + 1, "epochs": epochs}
    call |= {"lr": round(rng.uniform(0.02, 0.04), 4), "models": rng.sample(range(2**31), size)}
    call |= {"orders": [order() for _ in range(3)], "other": order(), "losses": [rng.uniform(0, 2) for _ in range(3)]}
    call |= {name: rng.randrange(2**31) for name in ("data", "test_data", "loader_seed")}
    return {"size": size, "calls": [call]}


def cases(rng):
    """Ranks on nodes of two, on nodes of their own, where a rank's part weighs more, and on one."""
    return [case(rng, 4, 2, pad=2), {**case(rng, 2, 1), WEIGHED: True}, case(rng, 3, 3)]


CHECK = CallCheck.of(
    "train",
    train.PROBE,
    cases,
    Criterion(
        "start",
        0.5,
        "all ranks start from the model that rank 0 has",
        first_of(trained_at_all, Same(lambda call: call.of("begin"), start, on_ranks("the model at the start"), NEAR)),
        Mistakes(
            """
            no-broadcast: Each rank starts with the model that it came with, so the ranks train different models. How do
            the other ranks get rank 0's model?

            buffers-not-broadcast: All ranks start with rank 0's parameters, and each with its own buffers, such as
            BatchNorm's running statistics. What else belongs to a model's state?
            """,
            changed(start, no_broadcast={"rank": None}, buffers_not_broadcast={"buffers": True}),
        ),
    ),
    Criterion(
        "trained",
        1.25,
        "the model is trained for `epochs` epochs, each over all ranks' shards of `train_set`, with `batch_size`, "
        "`seed` and the learning rate that `make_optimizer` makes of `lr`",
        first_of(draws, TRAINED),
        TRAINED_WRONGLY,
        after=("start",),
    ),
    Criterion(
        "history",
        1,
        "each rank returns the list of dicts, with numbers that are the same on all ranks, apart from `seconds`",
        first_of(has_history, seconds, tested, REPORT, come_about),
        REPORTED_WRONGLY,
        after=("start", "trained"),
    ),
    Criterion(
        "checkpoint",
        0.75,
        "after each epoch rank 0, and no other rank, writes a dict to `checkpoint` by `torch.save`; its entry `model` "
        "is the model's state dict",
        first_of(WRITERS, content),
        OTHER_WRITERS,
    ),
    DeviceCriterion(0.5, "the model is on the device that `setup` chooses"),
    repeats=False,
    gpu_case=lambda rng: case(rng, 2, 2, epochs=1),
    broke_off=broke_off,
    fits=lambda case, arguments, seen: whole(seen.begin, seen.state) and len(seen.train) == len(seen.batches),
    consolidation="The loop is that of an ordinary training: what is special about many ranks is in the functions that "
    "it calls. All ranks do everything, except for writing the file.",
)
