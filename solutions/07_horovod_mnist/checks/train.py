"""The check of `train`: how it starts, what it trains on, its history, and its checkpoints."""

from autograde.fixtures.numbered_net import BUFFERS, state_of
from autograde.rubric import (
    WEIGHED,
    CallCheck,
    Criterion,
    DeviceCriterion,
    Mistakes,
    Ranks,
    Rounding,
    Rules,
    Same,
    Words,
    accuracy_parts,
    came_of,
    changed,
    due_of,
    evenly,
    first_finding,
    first_of,
    loss_parts,
    of_record,
    on_ranks,
    once,
    stays,
    was_weighed,
)

from ..probes import train
from .averages import cut_by_epoch, without_averages
from .runs import accuracy_of, drawn, hits_in, net, replayed, stood_in
from .states import known as known_samples
from .states import whole

NEAR, REPORTED = Rounding(1e-6), Rounding(1e-5)
words = Words("""
no-history: On {who} the function does not return a list of {epochs:dict}, but {kind}.

collective-on-some-ranks: A deadlock: the ranks wait for each other in different lines of your cell, {lines}. The
functions that average, broadcast or evaluate need every rank. Which line do some of the ranks skip?

not-trained-at-all: On {who} the model is never trained, neither by `train_epoch` nor by the function itself.

not-passed-on: On rank {rank}, the loader is made with the {name} {actual}; the argument is {expected}.

epoch-numbers: On rank {rank}, `train_epoch` is called with the epochs {told}. Epochs count from 0.

unknown-samples: The model is trained on what is no sample of the training set.

uneven-steps: The ranks train on {counts} batches in {epochs:epoch}. All ranks need equally many in each epoch.

eval-while-training: The model is in eval mode while it is trained.

same-order-every-epoch: Each epoch has the samples in one and the same order. What tells the sampler which epoch it is?

wrong-seconds: The seconds in the history are {seconds}, and the whole call took {elapsed:.3g}. Each epoch has a time of
its own.

train-while-evaluating: The model is in train mode while it is evaluated.

not-evaluated: After epoch {epoch}, no rank has shown the model {missing} of the {tests:sample} of the test set.

wrong-rank-writes: The file is written by {who}; only rank 0 should.

nothing-written: All ranks have returned, and there is no file `checkpoint`. Does your code write to this path?

not-loadable: torch.load cannot load the file with weights_only=True: {error}

not-each-epoch: A checkpoint is expected after each epoch. Files are written after {actual} batches, where
{expected} are expected.

bare-state: The file holds the weights themselves; expected is a dict, whose entry "model" has them.

model-missing: The file has no state dict as its entry "model": that is {kind}.

other-weights-saved: After epoch {epoch}, an entry of {name!r} in the file is not what it is in the model.
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


@once
def right(call):
    return replayed(call) if drawn(call) else None


def final(call, **how):
    return (replayed(call, **how) if how else right(call))[-1].states if drawn(call) else None


TRAINED = Same(lambda call: call.of("state"), final, on_ranks("the model in the end"), NEAR)
FORMS = {
    "lr_not_scaled": {"times": 1},
    "lr_scaled_by_local_size": {"times": lambda call: call.arguments["local_size"]},
    "lr_scaled_twice": {"times": lambda call: call.size**2},
    "own_gradient_only": {"rules": Rules(combine="own")},
    "gradients_summed": {"rules": Rules(combine="sum")},
    "gradient_carried_over": {"rules": Rules(zeroed=False)},
    "momentum": {"momentum": 0.0},
}
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


@once
def known(call):
    """The epochs of the training that was made: the right one, or a known mistake; None if it is none of these."""
    if not drawn(call) or TRAINED(call) is None:
        return right(call)
    made = ({name: each(call) if callable(each) else each for name, each in how.items()} for how in FORMS.values())
    replays = (replayed(call, **how) for how in made)
    return next((epochs for epochs in replays if TRAINED.gives(call, epochs[-1].states)), None)


def parts(call, epoch):
    return loss_parts(known(call)[epoch].losses, [[*map(len, own)] for own in drawn(call)[epoch]])


def loss(call, epoch, own=False):
    """Of an epoch, by rank. own: from its own batches alone."""
    if stood_in(call):
        told = call.seen[0].told
        return [call.arguments["losses"][(told[epoch] if epoch < len(told) else epoch) % 3]] * call.size
    every = parts(call, epoch)
    ranks = [[part for part in every if part.rank == rank] if own else every for rank in range(call.size)]
    return [sum(part.total for part in each) / sum(part.count for part in each) for each in ranks]


def history(call, own=False, early=False, tests=True):
    """By rank and epoch, what the history says. own: the loss is a rank's own; early: the accuracy is that before the
    epoch; tests: as of `accuracy_of`. None where it is not known what was trained, or a call cannot tell."""
    changed_numbers = (own or early or not tests) and was_weighed(call.case, call.notes)
    if known(call) is None or (own and stood_in(call)) or changed_numbers:
        return None
    entries = [[] for _ in call.seen]
    for epoch in range(call.arguments["epochs"]):
        before = known(call)[epoch - 1].model if epoch else net(0, call.seen[0].begin)
        accuracy = accuracy_of(call, before if early else known(call)[epoch].model, tests)
        for entry, each in zip(entries, loss(call, epoch, own), strict=True):
            entry.append({"epoch": epoch, "loss": each, "accuracy": accuracy})
    return entries


def told_history(call):
    """By rank, the history; where a part weighs more, and so a right one has other numbers, what is expected."""
    weighed = was_weighed(call.case, call.notes) and known(call) is not None
    return history(call) if weighed else call.of("history")


def has_history(call):
    """Its kind and length, and the names in each dict."""
    epochs = call.arguments["epochs"]
    none = [rank for rank, own in enumerate(call.of("history")) if isinstance(own, str) or len(own) != epochs]
    if none:
        own = call.seen[none[0]].history
        kind = own if isinstance(own, str) else f"one of {len(own)}"
        return words.on_ranks("no-history", none, kind=kind, epochs=epochs)
    due = [[dict.fromkeys(train.KEYS, 0.0)] * call.arguments["epochs"]] * call.size
    return Same(lambda call: call.of("history"), lambda call: due, on_ranks("the history", "epoch")).form(call)


def seconds(call):
    for own, elapsed in zip(call.of("history"), call.of("elapsed"), strict=True):
        times = [entry["seconds"].value for entry in own]
        if any(each is None or each < 0 for each in times) or sum(times) > elapsed + 1e-3:
            shown = ["none" if each is None else f"{each:.3g}" for each in times]
            return words("wrong-seconds", seconds=shown, elapsed=elapsed)
    return None


def tested(call):
    """Of an evaluation that the function makes itself: the mode, and whether each sample is there."""
    if not drawn(call) or any(call.of("evaluated")):
        return None
    shown, steps = [each for own in call.of("tests") for each in own], len(drawn(call)[0][0])
    if any(each.train for each in shown):
        return words("train-while-evaluating")
    for epoch in range(call.arguments["epochs"]):
        ids = {each for one in shown if one.after == steps * (epoch + 1) for each in one.ids}
        if missing := call.arguments["tests"] - len(ids):
            return words("not-evaluated", epoch=epoch, missing=missing, tests=call.arguments["tests"])
    return None


@of_record
def come_about(call):
    """A right loss of the function's own comes of what the ranks communicate."""
    if stood_in(call) or known(call) is None or has_history(call):
        return None
    epochs, steps = call.arguments["epochs"], len(drawn(call)[0][0])
    logs = [without_averages(log, steps * epochs) for log in call.events]
    for epoch, own in enumerate(cut_by_epoch(call.events, steps, epochs) or [logs] * epochs):
        mean, every = loss(call, epoch)[0], parts(call, epoch)
        if not all(REPORTED(rank[epoch]["loss"].value, mean) for rank in call.of("history")):
            continue
        about = every, call.size, mean, sum(part.count for part in every), hits_by_rank(call, epoch)
        weighed = was_weighed(call.case, call.notes)
        if found := stays(own, due_of(*about)) if weighed else came_of(own, *about):
            return first_finding(found)
    return None


def hits_by_rank(call, epoch):
    """What ranks may put in besides: their hits, where the function evaluates by itself."""
    if any(call.of("evaluated")):
        return []
    after = len(drawn(call)[0][0]) * (epoch + 1)
    shares = [[number for each in own if each.after == after for number in each.ids] for own in call.of("tests")]
    every = accuracy_parts(hits_in(call, known(call)[epoch].model), shares)
    return [[sum(part.total for part in every if part.rank == rank) for rank in range(call.size)]]


REPORT = Same(told_history, history, on_ranks("the history", "epoch"), REPORTED)
REPORTED_WRONGLY = Mistakes(
    """
    own-part-only: Each rank reports the loss of its own samples alone. Where do the other ranks' samples come in?

    accuracy-before-epoch: The accuracy of an epoch is that of the model before this epoch; expected is that after it.

    accuracy-on-train-set: The accuracy is that on the training set; expected is that on `test_set`.
    """,
    changed(
        history,
        own_part_only={"own": True},
        accuracy_before_epoch={"early": True},
        accuracy_on_train_set={"tests": False},
    ),
)


def broke_off(run):
    """The check's functions communicate by mpi4py, from lines of the student's."""
    last = [log[-1] if log else None for log in run.events]
    waits = [event for event in last if event is not None and event["end"] is None]
    lines = sorted({event["line"] for event in waits if event["line"] is not None})
    if run.state != "hang" or run.full or len(lines) < 2 or not any(event["library"] == "mpi4py" for event in waits):
        return None
    return words("collective-on-some-ranks", run.report, lines=lines)


def writers(call):
    return [rank for rank, saves in enumerate(call.of("saves")) if saves] or [0]


def other_writers(call, off):
    return words("wrong-rank-writes", who=Ranks(writers(call)))


def content(call):
    """What is in the files, whoever writes them."""
    first = call.seen[writers(call)[0]]
    if not first.there:
        return words("nothing-written")
    if first.error:
        kinds = [each.saved.kind for each in first.saves if each.saved.kind]
        return words("model-missing", kind=kinds[0]) if kinds else words("not-loadable", error=first.error)
    steps = len(drawn(call)[0][0]) if drawn(call) else 1
    due, after = (
        [steps * (epoch + 1) for epoch in range(call.arguments["epochs"])],
        [each.after for each in first.saves],
    )
    if drawn(call) and not {*due} <= {*after}:
        return words("not-each-epoch", actual=after, expected=due)
    states = [{each.after: each.saved for each in first.saves}.get(moment) for moment in due] if drawn(call) else []
    for epoch, saved in enumerate([*states, first.last]):
        if saved.kind:
            return words("bare-state") if saved.kind == "bare" else words("model-missing", kind=saved.kind)
        epochs = known(call) or []
        right = epochs[min(epoch, len(epochs) - 1)].states[0] if epochs else {}
        for name, values in right.items():
            if not NEAR(saved.state.get(name), values):
                return words("other-weights-saved", epoch=min(epoch, len(epochs) - 1), name=name)
    return None


WRITERS = Same(writers, lambda call: [0], lambda call, place: "The list of ranks that write", otherwise=other_writers)
OTHER_WRITERS = Mistakes(
    """
    every-rank-writes: All {size:rank} write, at the same time. Where that is one file, it is chance which of them wins,
    and what they write together may be no file at all.

    local-rank-0-writes: The file is written by the local rank 0 of each node. Nodes share the folder, so they write
    over each other.
    """,
    changed(
        every_rank_writes=lambda call: [*range(call.size)],
        local_rank_0_writes=lambda call: [*range(0, call.size, call.arguments["local_size"])],
    ),
)


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
