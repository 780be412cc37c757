"""The check of `memory_per_rank`: bytes by part and stage, beside those of known mistakes."""

from __future__ import annotations

import random
from typing import Any

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, MistakesGiving
from autograde.rubric.judges.named_numbers import HasNumbers

from ..probes import memory_per_rank as probe

SHARED_FROM = {"weights": 3, "gradients": 2, "optimizer": 1, "master weights": 1}
BYTES = {"weights": 2, "gradients": 2, "optimizer": 8, "master weights": 4}


def parts(call: Call, sizes: dict | None = None, shared_from: dict | None = None, shift: int = 0) -> dict[str, float]:
    """Bytes by part. sizes, shared_from: what is not as it should be; shift: of the stage."""
    about, first = call.arguments, SHARED_FROM | (shared_from or {})
    whole = {name: about["parameters"] * each for name, each in (BYTES | (sizes or {})).items()}
    return {
        name: each / (about["ranks"] if about["stage"] + shift >= first[name] else 1) for name, each in whole.items()
    }


def mistaken(call: Call) -> dict[str, Any]:
    """What known mistakes give, by key."""
    about, right = call.arguments, parts(call)
    share = about["parameters"] // about["ranks"]
    of_parameters = [
        {name: each if about["stage"] < SHARED_FROM[name] else BYTES[name] * number for name, each in right.items()}
        for number in (share, share + 1)
    ]
    single = (["weights"], ["gradients"], ["weights", "gradients"])
    older = {name: 9 for name, first in SHARED_FROM.items() if first != about["stage"]}  # are whole again
    return {
        "weights-in-single-precision": tuple(parts(call, dict.fromkeys(names, 4)) for names in single),
        "one-number-for-adam": parts(call, {"optimizer": 4}),
        "no-master-weights": parts(call, {"master weights": 0}),
        "master-weights-counted-twice": parts(call, {"optimizer": 12}),
        "master-weights-kept-whole": parts(call, shared_from={"master weights": 9}),
        "a-stage-early": parts(call, shift=1),
        "a-stage-late": parts(call, shift=-1),
        "weights-before-gradients": parts(call, shared_from={"weights": 2, "gradients": 3}),
        "only-what-is-new": parts(call, shared_from=older),
        "share-rounded": ({name: each // 1 for name, each in right.items()}, *of_parameters),
    }


MISTAKES = MistakesGiving(
    """
    weights-in-single-precision: You count 4 bytes for a weight or a gradient. In mixed precision both have 16 bits.

    one-number-for-adam: You count 4 bytes for the optimizer's numbers. How many numbers does Adam keep of a parameter?

    no-master-weights: You count no master weights. An update of a bfloat16 is mostly smaller than its last digit: in
    what are updates added up?

    master-weights-counted-twice: You count 12 bytes for the optimizer, and the master weights once more.

    master-weights-kept-whole: You share out the optimizer's numbers, but each rank keeps all master weights. Who
    updates them?

    a-stage-early: Each stage shares out what the next one is the first to share.

    a-stage-late: Each stage shares out what the one before it shared already.

    weights-before-gradients: In stage 2 you share out the weights, and keep all gradients.

    only-what-is-new: Your stages share out only what is new in them. Each shares what the one before it did, too.

    share-rounded: You round the shares. Here they are 1 / ranks of the whole, whatever that is.
    """,
    mistaken,
)
SAYS = (
    "in stage 0, each rank keeps everything",
    "in stage 1, each rank keeps a share of the optimizer's numbers and of the master weights",
    "in stage 2, also of the gradients",
    "in stage 3, also of the weights",
)


def criterion(stage: int, says: str) -> Criterion:
    """The criterion on one stage."""
    judge = HasNumbers(parts, told=("parameters", "ranks", "stage"))
    return Criterion(f"stage-{stage}", 0.5, says, judge, MISTAKES, on=lambda arguments: arguments["stage"] == stage)


class MemoryPerRank(CallCheck):
    """All stages, with numbers that do and do not divide evenly."""

    todo, probe, repeats = "memory_per_rank", probe.PROBE, False
    inputs = ("parameters", "ranks", "stage")
    consolidation = (
        "Of 16 bytes a parameter, 12 are the optimizer's: so stage 1 saves most of what there is to save, and only "
        "stage 3 goes on shrinking with every rank."
    )
    criteria = tuple(map(criterion, range(4), SAYS))

    def cases(self, rng: random.Random) -> list[dict]:
        """Small numbers and large ones."""
        sizes = (1000, 4), (7_500_000_000, 64), (rng.randrange(10**6) * 21 + 5, 7), (rng.randrange(1, 10**6), 1)
        return [
            {
                "calls": [
                    {"parameters": parameters, "ranks": ranks, "stage": stage}
                    for stage in range(4)
                    for parameters, ranks in sizes
                ]
            }
        ]


CHECK = MemoryPerRank()
