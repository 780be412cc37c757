"""The check of `memory_per_rank`: bytes by part and stage, beside those of known mistakes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Gives, Mistakes
from autograde.rubric.rounding import Rounding
from autograde.rubric.words import Words, Wrong

from ..probes import memory_per_rank as probe

SHARED_FROM = {"weights": 3, "gradients": 2, "optimizer": 1, "master weights": 1}
BYTES = {"weights": 2, "gradients": 2, "optimizer": 8, "master weights": 4}
NEAR = Rounding(1e-9)

words = Words("""
not-the-four-parts: Your function returns {kind}. A dict with the keys {keys} is expected.

bytes-are-no-number: With stage {stage}, "{name}" is of type {kind}. A number is expected.

other-bytes: With {parameters:parameter} on {ranks:rank} and stage {stage}, "{name}" are {actual:.10g} bytes, where
{expected:.10g} are expected. How many bytes has a parameter of these, and does this stage share them out?
""")


def parts(arguments: dict, sizes: dict, shared: Callable[[str, int], bool] | None = None) -> dict[str, float]:
    """Bytes by part. sizes: those of a parameter, where they are not as in BYTES. shared: of a part and a stage,
    whether the part is shared out; None: as it should be."""
    shared = shared or (lambda name, stage: stage >= SHARED_FROM[name])
    own = {name: arguments["parameters"] * each for name, each in {**BYTES, **sizes}.items()}
    return {name: each / arguments["ranks"] if shared(name, arguments["stage"]) else each for name, each in own.items()}


class Parts:
    """Judge of all four numbers."""

    def __call__(self, call: Call) -> Wrong | None:
        """They are there, and right."""
        [seen], expected = call.seen, parts(call.arguments, {})
        if missing := [name for name in expected if name not in seen.parts]:
            kind = seen.kind or f"a dict without {' and '.join(map(repr, missing))}"
            return words("not-the-four-parts", kind=kind, keys=[*map(repr, expected)])
        for name, right in expected.items():
            number = seen.parts[name]
            if number.value is None:
                return words("bytes-are-no-number", stage=call.arguments["stage"], name=name, kind=number.kind)
            if not NEAR(float(number.value), float(right)):
                about = {**call.arguments, "name": name, "actual": float(number.value), "expected": float(right)}
                return words("other-bytes", compared=True, **about)
        return None

    def gives(self, call: Call, value: dict) -> bool:
        """Whether these are the numbers."""
        seen = call.seen[0].parts
        values = {name: seen[name].value for name in value if name in seen}
        return len(values) == len(value) and all(
            values[name] is not None and NEAR(float(values[name]), float(each)) for name, each in value.items()
        )


def gives(sizes: dict | None = None, shared: Callable[[str, int], bool] | None = None) -> Callable[[Call], Gives]:
    """The sign of a mistake, see `parts`."""
    return lambda call: Gives(parts(call.arguments, sizes or {}, shared))


def rounded(call: Call) -> Gives:
    """Shares in whole bytes, or of whole parameters."""
    arguments, right = call.arguments, parts(call.arguments, {})
    shares = [number // arguments["ranks"] for number in (arguments["parameters"], arguments["parameters"] - 1)]
    of_parameters = [
        {
            name: each if arguments["stage"] < SHARED_FROM[name] else BYTES[name] * (share + more)
            for name, each in right.items()
        }
        for share, more in zip(shares, (0, 1), strict=True)
    ]
    return Gives({name: each // 1 for name, each in right.items()}, *of_parameters)


MISTAKES = Mistakes(
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
    weights_in_single_precision=lambda call: Gives(
        *(parts(call.arguments, each) for each in ({"weights": 4}, {"gradients": 4}, {"weights": 4, "gradients": 4}))
    ),
    one_number_for_adam=gives({"optimizer": 4}),
    no_master_weights=gives({"master weights": 0}),
    master_weights_counted_twice=gives({"optimizer": 12}),
    master_weights_kept_whole=gives(shared=lambda name, stage: stage >= SHARED_FROM[name] and name != "master weights"),
    a_stage_early=gives(shared=lambda name, stage: stage + 1 >= SHARED_FROM[name]),
    a_stage_late=gives(shared=lambda name, stage: stage - 1 >= SHARED_FROM[name]),
    weights_before_gradients=gives(
        shared=lambda name, stage: stage >= {**SHARED_FROM, "weights": 2, "gradients": 3}[name]
    ),
    only_what_is_new=gives(shared=lambda name, stage: stage == SHARED_FROM[name]),
    share_rounded=rounded,
)
SAYS = (
    "stage 0: each rank keeps everything",
    "stage 1: each rank keeps a share of the optimizer's numbers and of the master weights",
    "stage 2: and of the gradients",
    "stage 3: and of the weights",
)


def on(stage: int) -> Callable[[dict], bool]:
    """Whether a call is one of this stage."""
    return lambda arguments: arguments["stage"] == stage


class MemoryPerRank(CallCheck):
    """All stages, with numbers that do and do not divide evenly."""

    todo, probe, repeats = "memory_per_rank", probe.PROBE, False
    consolidation = (
        "Of 16 bytes a parameter, 12 are the optimizer's: so stage 1 saves most of what there is to save, and only "
        "stage 3 goes on shrinking with every rank."
    )
    criteria = tuple(
        Criterion(f"stage-{stage}", 0.5, says, Parts(), MISTAKES, on=on(stage)) for stage, says in enumerate(SAYS)
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Small numbers and large ones."""

        def call(parameters: int, ranks: int, stage: int) -> dict[str, Any]:
            return {"parameters": parameters, "ranks": ranks, "stage": stage, "names": [*BYTES]}

        sizes = (1000, 4), (7_500_000_000, 64), (rng.randrange(10**6) * 21 + 5, 7), (rng.randrange(1, 10**6), 1)
        return [{"calls": [call(*size, stage) for stage in range(4) for size in sizes]}]


CHECK = MemoryPerRank()
