"""What the training came to on the batches that were drawn: the models in the end, and the losses that are returned."""

from functools import partial
from itertools import chain

import torch

from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, state_of
from autograde.rubric import (
    BY_RULES,
    KNOWN,
    Mistakes,
    Replicas,
    Rounding,
    Same,
    Words,
    apart,
    changed,
    eager,
    first_of,
    loss_parts,
    on_ranks,
    once,
    trained_wrongly,
)

from .samples import SAMPLES, batches, deal, drawn, due, lacking_pass

RULES = ("gradient-carried-over", "sum-not-mean", "no-step")
NEAR = Rounding(2e-6)  # of a loss: what float32 leaves
words = Words("""
losses-missing: Your function returns {kind} on rank {rank}. A list of {epochs:loss} is expected, floats, one for each
epoch.

not-train-mode: In a forward pass on {who} the model is not in train mode.
""")


def net(seed):
    model = NumberedNet(seed, plain=True, norm=False)
    model.bias.requires_grad_(False)
    return model


def weights(model):
    return {name: state_of(model)[name] for name in ("weight", "bias")}


class Trained:
    """The ranks' models and losses by one way of training.

    about: arguments of the call. batches: by rank, of all epochs. factor: of the learning rate. rules: of `Replicas`.
    anew: whether each epoch has an optimizer of its own. sgd: other options of it.
    losses: [epoch][rank][step]; later: those of the same batches after the step. states: of the models, by rank.
    """

    def __init__(self, about, batches, factor=1.0, rules=None, anew=False, **sgd):
        models = [net(about["models"][0]) for _ in batches]
        self.loss = NumberedSet(about["samples"], about["data"]).loss
        options = {"lr": about["lr"] * factor, "momentum": 0.9, **sgd}
        replicas = Replicas(models, partial(eager(torch.optim.SGD), **options), self.loss, rules)
        steps = len(batches[0]) // about["epochs"]
        self.losses, self.later = [], []
        for at in range(0, steps * about["epochs"], steps):
            before, after = [], []
            for step in zip(*(own[at : at + steps] for own in batches), strict=True):
                before.append([own for [own] in replicas.step([[ids] for ids in step])])
                after.append([self.mean(*pair) for pair in zip(models, step, strict=True)])
            self.losses.append([[*own] for own in zip(*before, strict=True)])
            self.later.append([[*own] for own in zip(*after, strict=True)])
            for optimizer in replicas.optimizers if anew else ():
                optimizer.state.clear()
        self.states = [*map(weights, models)]

    def mean(self, model, ids):
        with torch.no_grad():
            total, count, _ = self.loss(model, ids)
        return (total / count).item()


@once
def right(call):
    return Trained(call.arguments, drawn(call)) if drawn(call) else None


def states(call, **how):
    """By rank, the model in the end; None where nobody knows what was trained on."""
    if not drawn(call):
        return None
    return (Trained(call.arguments, drawn(call), **how) if how else right(call)).states


def known_batches(call):
    return None if drawn(call) else SAMPLES(call)


def in_train_mode(call):
    return words.on_ranks("not-train-mode", lacking_pass(call, "training"))


WAYS = {
    "lr_scaled": {"factor": lambda call: call.size},
    "lr_divided": {"factor": lambda call: 1 / call.size},
    "no_momentum": {"momentum": 0.0},
    "nesterov_momentum": {"nesterov": True},
    "momentum_lost": {"anew": True},
}


@once
def known(call):
    """The training that was made: the right one, or a known mistake; None if it is none of these."""
    if not drawn(call) or STATES.gives(call, right(call).states) or copy_trained(call):
        return right(call)
    ways = *WAYS.values(), *({"rules": BY_RULES[key]} for key in RULES)
    made = ({name: each(call) if callable(each) else each for name, each in how.items()} for how in ways)
    trainings = (Trained(call.arguments, drawn(call), **how) for how in made)
    return next((each for each in trainings if STATES.gives(call, each.states)), None)


@once
def copy_trained(call):
    """Whether the losses are right, and the models are those that came: another object was trained."""
    came = [weights(net(seed)) for seed in call.arguments["models"]]
    if not drawn(call) or not any(STATES.gives(call, begin) for begin in (came, came[:1] * call.size)):
        return False
    pairs = zip(numbers(call), means(call, right(call).losses), strict=True)
    return losses_there(call) is None and all(all(map(NEAR, own, due)) for own, due in pairs)


def of_a_copy(call):
    return call.of("state") if copy_trained(call) else states(call)


def mean(losses, sizes):
    """Over all samples of an epoch. losses, sizes: by rank and step."""
    parts = loss_parts(losses, sizes)
    return sum(part.total for part in parts) / sum(part.count for part in parts)


def sizes(call):
    """Samples in each batch of an epoch, by rank."""
    steps = len(drawn(call)[0]) // call.arguments["epochs"]
    return [[len(ids) for ids in own[:steps]] for own in drawn(call)]


def means(call, losses):
    """By rank and epoch, what is to be returned where the batches have these losses."""
    return [[mean(each, sizes(call)) for each in losses]] * call.size


def numbers(call):
    return [[each.value for each in seen.losses] for seen in call.seen]


def losses_there(call):
    epochs = call.arguments["epochs"]
    for rank, seen in enumerate(call.seen):
        other = [each.kind for each in seen.losses if not each.is_float or each.value is None]
        listed = f"a list with a {other[0]} in it" if other else f"a list of length {len(seen.losses)}"
        if seen.kind or other or len(seen.losses) != epochs:
            return words("losses-missing", rank=rank, kind=seen.kind or listed, epochs=epochs)
    return None


def losses(call, of=None):
    """By rank and epoch, what is to be returned. of: of an epoch's losses and sizes, by rank and step, what is instead;
    a number, or one for each rank."""
    if not drawn(call) or known(call) is None:
        return None
    if of is None:
        return means(call, known(call).losses)
    made = [of(each, sizes(call)) for each in known(call).losses]
    by_rank = [each if isinstance(each, list) else [each] * call.size for each in made]
    return [[*own] for own in zip(*by_rank, strict=True)]


def way(of):
    """For `changed`: losses found otherwise."""
    return {"of": lambda call: of}


def own_means(losses, sizes):
    return [mean([own], [counts]) for own, counts in zip(losses, sizes, strict=True)]


def mean_of_means(losses, sizes):
    return sum(map(sum, losses)) / sum(map(len, losses))


def last_losses(losses, sizes):
    return [own[-1] for own in losses]


def as_if_full(losses, sizes):
    return max(map(max, sizes)) * sum(map(sum, losses)) / sum(map(sum, sizes))


def after_steps(call):
    return means(call, known(call).later) if losses(call) else None


def by_environment(call):
    """Of the drawn samples, however they are put into batches; see `LEFT_OVER` of the probe."""
    own, share = batches(call)[0], due(call, size=2, numbers=[1])[0]
    return [*chain(*own)] == [*chain(*share)]


def right_alone(call):
    """All that is asked for in a group."""
    return SAMPLES(call) or TRAINED(call) or REPORT(call)


def known_training(call):
    return None if known(call) is not None else TRAINED(call)


STATES = Same(lambda call: call.of("state"), states, on_ranks("the model in the end"), KNOWN)
TRAINED = first_of(known_batches, in_train_mode, STATES)
TRAINED_WRONGLY = trained_wrongly(
    states,
    *RULES,
    text="""
    another-object-trained: The losses are those of the right training, and `model` itself has the weights that it had
    before: something else was trained in its place. Where does your code make a second model?

    lr-scaled: The steps are {size} times too long: the learning rate is multiplied by the number of ranks. That rule is
    for batches which grow with the ranks; here the batch of a step is as large as before.

    lr-divided: The steps are {size} times too short. `lr` is taken as it is: the gradient is averaged already.

    no-momentum: The steps are those of SGD without momentum. It is to be 0.9.

    nesterov-momentum: The steps are those of SGD with Nesterov's momentum, which looks one step ahead. Plain momentum
    is asked for.

    momentum-lost: The momentum is forgotten after each epoch. Where does your code make the optimizer?
    """,
    another_object_trained=of_a_copy,
    **WAYS,
)
LOSSES = Same(numbers, losses, on_ranks("the list of losses", "epoch"), NEAR)
REPORT = first_of(losses_there, known_training, LOSSES)
OTHER_LOSSES = Mistakes(
    """
    own-part-only: {where} is {actual}, which is the mean over this rank's own samples; over those of all ranks it is
    {expected}. Where do the other ranks' samples come in?

    mean-of-means: {where} is {actual}, the mean of the batches' means: a sample in a small batch weighs more. Over all
    samples it is {expected}. What do you have to add up before you divide?

    losses-after-steps: {where} is {actual}, the mean of losses that were computed after the steps. Expected is the mean
    of those of which the gradients were taken, {expected}.

    short-batch-as-full: {where} is {actual}: each batch counts as a full one, also the last, which is smaller. Expected
    is {expected}. How many samples does the mean of this batch stand for?

    last-batch-loss: {where} is {actual}, which is the loss of the last batch. The mean over all samples of the epoch is
    {expected}.
    """,
    changed(
        losses,
        own_part_only=way(own_means),
        mean_of_means=way(mean_of_means),
        losses_after_steps=after_steps,
        short_batch_as_full=way(as_if_full),
        last_batch_loss=[way(last_losses), way(lambda losses, sizes: sum(own[-1] for own in losses) / len(losses))],
    ),
)
ALONE_WRONGLY = Mistakes(
    """
    alone-by-environment: Without a process group, your code draws the share of rank 1 of 2: so say RANK and WORLD_SIZE,
    which are left over from whoever started this process. Whether there are other ranks, and how many,
    torch.distributed knows.
    """,
    alone_by_environment=by_environment,
)


def draw_training(rng, size, alone=False):
    """A call: two epochs of two batches, of which the second is smaller, with padding where there are several ranks."""
    own_batch = rng.randrange(4, 6)
    own = own_batch + rng.randrange(1, own_batch - 1)
    samples = size * own - (rng.randrange(1, size) if size > 1 else 0)
    about = {"alone": alone, "local_size": 2 if size > 2 else 1, "epochs": 2, "samples": samples}
    about |= {"batch_size": size * own_batch, "lr": round(rng.uniform(0.03, 0.06), 4), "seed": rng.randrange(1, 2**31)}
    about |= {"models": [rng.randrange(2**31) for _ in range(size)], "data": rng.randrange(2**31)}
    return about if told_apart(about) else draw_training(rng, size, alone)


def told_apart(about):
    """Whether known mistakes about the losses can be told from the truth."""
    batches, size = deal(about), len(about["models"])
    counts = [[len(ids) for ids in own[: len(own) // about["epochs"]]] for own in batches]
    keys = ["mean-of-means/batches", *(["own-part-only"] if size > 1 else [])]
    return all(apart(loss_parts(each, counts), size, keys, 1e-4) for each in Trained(about, batches).losses)
