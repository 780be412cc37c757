"""The check of `evaluate`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, described_value, integer, tuple_of
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.numbered_net import CLASSES, NumberedNet, NumberedSet
from autograde.probes.simulated_node import seeded_apart, simulated_node
from autograde.probes.weighed_part import WEIGHED, was_weighed, weighed_calls
from autograde.verdicts.judged import Call, JudgedCalls
from autograde.verdicts.means import accuracy_on_all, accuracy_parts, apart, evaluated, restored
from autograde.verdicts.replicas import guesses_of, hits_of
from autograde.verdicts.shards import finding as sharing

FORWARD = tuple_of([array(integer()), boolean(), boolean()])  # ids, train mode, whether a graph is recorded

finding = Findings("""
share-too-large 1
The ranks evaluate {numbers} of {n} samples. In fair shares no rank has more than {most}.

graph-recorded 0.5
While the model predicts, torch records a graph for a backward pass that never comes. That takes memory and time.
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


def distinct(hits: Sequence[bool], size: int) -> bool:
    """Whether other numbers than the accuracy come of the usual mistakes, with strided shares and with blocks."""
    n, most = len(hits), math.ceil(len(hits) / size)
    padded = [*range(n), *range(n)][: most * size]
    strided = [range(n)[rank::size] for rank in range(size)]
    blocks = [range(n)[most * rank : most * rank + most] for rank in range(size)]
    if size == 1:
        return 0 < sum(hits) < n
    for shares in (strided, blocks, [padded[rank::size] for rank in range(size)]):
        parts, right = accuracy_parts(hits, shares), sum(hits) / n
        keys = ["one-ranks-part/0"]
        keys += ["mean-of-means/ranks"] if len({len(share) for share in shares}) > 1 else []
        keys += ["counted-twice"] if sum(map(len, shares)) > n else []
        if not apart(parts, size, keys, 1e-9, right, n):
            return False
    return True


class Evaluate(CallCheck, JudgedCalls):
    """Accuracies on sets that the ranks do not divide, beside the truth."""

    todo, points, needs, deadline = "evaluate", 3, "horovod", 20
    consolidation = (
        "Without padding, a rank may have less to do than another, or nothing, and the accuracy is exact. Every rank "
        "takes part in the reduction all the same."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Many samples; fewer than ranks; one; more than a usual batch holds; a rank's part that weighs more."""
        draw = draw_evaluation
        cases = [draw(rng, 4, 4 * rng.randint(3, 5) + 2), draw(rng, 3, 2), draw(rng, 3, 10), draw(rng, 2, 601)]
        cases += [draw(rng, 1, 7), draw(rng, 4, 1)]
        cases += [{**draw(rng, 3, rng.randint(10, 14)), WEIGHED: True}]
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """A few samples on two ranks."""
        return {**draw_evaluation(rng, 2, 5), "modes": [True]}

    def calls(self, case: dict) -> list[dict]:
        """With a model in train mode, and one in eval mode."""
        return [{**case, "train": mode} for mode in case["modes"]]

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The calls, or those in which a rank's part weighs more."""
        return weighed_calls(self, world, subject, case)

    @staticmethod
    def call(evaluate: Callable, rank: Rank, call: dict) -> dict:
        """The student's `evaluate`, and the samples that the model was shown."""
        forwards: list[list] = []
        data = NumberedSet(len(call["labels"]), call["data"], call["labels"])

        def shown(net: NumberedNet, ids: list[int]) -> None:
            graph = torch.is_grad_enabled() and any(each.requires_grad for each in net.parameters())
            forwards.append([ids, net.training, graph])

        model = NumberedNet(call["model"], dropout=0.5, record=shown).to(rank.torch_device)
        local_size = call["local_size"]
        with seeded_apart(rank.rank), simulated_node(rank.rank % local_size, local_size):
            value = evaluate(model.train(call["train"]), data, rank.torch_device)
        return {"value": described(value), "train": model.training, "forwards": forwards}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Accuracy, mode and forward passes."""
        return {"value": described_value(), "train": boolean(), "forwards": array(FORWARD)}

    def empty(self, case: dict, plan: dict) -> Collection[int]:
        """Those that have no sample where there are fewer than ranks, in the usual ways to share."""
        return range(len(case["labels"]), case["size"])

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The modes, the work of each rank, and the number that came of it."""
        n, size, forwards = len(case["labels"]), call.size, call.of("forwards")
        found = evaluated([training for of_rank in forwards for _, training, _ in of_rank])
        found += [finding("graph-recorded")] if any(graph for of_rank in forwards for *_, graph in of_rank) else []
        found += restored(call.plan["train"], call.of("train"))
        shares = [[number for ids, *_ in of_rank for number in ids] for of_rank in forwards]
        if size > 1 and n > 1 and all({*of_rank} == {*range(n)} for of_rank in shares):
            return [*found, sharing("whole-set-on-every-rank", size=size, n=n)]
        if (most := math.ceil(n / size)) < max(map(len, shares)):
            numbers = ", ".join(str(len(of_rank)) for of_rank in shares)
            found.append(finding("share-too-large", numbers=numbers, n=n, most=most))
        hits = hits_of(NumberedNet(case["model"]), NumberedSet(n, case["data"], case["labels"]))
        weighed = was_weighed(case, call.noted)
        return found + accuracy_on_all(call.of("value"), hits, shares, logs=call.events, weighed=weighed)


CHECK = Evaluate()
