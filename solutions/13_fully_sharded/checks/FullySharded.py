"""The check of `FullySharded`: a training beside data parallel training, memory at each pass, and what is sent when."""

from collections import Counter
from functools import partial

import torch

from autograde.rubric import (
    CallCheck,
    Criterion,
    Errors,
    Mistakes,
    Replicas,
    Rounding,
    Rules,
    Same,
    Words,
    changed,
    eager,
    first_of,
    given,
    lacking,
    of_record,
    on_ranks,
    once,
)
from course.watch.notes import note_of

from ..probes import FullySharded
from ..shared.layers import layer_of
from ..shared.trainings import batch_of, calls_of
from .freed_memory import died
from .shard import pieces

SGD = partial(eager(torch.optim.SGD), lr=0.1, momentum=0.9)
words = Words("""
other-parameters: {where} {actual}; expected: {due}. `parameters()` are to be the shards of all layers'
parameters, and no others, and need gradients. What does the optimizer find there?

weights-of-several-layers: While one layer computes, the parameters of {who} hold {held:byte}; those of this layer are
{needed}. What of the others is still there, or there already?

weights-kept-between-passes: After a pass through the model, the layers' parameters on {who} still hold {held:byte}.

gathered-once-only: {who:starts|start} {n:time} an all-gather, where {due} are expected: each layer's weights are
gathered for its forward pass, and again for its backward pass.

gathered-twice: {who:starts|start} an all-gather {n:time}, where {due} are enough: one for each pass of a layer. What
becomes of the one that was started ahead?

gradients-not-scattered: {who:makes|make} a reduce-scatter {n:time}, where {due} are expected: one for each layer in a
backward pass.

scattered-too-soon: Layer {layer} begins its backward pass, and {who:has|have} made its reduce-scatter already. Which
gradients are there before the pass?

scattered-too-late: Layer {layer} begins its backward pass, and {who:has|have} not reduced and scattered the gradients
of the layer behind it. While they wait, whole gradients of several layers take memory.

something-else-sent: The ranks call {op}, too. All-gathers and reduce-scatters are enough.

next-not-ahead: Layer {layer} begins its {direction} pass, and {who:has|have} not started the all-gather for layer
{next}, which is next. While one layer computes, the weights of the next one can be on their way.

too-far-ahead: Layer {layer} begins its {direction} pass, and {who:has|have} started an all-gather too many: it is for
neither this layer nor one that is next in this direction. All that is on its way takes memory.

sent-while-not-synchronised: While `sync` is False, {who:makes|make} a reduce-scatter. Gradients add up until the last
backward pass of a step.
""")


def loss(model, batch):
    squares = model(batch).square()
    return squares.sum(), squares.numel(), 0


def trained(call, times=1.0):
    """By rank, losses and shards of data parallel training in one process. times: of the mean gradient."""
    about, ranks, size = call.arguments, range(call.size), call.size
    models = [torch.nn.Sequential(*(layer_of(each, size) for each in calls_of(about))) for _ in ranks]
    replicas, losses = Replicas(models, SGD, loss, Rules(times=times)), [[] for _ in ranks]
    for step in range(2):
        batches = [[batch_of(about, rank, step, part) for part in range(about["parts"])] for rank in ranks]
        for own, found in zip(losses, replicas.step(batches), strict=True):
            own.extend(found)
    shards = [pieces(each.detach().numpy(), size) for each in models[0].parameters()]
    return [{"the losses": losses[rank], "`parameters()`": [own[rank] for own in shards]} for rank in ranks]


where = on_ranks("{}")


def other_parameters(call, off):
    if off.what not in ("kind", "length") or off.place[1] != "`parameters()`":
        return None
    about = {"actual": f"{'has' if off.what == 'length' else 'is'} {off.actual_text}", "due": off.expected_text}
    return words("other-parameters", where=where(call, off.place), **about)


def held(call):
    for rank, seen in enumerate(call.seen):
        for held, needed in seen.held:
            if held > needed:
                key = "weights-of-several-layers" if needed else "weights-kept-between-passes"
                return words.on_ranks(key, [rank], held=held, needed=needed)
    return None


@once
def passes(call):
    """By rank, each pass of a layer: its direction, the layer, and how many collectives and passes by kind came before
    it; in the end, ("", -1) with all of them. What stands in for an earlier TODO notes the collective it would make."""
    found = [[] for _ in call.notes]
    for every, log in zip(found, call.notes, strict=True):
        before = Counter()
        for name in [*(note_of(event) or event["kind"] for event in log), " -1"]:
            kind, _, layer = name.partition(" ")
            if kind in ("forward", "backward", ""):
                every.append((kind, layer, before.copy()))
            before[kind] += 1
    return found


def scatters(call):
    return 2 * len(call.arguments["hidden"])


@of_record
def counts(call):
    """As many collectives as there are passes; and no gradients of one layer wait for those of the next."""
    alone, due = call.arguments["parts"] == 1, 2 * scatters(call) * call.arguments["parts"]
    for rank, every in enumerate(passes(call)):
        made = every[-1][2]
        if other := {*made} - {"forward", "backward", "allgather", "reduce_scatter"}:
            return words("something-else-sent", op=min(other))
        if (n := made["allgather"]) != due:
            key = "gathered-once-only" if n < due else "gathered-twice"
            return words.on_ranks(key, [rank], n=n, due=due, absent=n < due)
        if (n := made["reduce_scatter"]) < scatters(call) or (alone and n > scatters(call)):
            return words.on_ranks("gradients-not-scattered", [rank], n=n, due=scatters(call), absent=True)
        for _, layer, before in (each for each in every if alone and each[0] == "backward"):
            if late := before["backward"] - before["reduce_scatter"]:
                return words.on_ranks(f"scattered-too-{'late' if late > 0 else 'soon'}", [rank], layer=layer)
    return None


@of_record
def ahead(call):
    """At each pass of a layer, its own all-gather and that of the next one have been started, and no others."""
    layers = len(call.arguments["hidden"])
    for rank, every in enumerate(passes(call)):
        for number, (direction, layer, before) in enumerate(every[:-1]):
            n, due = before["allgather"], number + min(2, layers - number % layers)
            about = {"direction": direction, "layer": layer, "next": int(layer) + (1 if direction == "forward" else -1)}
            if n != due:
                return words.on_ranks("next-not-ahead" if n < due else "too-far-ahead", [rank], absent=n < due, **about)
    return None


@of_record
def unsent(call):
    made = [every[-1][2]["reduce_scatter"] for every in passes(call)]
    return words.on_ranks("sent-while-not-synchronised", [rank for rank, n in enumerate(made) if n > scatters(call)])


def cases(rng):
    """Three layers of other sizes, and one; a weight that is shared in a layer; one micro-batch a step, and two."""

    def call(width, *hidden, parts=1, tied=()):
        return {"width": width, "hidden": [*hidden], "tied": [*tied], "parts": parts}

    yield 4, call(3, rng.choice((5, 6)), 3, 4), call(3, 5, 2, parts=2)
    yield 2, call(4, 3), call(3, 5, 3, tied=(1,))


RESULT = Same(
    lambda call: [{"the losses": seen.losses, "`parameters()`": seen.shards} for seen in call.seen],
    once(trained),
    where,
    near=Rounding(1e-9),
    otherwise=other_parameters,
)
TRAINED = first_of(RESULT.form, RESULT)
MISTAKES = Mistakes(
    """
    ranks-apart: The first loss is right, and later ones are those of a training in which each rank's gradients are
    {size} times too large, or too small.

    shards-never-change: All losses are those of the weights that the model began with: the optimizer finds no gradients
    in `parameters()`. What puts them there?
    """,
    changed(
        trained,
        ranks_apart=[{"times": lambda call: call.size}, {"times": lambda call: 1 / call.size}],
        shards_never_change={"times": 0.0},
    ),
)
ERRORS = Errors(
    """
    shared-weight-twice: An error on {who}: {error}. Do modules of that layer share a weight? That is one parameter.
    With two shards it would be gathered twice, and each of them would get an update of its own. What gives every
    parameter of a layer once?

    other-order-by-rank: An error on {who}: {error}. Collectives belong together by the order in which each rank calls
    them, so pieces of different layers meet. What decides about the order, and is it the same on all ranks?
    """,
    shared_weight_twice="gathered got",
    other_order_by_rank="by rank, the layers",
)
TRAINS = (
    "trained with any optimizer over `parameters()`, which are the shards in order, the ranks have the losses and the "
    "weights of data parallel training"
)
COUNTS = "each pass of a layer has one all-gather, and its backward pass one reduce-scatter, before the next one's"
AHEAD = "while a layer computes, the weights of the one that is next in this direction are on their way, and no others"
UNSENT = "while the attribute `sync` is False, backward passes add gradients up, unsent"
HELD = "the layers' own parameters hold memory while their layer computes, and at no other time"

CHECK = CallCheck.of(
    "FullySharded",
    FullySharded.PROBE,
    cases,
    Criterion("trains", 1.25, TRAINS, TRAINED, MISTAKES, on=given(parts=1)),
    Criterion("memory", 1, HELD, held),
    Criterion("messages", 0.75, COUNTS, counts),
    Criterion("ahead", 0.5, AHEAD, ahead, after=("messages",)),
    Criterion("no-sync", 0.5, UNSENT, first_of(unsent, TRAINED), MISTAKES, on=lacking(parts=1), after=("trains",)),
    consolidation="Each rank trained the whole model, and never had more of it than two layers at once.",
    inputs=("width", "hidden"),
    errors=ERRORS,
    broke_off=died,
    fits=lambda case, arguments, seen: len(seen.losses) == 2 * arguments["parts"],
)
