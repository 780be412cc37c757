"""The check of `evaluate`: how the model is used, who evaluates what, and the accuracy."""

import math
from dataclasses import replace

from autograde.fixtures.numbered_net import CLASSES, NumberedNet, NumberedSet
from autograde.rubric import (
    WEIGHED,
    CallCheck,
    Criterion,
    DeviceCriterion,
    MeanOnAll,
    Ranks,
    Words,
    accuracy_parts,
    apart,
    first_of,
    given,
    guesses_of,
    hits_of,
    lacking,
    mistakes_by_rank,
    mode_stays,
    no_graph,
    once,
)

from ..probes import evaluate

words = Words("""
share-too-large: The ranks evaluate {counts} of {n:sample}. In fair shares no rank has more than {most}.

not-evaluated: No rank has shown the model {missing} of the {n:sample}. Are samples lost where the ranks cannot share
them evenly?

empty-rank: Where a rank has no samples, {who:raises|raise} an error ({error}). What should such a rank contribute, so
that the others can go on?
""")


def samples(call):
    return len(call.arguments["labels"])


@once
def hits(call):
    about = call.arguments
    return hits_of(NumberedNet(about["model"], norm=False), NumberedSet(samples(call), about["data"], about["labels"]))


def shares(call):
    return [[number for each in own for number in each.ids] for own in call.of("passes")]


def parts(call):
    return accuracy_parts(hits(call), shares(call))


def missing(call):
    return samples(call) - len({number for own in shares(call) for number in own} & {*range(samples(call))})


def accuracy(call):
    """Of all samples; where some of many are not evaluated, which is judged by itself, what follows from the others."""
    right = sum(hits(call)) / samples(call)
    found, total = sum(part.total for part in parts(call)), sum(part.count for part in parts(call))
    some = missing(call) and not call.arguments["few"]
    of_these = [right, found / max(1, total), found / samples(call)] if some else [right]
    return min(of_these, key=lambda each: abs(each - (call.seen[0].value.value or 0.0)))


MODES = first_of(mode_stays, no_graph)


def modes_without_samples(call):
    """Of ranks that have no sample; where others leave the same behind, that is judged by itself."""
    busy = [seen for seen in call.seen if seen.passes]
    return None if MODES(replace(call, seen=busy)) else MODES(call)


def fair(call):
    n, counts = samples(call), [*map(len, shares(call))]
    if max(counts) > (most := math.ceil(n / call.size)):
        return words("share-too-large", counts=counts, n=n, most=most)
    return words("not-evaluated", missing=missing(call), n=n) if missing(call) else None


def distinct(hits, size):
    """Whether other numbers than the accuracy come of the usual mistakes, with strided shares and with blocks."""
    n, most = len(hits), math.ceil(len(hits) / size)
    padded = [*range(n), *range(n)][: most * size]
    strided = [range(n)[rank::size] for rank in range(size)]
    blocks = [range(n)[most * rank : most * rank + most] for rank in range(size)]
    if size == 1:
        return 0 < sum(hits) < n
    for dealt in (strided, blocks, [padded[rank::size] for rank in range(size)]):
        keys = ["one-ranks-part/0"]
        keys += ["mean-of-means/ranks"] if len({len(share) for share in dealt}) > 1 else []
        keys += ["counted-twice"] if sum(map(len, dealt)) > n else []
        if not apart(accuracy_parts(hits, dealt), size, keys, 1e-9, sum(hits) / n, n):
            return False
    return True


def draw_evaluation(rng, size, n):
    """Arguments of a call: labels such that parts of the set have other accuracies than all of it, if it is large; and
    of a small one that some guess is right."""
    call = {"local_size": min(2, size), "data": rng.randrange(2**31), "model": rng.randrange(2**31)}
    right = [rng.random() < 0.5 for _ in range(n)]
    while not (distinct(right, size) if n > 2 * size else any(right)):
        right = [rng.random() < 0.5 for _ in range(n)]
    guesses = guesses_of(NumberedNet(call["model"], norm=False), NumberedSet(n, call["data"]))
    labels = [guess if hit else (guess + 1) % CLASSES for guess, hit in zip(guesses, right, strict=True)]
    return {**call, "few": n < size, "labels": labels}


def case(rng, size, n, **more):
    """With a model in train mode, and with one in eval mode."""
    call = draw_evaluation(rng, size, n)
    return {"size": size, **more, "calls": [{**call, "train": mode} for mode in rng.sample([True, False], 2)]}


def cases(rng):
    """A rank's part that weighs more; many samples; more than a usual batch holds; then fewer than ranks, and one."""
    shapes = [(4, 4 * rng.randint(3, 5) + 2), (3, 10), (2, 601), (1, 7), (2, 11), (4, 9), (1, 5)]
    weighed = case(rng, 3, rng.randint(10, 14), **{WEIGHED: True})
    return [weighed, *(case(rng, *each) for each in shapes), case(rng, 3, 2), case(rng, 4, 1)]


def gpu_case(rng):
    return {"size": 2, "calls": [{**draw_evaluation(rng, 2, 5), "train": True}]}


enough = lacking("few")


def broke_off(run):
    """An error on ranks that have no sample, in the usual ways to share."""
    ranks = [*run.errors]
    if run.state != "raised" or not ranks or min(ranks) < len(run.broken["labels"]):
        return None
    return words("empty-rank", run.report, who=Ranks(ranks), error=run.errors[ranks[0]])


ACCURACY = MeanOnAll(parts, accuracy, samples)
COUNTED_WRONGLY = ACCURACY.mistakes("samples")
SAYS = "all ranks return the same float: the hits of all ranks, divided by n, each sample counted once"
CHECK = CallCheck.of(
    "evaluate",
    evaluate.PROBE,
    cases,
    Criterion(
        "mode",
        0.75,
        "while the model predicts, it is in eval mode, and no graph is recorded; afterwards the model is in the mode "
        "in which it came, and torch records gradients",
        MODES,
        on=enough,
    ),
    Criterion(
        "shares",
        0.5,
        "the ranks share the samples: none evaluates more than ceil(n / N) of them, and none is left out",
        fair,
        mistakes_by_rank(shares, "all samples"),
        on=enough,
    ),
    Criterion(
        "accuracy",
        1,
        SAYS,
        ACCURACY,
        COUNTED_WRONGLY,
        on=enough,
        after=("shares",),
    ),
    Criterion(
        "few",
        0.25,
        "the accuracy is right, and ranks without samples leave all as it was, where there are fewer samples than "
        "ranks, too",
        first_of(modes_without_samples, ACCURACY),
        COUNTED_WRONGLY,
        on=given("few"),
        after=("shares", "accuracy"),
    ),
    DeviceCriterion(0.5, "it also works on a GPU"),
    repeats=False,
    gpu_case=gpu_case,
    broke_off=broke_off,
    consolidation="Without padding, a rank may have less to do than another, or nothing, and the accuracy is exact. "
    "Every rank takes part in the reduction all the same.",
)
