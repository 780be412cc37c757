"""Verdicts on an accuracy that all ranks are due to return, having shared the samples."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from autograde.check import Finding
from autograde.findings import Findings
from autograde.means import different, matching, returned
from autograde.replicas import guesses_of
from course.numbered import CLASSES, NumberedNet, NumberedSet
from course.report import name_ranks

finding = Findings("""
not-eval-mode 2
The model is not in eval mode while it is evaluated: dropout drops, and BatchNorm looks at the batch and counts it.

mode-not-restored 1
Afterwards, the model on {who} is not in the mode in which it came.

everything-on-every-rank 2
Each of {size} ranks evaluates all {n} samples. That takes as long as one rank alone.

share-too-large 1
The ranks are shown {numbers} of {n} samples. With fair shares none is shown more than {most}.

own-share-only 2
Each rank returns the accuracy on its own share. What of the other ranks' samples?

rank-0s-share 2
All ranks return the accuracy on rank 0's share. What of the other ranks' samples?

mean-of-shares 2
The result is the mean of the shares' accuracies, but the shares are of different sizes: {drawn}.

counted-twice 2
The ranks were shown {shown} samples of a set of {n}. Those shown twice count twice in the result.

not-evaluated 2
{missing} of {n} samples were shown to the model on no rank.

wrong-accuracy 2
The result is {value:.6g}. The accuracy on the whole set is another number.
""")


def draw_evaluation(rng: random.Random, size: int, samples: int) -> dict:
    """A case: labels such that parts of the set have other accuracies than all of it, where it is large enough."""
    case = {"size": size, "local_size": min(2, size), "modes": rng.sample([True, False], 2)}
    case |= {"data": rng.randrange(2**31), "model": rng.randrange(2**31)}
    right = [rng.random() < 0.5 for _ in range(samples)]
    while samples > 2 * size and not distinct(right, size):
        right = [rng.random() < 0.5 for _ in range(samples)]
    guesses = guesses_of(NumberedNet(case["model"]), NumberedSet(samples, case["data"]))
    labels = [guess if hit else (guess + 1) % CLASSES for guess, hit in zip(guesses, right, strict=True)]
    return {**case, "labels": labels}


def evaluation_mistakes(hits: Sequence[bool], seen: Sequence[dict], mode: bool) -> list[Finding]:
    """What is wrong with an evaluation. hits: of all samples. mode: whether the model came in train mode.

    seen: for each rank ``accuracy``, as `autograde.probes.described` gives it, ``mode`` afterwards, and ``forwards``,
    pairs (samples, train mode).
    """
    found, size, n = [], len(seen), len(hits)
    if any(training for one in seen for _, training in one["forwards"]):
        found.append(finding("not-eval-mode"))
    if wrong := [rank for rank, one in enumerate(seen) if one["mode"] != mode]:
        found.append(finding("mode-not-restored", who=name_ranks(wrong)))
    shares = [[number for ids, _ in one["forwards"] for number in ids] for one in seen]
    if size > 1 and n > 1 and all(set(own) == set(range(n)) for own in shares):
        return [*found, finding("everything-on-every-rank", size=size, n=n)]
    found += accuracy_mistakes([one["accuracy"] for one in seen], hits, shares)
    if not found and max(map(len, shares)) > math.ceil(n / size):
        numbers = ", ".join(str(len(own)) for own in shares)
        found.append(finding("share-too-large", numbers=numbers, n=n, most=math.ceil(n / size)))
    return found


def accuracy_candidates(hits: Sequence[bool], shares: Sequence[Sequence[int]]) -> dict[str, list[float]]:
    """What each rank returns, by the mistake that makes it do so; the right accuracy is under "right".

    hits: of all samples. shares: the samples that each rank was shown.
    """
    ranks, n = len(shares), len(hits)
    own = [[hits[number] for number in share if 0 <= number < n] for share in shares]
    filled = [share for share in own if share]
    means = [sum(share) / len(share) if share else 0.0 for share in own]
    shown = sum(map(len, own))

    def on_all(value: float) -> list[float]:
        return [value] * ranks

    return {
        "right": on_all(sum(hits) / n),
        "counted-twice": on_all(sum(map(sum, own)) / max(1, shown)),
        "counted-twice, over n": on_all(sum(map(sum, own)) / n),
        "own-share-only": means,
        "own-share-only, over n": [sum(share) / n for share in own],
        "rank-0s-share": on_all(means[0]),
        "rank-0s-share, over n": on_all(sum(own[0]) / n),
        "mean-of-shares": on_all(sum(means) / ranks),
        "mean-of-shares, filled": on_all(sum(means) / max(1, len(filled))),
    }


def distinct(hits: Sequence[bool], size: int) -> bool:
    """Whether other numbers than the accuracy come of the usual mistakes, with strided shares and with blocks."""
    n, most = len(hits), math.ceil(len(hits) / size)
    ids = range(n)
    padded = [*ids, *ids][: most * size]
    strided = [ids[rank::size] for rank in range(size)]
    blocks = [ids[most * rank : most * rank + most] for rank in range(size)]
    if size == 1:
        return 0 < sum(hits) < n
    for shares in (strided, blocks, [padded[rank::size] for rank in range(size)]):
        due = accuracy_candidates(hits, shares)
        names = ["own-share-only", "rank-0s-share"]
        names += ["mean-of-shares"] if len({len(share) for share in shares}) > 1 else []
        names += ["counted-twice"] if sum(map(len, shares)) > n else []
        if any(due[name] == due["right"] for name in names) or due["own-share-only"][0] == due["right"][0]:
            return False
    return True


def accuracy_mistakes(results: Sequence[dict], hits: Sequence[bool], shares: Sequence[Sequence[int]]) -> list[Finding]:
    """What is wrong with an accuracy, as each rank returned it. hits, shares: as in `accuracy_candidates`."""
    found = returned(results)
    if found and found[0].key == "no-number":
        return found
    values, n = [result["value"] for result in results], len(hits)
    shown = {number for own in shares for number in own}
    if missing := n - len(shown & set(range(n))):
        found.append(finding("not-evaluated", missing=missing, n=n))
    match = matching(values, accuracy_candidates(hits, shares))
    if match == "right":
        return found
    drawn = ", ".join(str(len(own)) for own in shares)
    if match is not None:
        return [*found, finding(match.partition(",")[0], drawn=drawn, n=n, shown=sum(map(len, shares)))]
    if differ := different(values):
        return [*found, differ]
    return [*found, finding("wrong-accuracy", value=values[0])]
