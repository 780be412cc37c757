"""The check of `mse_gradient`."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, numbers, optional, record, string
from autograde.contract.verdict import Finding
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.judged import finding as judged
from autograde.verdicts.one_process import row_of

from .line_fit import draw_line_problem, gradient_mistakes, mistake, sample_gradients, tensors

finding = Findings("""
uses-backward 1
{seen}, so it uses autograd. A formula does not need it.

not-two-numbers 2
Two numbers, dm and dn, are expected for a batch of {n}. You return {problem}.

right-direction 1.5
Both parts of your gradient are {factor:.4g} times what is expected, with a batch of {n}: it has the right direction. By
what number do you divide the sum over the samples?

wrong-slope 2
At (m, n) = {point}, with a batch of {n}, you return ({dm:.5g}, {dn:.5g}). Measured there by small steps, the loss
changes by {slope_m:.5g} per unit of m and by {slope_n:.5g} per unit of n.{right} What is the derivative of the square,
and what that of the term inside it?
""")


class MseGradient(RankCheck, JudgedRun):
    """The gradient of the mean squared error at random points, in both precisions."""

    todo, points, deadline = "mse_gradient", 2, 10.0
    consolidation = (
        "The gradient of a mean is the mean of the samples' gradients. So any batch gives an estimate of the gradient "
        "of all samples, and a larger batch gives a better one."
    )
    prices = MappingProxyType({"sum-not-mean": 1, "wrong-sign": 1, "argument-changed": 0.5})

    def cases(self, rng: random.Random) -> list[dict]:
        """Batches of several sizes, one of a single sample."""
        cases = [draw_line_problem(rng, 7), draw_line_problem(rng, 5, "float32"), draw_line_problem(rng, 1)]
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """A call where autograd is off; where that raises, also one where it is on. Who turns it on again is seen."""
        mse_gradient = subject.load()
        recorded = []

        def note(tensor: torch.Tensor) -> torch.Tensor:  # what a backward pass would need
            recorded.append(True)
            return tensor

        def call(inference: bool) -> dict:
            x, y = (rank.argument(name, values) for name, values in zip("xy", tensors(case), strict=True))
            with torch.inference_mode(inference), saved_tensors_hooks(note, lambda tensor: tensor):
                returned = mse_gradient(*case["start"], x, y)
            seen = {
                "values": None,
                "problem": None,
                "raised": None,
                "changed": rank.changed(),
                "recorded": bool(recorded),
            }
            try:
                values = [float(value.item() if hasattr(value, "item") else value) for value in returned]
                return seen | ({"values": values} if len(values) == 2 else {"problem": f"{len(values)} numbers"})
            except Exception as error:
                return seen | {"problem": f"`{type(returned).__name__}` ({type(error).__name__}: {error})"}

        try:
            return call(inference=True)
        except NotImplementedError:
            raise
        except Exception as error:
            return call(inference=False) | {"raised": f"{type(error).__name__}: {error}".splitlines()[0]}

    def shape(self, case: dict) -> dict:
        """Two numbers, or why there are not two."""
        text = optional(string())
        return record(
            values=optional(numbers(2)), problem=text, raised=text, changed=array(string()), recorded=boolean()
        )

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding]:
        """Compare with autograd, and with what the known mistakes would give."""
        [seen], n = results, len(case["x"])
        if seen["raised"]:
            how = f"Inside torch.inference_mode() it raises {seen['raised']}. Outside it works"
            yield finding("uses-backward", seen=how)
        elif seen["recorded"]:
            yield finding("uses-backward", seen="It leaves torch.inference_mode() and has torch record operations")
        for name in seen["changed"]:
            yield judged("argument-changed", which=name)
        if seen["values"] is None:
            yield finding("not-two-numbers", n=n, problem=seen["problem"])
            return
        pair = row_of(seen["values"]).tolist()
        mistakes = gradient_mistakes(case["x"], case["y"], case["start"], pair)
        if mistakes is None:
            slope_m, slope_n = sample_gradients(case["x"], case["y"], [case["start"]])[0].mean(0).tolist()
            about = {"point": tuple(case["start"]), "slope_m": slope_m, "slope_n": slope_n}
            close = [
                abs(own - slope) <= 1e-4 * max(1.0, abs(slope))
                for own, slope in zip(pair, (slope_m, slope_n), strict=True)
            ]
            right = {(True, False): " dm is right, dn is not.", (False, True): " dn is right, dm is not."}.get(
                (*close,), ""
            )
            if (factor := common_factor(pair, (slope_m, slope_n))) is not None:
                yield finding("right-direction", factor=factor, n=n)
            else:
                yield finding("wrong-slope", n=n, dm=pair[0], dn=pair[1], right=right, **about)
        yield from map(mistake, mistakes or ())


def common_factor(actual: Sequence[float], expected: Sequence[float]) -> float | None:
    """By how much all numbers are too large or too small; None if that is not the same for all, or is nothing."""
    factors = [one / other for one, other in zip(actual, expected, strict=True) if other]
    alike = len(factors) == len(expected) and max(factors) - min(factors) <= 1e-4 * abs(factors[0])
    return factors[0] if alike and factors[0] else None


CHECK = MseGradient()
