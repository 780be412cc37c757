"""The check of `train_epoch`: what the model is shown, what becomes of it beside a replay, and the loss."""

from dataclasses import replace

from autograde.fixtures.numbered_net import BUFFERS, SIZES, NumberedNet, state_of
from autograde.rubric import (
    BY_RULES,
    CallCheck,
    Criterion,
    DeviceCriterion,
    MeanOnAll,
    Rounding,
    Rules,
    Same,
    Words,
    apart,
    loss_parts,
    on_ranks,
    once,
    trained_wrongly,
)

from ..probes import train_epoch
from .states import known, replicas, whole

NEAR = Rounding(1e-6)
WRONG = ("no-step", "gradient-carried-over", "own-gradient-only", "gradients-summed", "sum-not-mean")
words = Words("""
epoch-not-told: In epoch {epoch} the ranks draw the samples in the order of another epoch. What tells the sampler which
epoch it is?

epoch-told-late: The sampler is told that it is epoch {epoch} only after its samples were drawn. When does a loader ask
its sampler?

shown-twice: The model is shown a batch of rank {rank} more than once. One forward pass gives everything that is needed.

other-batches: The model is not shown the batches that the loader of rank {rank} yields, one after another.

not-train-mode: The model was not in train mode while it was trained: dropout and BatchNorm then do what they do in an
evaluation.

wrong-training: After the epoch, `{name}` on rank {rank} has the entry {actual}; expected is {expected}, from one step
of the optimizer for each batch. Is there another number of steps, or does something else change the loss or the
gradient?
""")


def cut(ids, batch_size):
    return [ids[at : at + batch_size] for at in range(0, len(ids), batch_size)]


def once_each(batches):
    return [ids for place, ids in enumerate(batches) if ids not in batches[:place]]


def shown(call):
    about = call.arguments
    for rank, seen in enumerate(call.seen):
        batches, due, other = once_each(seen.batches), about["order"][rank], about["other"][rank]
        if batches == cut(other, about["batch_size"]):
            return words("epoch-told-late" if about["epoch"] in seen.told else "epoch-not-told", epoch=about["epoch"])
        if batches != cut(due, about["batch_size"]):
            return words("other-batches", rank=rank)
        if batches != seen.batches:
            return words("shown-twice", rank=rank)
    return None


def train_mode(call):
    return None if all(mode for own in call.of("train") for mode in own) else words("not-train-mode")


def replayed(about, batches, rules):
    models = [NumberedNet(about["model"]) for _ in batches]
    losses = replicas(about, models, rules, lr=about["lr"], momentum=0.9).pass_through(batches)
    return [*map(state_of, models)], losses


@once
def replays(call):
    """By rules, the ranks' states after the batches that were shown, and their losses; none where ranks were not shown
    equally many, or what is no sample. Of a model in eval mode, what that gives is right here."""
    batches = [once_each(own) for own in call.of("batches")]
    if len({*map(len, batches)}) > 1 or not known(batches, call.arguments["samples"]):
        return {}
    training = any(mode for own in call.of("train") for mode in own)
    every = (Rules(), *map(BY_RULES.get, WRONG))
    return {rules: replayed(call.arguments, batches, replace(rules, training=training)) for rules in every}


def names(call):
    """What is compared of a state: BatchNorm's buffers follow whatever the model is shown, also a second time."""
    twice = any(own != once_each(own) for own in call.of("batches"))
    return [*SIZES] if twice else [*SIZES, *BUFFERS]


def states(call, rules=Rules()):  # noqa: B008
    found = replays(call)
    return [{name: own[name] for name in names(call)} for own in found[rules][0]] if found else None


def seen_states(call):
    return [{name: own[name] for name in names(call)} for own in call.of("state")]


def wrong_training(call, off):
    if len(off.place) < 3:
        return None
    rank, name, _ = off.place
    return words("wrong-training", rank=rank, name=name, actual=off.actual_text, expected=off.expected_text)


def losses(call):
    """The losses of the training that was made, right or in a known way wrong."""
    found, sizes = replays(call), [[*map(len, once_each(own))] for own in call.of("batches")]
    made = next((rules for rules in found if TRAINED.gives(call, states(call, rules))), Rules())
    return loss_parts(found[made][1], sizes) if found else []


def without_optimizer(call):
    return [[event for event in log if event["library"] == "horovod"] for log in call.events]


TRAINED = Same(seen_states, states, on_ranks("the model"), NEAR, otherwise=wrong_training)
TRAINED_WRONGLY = trained_wrongly(states, *WRONG)
LOSS = MeanOnAll(losses, logs=without_optimizer)


def drawn(rng, size):
    """Arguments of a call, in which last batches are of different sizes, and wrong means of the loss are far off."""
    lengths = rng.sample([10, *(rng.choice((11, 12)) for _ in range(size - 1))], size)

    def order():
        ids = rng.sample(range(12 * size), 12 * size)
        return [ids[12 * rank : 12 * rank + length] for rank, length in enumerate(lengths)]

    call = {"local_size": min(2, size), "samples": 12 * size, "batch_size": 4, "epoch": rng.randrange(1, 40)}
    call |= {"order": order(), "other": order(), "lr": round(rng.uniform(0.03, 0.06), 4)}
    call |= {"model": rng.randrange(2**31), "data": rng.randrange(2**31)}
    batches = [cut(ids, 4) for ids in call["order"]]
    parts = loss_parts(replayed(call, batches, Rules())[1], [[*map(len, own)] for own in batches])
    keys = ["mean-of-means/batches", *(("own-part-only", "mean-of-means/ranks") if size > 1 else ())]
    return call if apart(parts, size, keys, 1e-3) else drawn(rng, size)


def cases(rng):
    """Ranks whose last batches are of different sizes, in two epochs each."""
    return [(size, drawn(rng, size), drawn(rng, size)) for size in (4, 3, 1, 2)]


def gpu_case(rng):
    """An epoch of two batches on two ranks."""
    call = drawn(rng, 2)
    return {"size": 2, "calls": [{**call, "order": [ids[:6] for ids in call["order"]]}]}


CHECK = CallCheck.of(
    "train_epoch",
    train_epoch.PROBE,
    cases,
    Criterion(
        "batches",
        0.75,
        "the loader's sampler is told the epoch (`set_epoch`) before the pass, and the model is shown each of this "
        "rank's batches once",
        shown,
    ),
    Criterion("mode", 0.5, "the model is in train mode", train_mode),
    Criterion(
        "trained",
        1.25,
        "each batch makes one step of `optimizer`, with the gradient of the batch's mean cross-entropy",
        TRAINED,
        TRAINED_WRONGLY,
        after=("batches", "mode"),
    ),
    Criterion(
        "loss",
        1,
        "all ranks return the same float: the mean of the losses of all samples that all ranks draw, as in the formula "
        "above",
        LOSS,
        LOSS.mistakes("samples"),
        after=("batches", "mode", "trained"),
    ),
    DeviceCriterion(0.5, "batches are moved to `device`"),
    gpu_case=gpu_case,
    fits=lambda case, arguments, seen: whole(seen.state) and len(seen.train) == len(seen.batches),
    consolidation="Sums and counts add up over ranks, and means do not: divide once, at the end. The loss of one rank "
    "is about its own images; the loss that you report is about all of them.",
)
