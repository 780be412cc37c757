"""The check of `gradient_bytes`."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import boolean, described_value
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls
from autograde.verdicts.numbers import finding as of_numbers

KINDS = {"float32": torch.float32, "float16": torch.float16, "float64": torch.float64, "bfloat16": torch.bfloat16}

finding = Findings("""
no-byte-count 2
Your function returns {kind}. A whole number is expected.

model-altered 1
After the call, the model is not what it was before: parameters are of another type, on another device, frozen, or have
a gradient.

numbers-not-bytes 1
The result is {actual}, the number of weights. How many bytes does each of them take?

four-bytes-for-all 1
The result is {actual}: four bytes for each weight. This model has weights of {types}.

first-ones-type 1
The result is {actual}: all weights are counted in the type of the first one. This model has weights of {types}.

frozen-counted 1
The result is {actual}: frozen parameters are counted, too. They get no gradient, and none is reduced.

buffers-counted 1
The result is {actual}: buffers are counted, too. They belong to the model, but nobody trains them.

state-dict 1
The result is {actual}: that is the whole state dict, with buffers, frozen parameters, and tied ones twice.

tied-twice 1
The result is {actual}: a parameter that is used in two places is counted in both. It has one gradient.

no-gradient-yet 1
The result is 0. There has been no step, so no parameter has a `.grad`. What will its size be?

told-by-address 1
The result is {actual}, for a model on the meta device: of its parameters you count one. Tensors have no address in
memory there. How else does one know that a parameter has been counted?

top-level-only 1
The result is {actual}, in which parameters of inner modules are missing.

wrong-bytes 2
The result is {actual}, where {expected} bytes are expected: the model has {weights} trained weights, of {types}.
""")


class Tied(nn.Module):
    """A small model with a tied, a frozen and a half-precision parameter, and with buffers. plan: sizes and types."""

    def __init__(self, plan: dict) -> None:
        super().__init__()
        kind, other, width = KINDS[plan["type"]], KINDS[plan["other"]], plan["width"]
        self.scale = nn.Parameter(torch.ones(plan["scale"], dtype=other))
        self.embed = nn.Linear(width, width, bias=False, dtype=kind)
        self.inner = nn.Sequential(
            nn.Linear(width, plan["hidden"], dtype=kind), nn.BatchNorm1d(plan["hidden"], dtype=kind)
        )
        self.frozen = nn.Parameter(torch.ones(plan["frozen"], dtype=kind), requires_grad=False)
        self.register_buffer("mask", torch.ones(plan["mask"], dtype=kind))
        self.head = nn.Linear(width, width, bias=False, dtype=kind)
        if plan["tied"]:
            self.head.weight = self.embed.weight


def built(plan: dict) -> Tied:
    """The model of a case, where the plan says."""
    with torch.device("meta" if plan["meta"] else "cpu"):
        return Tied(plan)


def counted(parameters: list, size: Callable = lambda each: each.element_size()) -> int:
    """Bytes of parameters."""
    return sum(each.numel() * size(each) for each in parameters)


def mistakes(model: Tied) -> dict[str, int]:
    """What known mistakes give."""
    every = [*model.parameters()]
    trained = [each for each in every if each.requires_grad]
    with_copies = [each for _, each in model.named_parameters(remove_duplicate=False)]
    state = [*model.state_dict().values()]
    first = every[0].element_size()
    found = {
        "numbers-not-bytes": counted(trained, lambda each: 1),
        "numbers-not-bytes/all": counted(every, lambda each: 1),
        "four-bytes-for-all": counted(trained, lambda each: 4),
        "four-bytes-for-all/frozen": counted(every, lambda each: 4),
        "first-ones-type": counted(trained, lambda each: first),
        "frozen-counted": counted(every),
        "tied-twice": counted([each for each in with_copies if each.requires_grad]),
        "tied-twice/frozen": counted(with_copies),
        "state-dict": counted(state),
        "buffers-counted": counted([*trained, *model.buffers()]),
        "buffers-counted/frozen": counted([*every, *model.buffers()]),
        "no-gradient-yet": 0,
        "top-level-only": counted([each for each in model.parameters(recurse=False) if each.requires_grad]),
    }
    if model.scale.is_meta:
        found |= {"told-by-address": counted(trained[:1]), "told-by-address/last": counted(trained[-1:])}
        found |= {"told-by-address/frozen": counted(every[:1]), "told-by-address/frozen, last": counted(every[-1:])}
    return found


class GradientBytes(CallCheck, JudgedCalls):
    """Models with tied, frozen and half-precision parameters and with buffers, some of them on the meta device."""

    todo, points = "gradient_bytes", 2
    consolidation = (
        "A step reduces the gradients of what is trained, whatever else the model holds. These bytes are the same for "
        "one image and for a thousand; the arithmetic is not."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Models of several types, tied or not; one is on the meta device, and too large for any memory."""
        calls = [
            draw_model(rng, True, False, "float32", "float32"),
            draw_model(rng, False, False, "float32", "float16"),
        ]
        calls += [draw_model(rng, True, True, "bfloat16", "float32")]
        calls += [draw_model(rng, True, False, "float64", "float16")]
        calls += [draw_model(rng, False, True, "float16", "float64")]
        return [{"size": 1, "calls": calls}]

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The number, and whether the model is as it was."""
        model = built(call)

        def looks() -> list[tuple]:
            return [
                (str(each.dtype), str(each.device), each.requires_grad, each.grad is None)
                for each in model.parameters()
            ]

        before = looks()
        returned = function(model)
        whole = isinstance(returned, int) and not isinstance(returned, bool)
        return {"value": described(returned), "whole": whole, "altered": looks() != before}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The number, whether it is whole, and whether the model was changed."""
        return {"value": described_value(), "whole": boolean(), "altered": boolean()}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The number beside what is expected, and beside what known mistakes give."""
        [shown], model = call.shown, built(call.plan)
        value = shown["value"]
        if value["value"] is None:
            return [finding("no-byte-count", kind=f"a value of type {value['type']}")]
        found = [finding("model-altered")] if shown["altered"] else []
        if not shown["whole"]:
            found.append(of_numbers("not-an-int", kind=value["type"]))
        trained = [each for each in model.parameters() if each.requires_grad]
        types = " and ".join(sorted({str(each.dtype).removeprefix("torch.") for each in trained}))
        about = {"types": types, "weights": counted(trained, lambda each: 1)}
        number, expected = value["value"], counted(trained)
        actual = int(number) if number.is_integer() else number
        made = partial(finding, **about, actual=actual, expected=expected)
        return [*found, diagnose("bytes", actual, expected, mistakes(model), made, "wrong-bytes")]


def draw_model(rng: random.Random, tied: bool, meta: bool, kind: str, other: str) -> dict:
    """A model's sizes. meta: on the meta device, and large."""
    least, most = (20_000, 90_000) if meta else (3, 9)
    sizes = {name: rng.randrange(least, most) for name in ("width", "hidden", "scale", "frozen", "mask")}
    return {**sizes, "tied": tied, "meta": meta, "type": kind, "other": other}


CHECK = GradientBytes()
