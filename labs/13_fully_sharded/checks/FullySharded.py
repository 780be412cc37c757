"""The check of `FullySharded`: a training beside data parallel training, memory at each pass, and what is sent when."""

from __future__ import annotations

import random

import torch

from autograde.rubric import (
    Call,
    CallCheck,
    Criterion,
    EachRankHasArrays,
    Gives,
    Mistakes,
    Ranks,
    Rounding,
    Run,
    Words,
    Wrong,
    first_of,
    of_record,
)
from course.watch.notes import note_of

from ..probes import FullySharded as probe
from ..shared.trainings import batch_of, layers_of
from ..shared.values import rows_of
from .freed_memory import died

NEAR = Rounding(1e-9)
COMPUTES = ("forward", "backward")

words = Words("""
other-number-of-parameters: On {who}, `parameters()` are {actual}, where {expected} are expected: the shards of all
layers' parameters, and no others. What does the optimizer find there?

optimizer-over-whole-weights: On {who}, the layers' own parameters are among `parameters()`, and they are freed. An
optimizer over these keeps its numbers for whole weights, and nothing that it changes reaches the shards.

shared-weight-twice: {what}. Two of its modules share a weight, and that is one parameter. With two shards it would be
gathered twice, and each of them would get an update of its own. What gives every parameter of a layer once?

other-order-by-rank: Rank {rank} gathers the weights of layer {own} where rank 0 gathers those of layer {first}.
Collectives belong together by the order in which each rank calls them, so pieces of different layers meet. What decides
about the order, and is it the same on all ranks?

freed-before-backward: {what}. It is the backward pass that needs weights, and nothing was gathered since the forward
pass, which ended with freeing them. From where do they come now?

other-loss: On {who}, loss number {number} is {actual:.8g}, where {expected:.8g} is expected.

weights-of-several-layers: While one layer computes, the parameters of {who} hold {held:byte}; those of this layer are
{needed}. What of the others is still there, or there already?

weights-kept-between-passes: After a pass through the model, the layers' parameters on {who} still hold {held:byte}.

gathered-once-only: {who:starts|start} {n:time} an all-gather, where {expected} are expected: each layer's weights are
gathered for its forward pass, and again for its backward pass.

gathered-twice: {who:starts|start} an all-gather {n:time}, where {expected} are enough: one for each pass of a layer.
What becomes of the one that was started ahead?

gradients-not-scattered: {who:makes|make} a reduce-scatter {n:time}, where {expected} are expected: one for each layer
in a backward pass.

something-else-sent: The ranks call {op}, too. All-gathers and reduce-scatters are enough.

next-not-ahead: When a layer begins its {direction} pass, {who:has|have} started {n} all-gathers in this direction,
where {expected} are expected: its own, and that of the layer which is next.

too-far-ahead: When a layer begins its {direction} pass, {who:has|have} started {n} all-gathers in this direction, where
{expected} are enough: its own, and that of the next layer. All that is on its way takes memory.

sent-while-not-synchronised: While `sync` is False, {who:makes|make} a reduce-scatter. Gradients add up until the last
backward pass of a step.
""")


class Reference:
    """Data parallel training in one process. scale: of the mean gradient."""

    def __init__(self, call: Call, scale: float = 1.0) -> None:
        about, size = call.arguments, call.size
        layers = layers_of(about, size)
        model = torch.nn.Sequential(*layers)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        self.losses: list[list[float]] = [[] for _ in range(size)]
        for step in range(2):
            for part in range(about["parts"]):
                for rank in range(size):
                    loss = model(batch_of(about, rank, step, part)).square().mean()
                    (scale * loss / size).backward()
                    self.losses[rank].append(loss.item())
            optimizer.step()
            optimizer.zero_grad()
        self.parameters = [each.detach() for each in model.parameters()]

    def shards(self) -> list[list]:
        """By parameter and rank, its shard."""
        found, size = [], len(self.losses)
        for values in self.parameters:
            count = rows_of(len(values), size)
            row = torch.cat([values, values.new_zeros(size * count - len(values), *values.shape[1:])])
            found.append([*row.view(size, count, *values.shape[1:]).numpy()])
        return found


class Trained:
    """Judge of losses and weights."""

    weights = EachRankHasArrays(lambda call: Reference(call).shards(), lambda call: call.of("shards"))

    def __call__(self, call: Call) -> Wrong | None:
        """Losses first, by number."""
        right = Reference(call)
        for rank, seen in enumerate(call.seen):
            about = {"who": Ranks([rank]), "actual": len(seen.shards), "expected": len(right.parameters)}
            if any(each.kind == probe.FREED for each in seen.shards):
                return words("optimizer-over-whole-weights", **about)
            if len(seen.shards) != len(right.parameters):
                return words("other-number-of-parameters", **about)
            for number, (actual, expected) in enumerate(zip(seen.losses, right.losses[rank], strict=True), 1):
                if not NEAR(actual, expected):
                    about |= {"actual": float("nan") if actual is None else actual, "expected": expected}
                    return words("other-loss", compared=True, number=number, **about)
        return self.weights(call)

    def gives(self, call: Call, value: Reference) -> bool:
        """Whether the losses are these. value: of a training with a mistake."""
        return all(NEAR(seen.losses, losses) for seen, losses in zip(call.seen, value.losses, strict=True))


def held(call: Call) -> Wrong | None:
    """One layer's weights at a time, and none between passes."""
    for rank, seen in enumerate(call.seen):
        who = Ranks([rank])
        if more := [(each, own) for each, own in seen.held if each > own]:
            return words("weights-of-several-layers", who=who, held=more[0][0], needed=more[0][1])
        if kept := [each for each in seen.between if each]:
            return words("weights-kept-between-passes", who=who, held=kept[0])
    return None


def steps(log: list[dict]) -> list[tuple[str, str]]:
    """Of a rank's collectives and passes, in order, the kind, and of which layer's weights it is, where a note says so:
    what stands in for an earlier TODO notes the collective that it would have made. log: events and notes."""
    return [tuple((note_of(event) or event["kind"]).partition(" ")[::2]) for event in log]


def kinds(call: Call) -> list[list[str]]:
    """By rank, the kinds of all collectives and passes, in order."""
    return [[kind for kind, _ in steps(log)] for log in call.notes]


def other_order(notes: list[list[dict]]) -> Wrong | None:
    """The first place at which a rank gathers another layer than rank 0. notes: events and notes, by rank."""
    orders = [[layer for kind, layer in steps(log) if kind == "allgather" and layer] for log in notes]
    for rank, order in enumerate(orders):
        for first, own in zip(orders[0], order, strict=False):
            if own != first:
                return words("other-order-by-rank", rank=rank, own=own, first=first)
    return None


def gathered_since(log: list[dict]) -> bool:
    """Whether a rank has gathered anything since its last forward pass, if it is in a backward pass."""
    names = [kind for kind, _ in steps(log)]
    passed = names[len(names) - 1 - names[::-1].index("forward") :] if "forward" in names else []
    return "backward" not in passed or "allgather" in passed


@of_record
def sent(call: Call) -> Wrong | None:
    """As many all-gathers and reduce-scatters as there are passes, in the same order on all ranks."""
    synced = 2 * len(call.arguments["hidden"])  # backward passes of a layer; there are two steps
    passes = 2 * synced * call.arguments["parts"]
    for rank, log in enumerate(kinds(call)):
        who, gathers, scatters = Ranks([rank]), log.count("allgather"), log.count("reduce_scatter")
        if other := [kind for kind in log if kind not in (*COMPUTES, "allgather", "reduce_scatter")]:
            return words("something-else-sent", op=other[0])
        if gathers != passes:
            key = "gathered-once-only" if gathers < passes else "gathered-twice"
            return words(key, who=who, n=gathers, expected=passes, absent=gathers < passes)
        if scatters < synced or (call.arguments["parts"] == 1 and scatters > synced):
            return words("gradients-not-scattered", who=who, n=scatters, expected=synced, absent=scatters < synced)
    return other_order(call.notes)


@of_record
def ahead(call: Call) -> Wrong | None:
    """At each pass of a layer, its own all-gather and that of the next one have been started, and no others."""
    layers = len(call.arguments["hidden"])
    for rank, log in enumerate(kinds(call)):
        started, passes = 0, 0
        for kind in log:
            started += kind == "allgather"
            if kind in COMPUTES:
                number, place = divmod(passes, layers)
                n, expected = started - number * layers, min(place + 2, layers)
                if n != expected:
                    about = {"direction": kind, "who": Ranks([rank]), "n": n, "expected": expected}
                    return words("next-not-ahead" if n < expected else "too-far-ahead", absent=n < expected, **about)
                passes += 1
    return None


@of_record
def unsent(call: Call) -> Wrong | None:
    """Gradients are sent in the last backward pass of a step only."""
    for rank, log in enumerate(kinds(call)):
        if log.count("reduce_scatter") > 2 * len(call.arguments["hidden"]):
            return words("sent-while-not-synchronised", who=Ranks([rank]))
    return None


TRAINED = Trained()
MISTAKES = Mistakes(
    """
    ranks-apart: The first loss is right, and later ones are those of a training in which each rank's gradients are
    {size} times too large, or too small.
    """,
    ranks_apart=lambda call: (
        Gives(*(Reference(call, scale) for scale in (call.size, 1 / call.size))) if call.size > 1 else None
    ),
)


class FullySharded(CallCheck):
    """Three layers of other sizes, and one; a weight that is shared in a layer; one micro-batch a step, and two."""

    todo, probe = "FullySharded", probe.PROBE
    inputs = ("width", "hidden")
    consolidation = "Each rank trained the whole model, and never had more of it than two layers at once."
    criteria = (
        Criterion(
            "trains",
            1.25,
            "trained with any optimizer over `parameters()`, which are the shards in order, the ranks have the losses "
            "and the weights of data parallel training",
            TRAINED,
            MISTAKES,
            on=lambda arguments: arguments["parts"] == 1,
        ),
        Criterion(
            "memory",
            1,
            "the layers' own parameters hold memory while their layer computes, and at no other time",
            held,
        ),
        Criterion(
            "messages",
            0.75,
            "each pass of a layer has one all-gather, and its backward pass one reduce-scatter",
            sent,
        ),
        Criterion(
            "ahead",
            0.5,
            "while a layer computes, the weights of the one that is next in this direction are on their way, and no "
            "others",
            ahead,
            after=("messages",),
        ),
        Criterion(
            "no-sync",
            0.5,
            "while the attribute `sync` is False, backward passes add gradients up, unsent",
            first_of(unsent, TRAINED),
            MISTAKES,
            on=lambda arguments: arguments["parts"] > 1,
            after=("trains",),
        ),
    )

    def broke_off(self, run: Run) -> Wrong | None:
        """A rank dies of memory that is not there, or has errors of weights that were put together wrongly."""
        errors = [rank["error"] for rank in run.ranks if rank["error"]]
        shards = [error["message"] for error in errors if error["type"] == probe.OtherShards.__name__]
        if shards and run.broken["tied"]:
            return words("shared-weight-twice", run.report, what=shards[0])
        notes = run.of_call(run.reached, notes=True)
        wrong = other_order(notes) or died(run)
        again = wrong is not None and wrong.key == "freed-memory-used" and not any(map(gathered_since, notes))
        return words("freed-before-backward", run.report, **wrong.facts) if again else wrong

    def fits(self, case: dict, arguments: dict, seen: probe.Seen) -> bool:
        """A loss for each micro-batch."""
        return len(seen.losses) == 2 * arguments["parts"]

    def cases(self, rng: random.Random) -> list[dict]:
        """Widths of the model and of its layers."""

        def call(width: int, *hidden: int, parts: int = 1, tied: tuple = ()) -> dict:
            about = {"width": width, "hidden": [*hidden], "tied": [*tied]}
            return {**about, "parts": parts, "seed": rng.getrandbits(30)}

        three = [rng.choice((5, 6)), 3, 4]
        by_size = {4: [call(3, *three), call(3, 5, 2, parts=2)], 2: [call(4, 3), call(3, 5, 3, tied=(1,))]}
        return [{"size": size, "calls": calls} for size, calls in by_size.items()]


CHECK = FullySharded()
