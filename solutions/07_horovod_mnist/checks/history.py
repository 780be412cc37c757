"""The history that `train` returns: its form, its numbers, and where they come from."""

from autograde.rubric import (
    Mistakes,
    Rounding,
    Same,
    Words,
    accuracy_parts,
    came_of,
    changed,
    due_of,
    evaluated,
    loss_parts,
    of_record,
    on_ranks,
    stays,
    was_weighed,
)

from ..probes import train
from .averages import cut_by_epoch, without_averages
from .runs import accuracy_of, drawn, hits_in, net, stood_in
from .trained import known

REPORTED = Rounding(1e-5)
words = Words("""
no-history: On {who} the function does not return a list of {epochs:dict}, but {kind}.

wrong-seconds: The seconds in the history are {seconds}, and the whole call took {elapsed:.3g}. Each epoch has a time of
its own.

not-evaluated: After epoch {epoch}, no rank has shown the model {missing} of the {tests:sample} of the test set.
""")


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
    if wrong := evaluated([each.train for each in shown], True, []):
        return wrong
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
            return found
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
