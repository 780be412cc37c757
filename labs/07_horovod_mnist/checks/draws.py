"""What `train` trains on: whether it does at all, what it gives the functions that it calls, and which samples come."""

from autograde.rubric import Words, evenly

from .runs import drawn

words = Words("""
not-trained-at-all: On {who} the model is never trained, neither by `train_epoch` nor by the function itself.

not-passed-on: On rank {rank}, the loader is made with the {name} {actual}; the argument is {expected}.

epoch-numbers: On rank {rank}, `train_epoch` is called with the epochs {told}. Epochs count from 0.

uneven-steps: The ranks train on {counts} batches in {epochs:epoch}. All ranks need equally many in each epoch.

same-order-every-epoch: Each epoch has the samples in one and the same order. What tells the sampler which epoch it is?
""")


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
    epochs = drawn(call) or [call.of("batches")]
    orders = [[[each for ids in own for each in ids] for own in epoch] for epoch in epochs]
    wrong = next(filter(None, (evenly(about["samples"], shares) for shares in orders)), None)
    if drawn(call) is None and (wrong is None or wrong.key != "unknown-samples"):
        return words("uneven-steps", counts=[len(each) for each in call.of("batches")], **about)
    alike = about["epochs"] > 1 and all(each == orders[0] for each in orders)
    return wrong or (words("same-order-every-epoch") if alike else None)
