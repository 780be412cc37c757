"""The check of `parallelize`: what is wrapped, on which device, and that it is one model afterwards."""

import torch

from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches
from autograde.rubric import CallCheck, Criterion, Same, Words, first_of, given, on_ranks
from course.models.translator.sentences import collate

from ..probes import parallelize
from ..shared.model import parameters_of, token_loss, trained

words = Words("""
not-ddp: The function returns {kind}, not a DistributedDataParallel around the given model.

device-ids-on-cpu: The model is on the CPU, and yet `device_ids` are {ids}.

wrong-device-ids: The check simulates GPUs, two on each node. Rank {rank} computes on {device}, but its `device_ids` are
{ids}. Which number has a GPU on its own node?

device-ids-missing: The check simulates GPUs. On {device} there are no `device_ids`, so inputs stay where they are.

not-moved: The check simulates GPUs. The model is not on {device} yet when it is wrapped.

ddp-options: DistributedDataParallel is given {options}. All other options should keep their defaults.

not-one-model: After wrapping and one backward pass, rank {rank} does not have rank 0's parameters and the average of
all gradients.
""")


def wrapped(call):
    other = next((seen.kind for seen in call.seen if not seen.wraps), "")
    return words("not-ddp", kind=other) if other else None


def device_ids(call):
    return [seen.device_ids for seen in call.seen]


def own_device(call):
    return [[] if seen.device == "cpu" else [seen.device] for seen in call.seen]


def other_ids(call, off):
    rank, seen = off.place[0], call.seen[off.place[0]]
    key = (
        "device-ids-on-cpu" if seen.device == "cpu" else "wrong-device-ids" if seen.device_ids else "device-ids-missing"
    )
    return words(key, rank=rank, device=seen.device, ids=", ".join(seen.device_ids))


def moved(call):
    other = next((seen.device for seen in call.seen if seen.moved != seen.device), "")
    return words("not-moved", device=other) if other and call.arguments["simulated"] else None


def options(call):
    other = next((seen.options for seen in call.seen if seen.options), None)
    return words("ddp-options", options=other) if other else None


def one_model(call):
    """By rank, rank 0's parameters, and the average of the gradients of sums over tokens."""
    model = AwkwardTranslator(call.arguments["seed"], norm=True)
    losses = [token_loss(model, collate(pairs))[0] for pairs in call.arguments["pairs"]]
    rows = [torch.cat([each.flatten() for each in torch.autograd.grad(loss, trained(model))]) for loss in losses]
    return [[parameters_of(model), torch.stack(rows).mean(0)]] * call.size


def cases(rng):
    """The ranks' own device; and GPUs of two nodes, which are only simulated."""

    def case(size, simulated):
        return size, {"simulated": simulated, "pairs": [own[0] for own in draw_batches(rng, size, 1)]}

    return [case(3, False), case(4, True), case(2, False)]


CHECK = CallCheck.of(
    "parallelize",
    parallelize.PROBE,
    cases,
    Criterion("wrapped", 0.5, "a DistributedDataParallel around `model` is returned", wrapped),
    Criterion(
        "device",
        0.5,
        "the model is on `device` when it is wrapped, and `device_ids` are this device alone, or none on the CPU",
        first_of(
            wrapped, Same(device_ids, own_device, on_ranks("the list of `device_ids`"), otherwise=other_ids), moved
        ),
    ),
    Criterion("options", 0.5, "all other options have their defaults", first_of(wrapped, options)),
    Criterion(
        "one-model",
        0.5,
        "all ranks have rank 0's parameters then, and after a backward pass the average of their gradients",
        Same(
            lambda call: [[seen.parameters, seen.gradients] for seen in call.seen],
            one_model,
            on_ranks("the model's row"),
            otherwise=lambda call, off: words("not-one-model", rank=off.place[0]),
        ),
        on=given(simulated=False),
        after=("wrapped", "device", "options"),
    ),
    repeats=False,
    consolidation="When it is wrapped, the model becomes rank 0's on all ranks, whatever it was before. From then on, "
    "averaged gradients keep it one model.",
)
