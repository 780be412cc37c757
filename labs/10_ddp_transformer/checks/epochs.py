"""The epochs of a call of `train`: which are left, what the sampler is told of them, and with what it goes on."""

from autograde.rubric import Mistakes, Same, Words, changed, of_seen, on_ranks

words = Words("""
nothing-trained: There are epochs left, {expected}, and no step is made.

other-orders: On rank {rank}, the sampler is told the epochs {actual}; expected are {expected}.

other-epochs: Epochs that are trained on rank {rank}: {actual}. Expected: {expected}.

nothing-to-go-on-from: There is no checkpoint to go on from.

state-not-loaded: There is a checkpoint, and yet {who:begins|begin} with other weights. What is in the file never gets
into the model.

optimizer-not-loaded: There is a checkpoint, and yet {who:begins|begin} with another state of the optimizer. Its
momentum is part of the training.

other-start: The first step does not find the model and the optimizer as they came on {who}.
""")


def listed(epochs):
    return ", ".join(map(str, epochs)) or "none"


def killed(call):
    return call.case["kill"] is not None and not call.seen[0].survived


def left(call, first=None, last=None):
    """The epochs that the checkpoint leaves; or from `first` to before `last`."""
    begins = call.seen[0].begins
    first = (0 if begins is None else begins + 1) if first is None else first
    return [*range(max(0, first), call.arguments["epochs"] if last is None else last)]


def run(call):
    """By rank, the epochs that are trained: if they are as many as are left, these, whatever the sampler is told."""
    return [left(call) if len(own) == len(left(call)) else own for own in call.of("told")]


def something(call):
    none = left(call) and not all(call.of("told"))
    return words("nothing-trained", expected=listed(left(call))) if none else None


def told(call, number=lambda first, before: first + before):
    """By rank, what the sampler should be told. number: of an epoch, by the first one and how many came before it."""
    return [[number(own[0], before) for before in range(len(own))] for own in run(call)]


def other_order(call, off):
    rank = off.place[0]
    return words("other-orders", rank=rank, actual=listed(call.of("told")[rank]), expected=listed(told(call)[rank]))


def told_as(*numbers):
    return [lambda call, each=each: told(call, each) for each in numbers]


ORDERS = Same(of_seen("told"), told, on_ranks("the list of epochs"), otherwise=other_order)
OTHER_ORDERS = Mistakes(
    """
    sampler-not-told: Nobody tells the loader's sampler the epoch: all epochs have the same order.

    set-epoch-from-0: After a resume the sampler is told the epochs {actual}; expected are {expected}. The first epochs'
    orders come a second time.

    set-epoch-late: The sampler is told an epoch only after that epoch has begun: the orders are those of the epochs
    {actual}; expected are {expected}.

    epoch-shifted: The sampler is told the epochs {actual}; expected are {expected}. Epochs are counted from 0.
    """,
    changed(
        sampler_not_told=told_as(lambda first, before: 0, lambda first, before: first),
        set_epoch_from_0=told_as(lambda first, before: before),
        set_epoch_late=told_as(lambda first, before: first + before - 1 if before else 0),
        epoch_shifted=told_as(lambda first, before: first + before + 1),
    ),
)


def there(call):
    gone = call.seen[0].begins is None and (call.number or killed(call))
    return words("nothing-to-go-on-from") if gone else None


def other_epochs(call, off):
    rank = off.place[0]
    return words("other-epochs", rank=rank, actual=listed(run(call)[rank]), expected=listed(left(call)))


def loaded(call):
    unlike = {
        name: [rank for rank, own in enumerate(call.of("other")) if name in own] for name in ("model", "optimizer")
    }
    if call.seen[0].begins is None:
        return words.on_ranks("other-start", sorted({*unlike["model"], *unlike["optimizer"]}))
    return words.on_ranks("state-not-loaded", unlike["model"]) or words.on_ranks(
        "optimizer-not-loaded", unlike["optimizer"]
    )


def remaining(call, first=None, last=None):
    return [left(call, first, last)] * call.size


def next_epoch(call, more=0):
    begins = call.seen[0].begins
    return more if begins is None else begins + 1 + more


GOES_ON = Same(run, remaining, on_ranks("the list of epochs"), otherwise=other_epochs)
GOES_ON_WRONGLY = Mistakes(
    """
    not-resumed: There is a checkpoint, and yet training begins again with epoch 0.

    epochs-counted-anew: Called with epochs={epochs} when there is a checkpoint, your function trains the epochs
    {actual}. `epochs` counts from the very first run.

    epoch-repeated: Epochs that are trained: {actual}. Expected: {expected}. The last epoch of the checkpoint was
    finished: it is trained twice.

    epoch-skipped: Epochs that are trained: {actual}. Expected: {expected}. One is left out.

    trains-when-done: According to the checkpoint all {epochs:epoch} are done, and yet your function trains epoch
    {actual}.
    """,
    changed(
        remaining,
        not_resumed={"first": 0},
        epochs_counted_anew={"last": lambda call: next_epoch(call, call.arguments["epochs"])},
        epoch_repeated={"first": lambda call: next_epoch(call, -1)},
        epoch_skipped={"first": lambda call: next_epoch(call, call.seen[0].begins is not None)},
        trains_when_done={"last": lambda call: max(call.arguments["epochs"], next_epoch(call, 1))},
    ),
)
