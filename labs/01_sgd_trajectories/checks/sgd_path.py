"""The check of `sgd_path`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from autograde.contract.calls import with_article
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, numbers, record, string
from autograde.contract.verdict import Finding
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.judged import finding as judged
from autograde.verdicts.orders import finding as of_orders

from .line_fit import NUMBER_KINDS, draw_line_problem, gradient_stand_in, tensors
from .sgd_steps import FIXED, finding, path_mistakes, same_path

UNREADABLE = frozenset({"not-a-path", "not-finite", "wrong-step", "rows-all-equal"})  # nothing else can be said then


def one_path(sgd_path: Any, case: dict, seed: int, noise: int) -> dict:
    """Call `sgd_path` with the global random generators in some state, and tell what came back."""
    for set_seed in (torch.manual_seed, random.seed, np.random.seed):
        set_seed(noise)
    x, y = tensors(case)
    path = sgd_path(x, y, case["batch_size"], case["lr"], case["epochs"], tuple(case["start"]), seed)
    seen = {"kind": f"`{type(path).__name__}`", "why": "", "rows": [], "attached": False}
    seen["changed"] = not all(map(torch.equal, (x, y), tensors(case)))
    if isinstance(path, torch.Tensor):
        kind, shape = str(path.dtype).removeprefix("torch."), list(path.shape)
        seen |= {"kind": f"{with_article(kind)} tensor", "why": f" of shape {shape}", "attached": path.requires_grad}
        path = path.detach()
    try:
        return seen | {"rows": [[float(value) for value in row] for row in path]}
    except Exception as error:
        return seen | {"why": f"{seen['why']} ({type(error).__name__}: {error})"}


class SgdPath(RankCheck, JudgedRun):
    """Paths on few samples, so that each step tells which samples it used."""

    todo, points, deadline = "sgd_path", 4, 10.0
    consolidation = (
        "Every epoch visits each sample once, in a new order that follows from the seed. The run is random, and can "
        "be repeated to the last digit all the same."
    )
    prices = MappingProxyType({"seed-ignored": 1, "same-order-every-epoch": 1.5})

    def cases(self, rng: random.Random) -> list[dict]:
        """Single samples; uneven batches, with seed 0; one batch larger than the set; both precisions."""
        cases = [self.draw(rng, 12, 1, 4), self.draw(rng, 9, 4, 5, seed=0), self.draw(rng, 5, 8, 3, "float32")]
        return cases

    def draw(
        self,
        rng: random.Random,
        samples: int,
        batch_size: int,
        epochs: int,
        dtype: str = "float64",
        seed: int | None = None,
    ) -> dict:
        """One case. seed: None to draw it, too."""
        drawn, other = rng.sample(range(1, 100_000), 2)
        seed = drawn if seed is None else seed
        setting = {"batch_size": batch_size, "epochs": epochs, "lr": rng.choice((0.04, 0.05, 0.07))}
        return draw_line_problem(rng, samples, dtype) | setting | {"seeds": [seed, seed, other]}

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[list[dict]]:
        """Runs of three calls each, of which the first two have the same seed.

        A cell that calls `mse_gradient` gets a stand-in. The student's own may return floats or tensors, and `sgd_path`
        may rely on that: each kind is tried, and the best run counts.
        """
        runs, errors = [], []
        for kind in NUMBER_KINDS:
            calls: list[str] = []
            try:
                sgd_path = subject.load(mse_gradient=gradient_stand_in(kind, calls))
                runs.append([one_path(sgd_path, case, seed, noise) for noise, seed in enumerate(case["seeds"])])
            except NotImplementedError:
                raise
            except Exception as error:
                errors.append(error)
            if not calls:
                break
        if not runs:
            raise errors[0]
        return runs

    def shape(self, case: dict) -> dict:
        """Up to three runs of three calls, each with its rows."""
        call = record(kind=string(), why=string(), rows=array(numbers()), attached=boolean(), changed=boolean())
        return array(array(call, 3), least=1, most=len(NUMBER_KINDS))

    def judge(self, case: dict, results: list[list[list[dict]]]) -> Iterable[Finding]:
        """The best of the runs counts: after a faultless one, the others are not looked at."""
        [runs] = results
        judged_runs = [run_mistakes(case, runs[0])]
        while judged_runs[-1] and len(judged_runs) < len(runs):
            judged_runs.append(run_mistakes(case, runs[len(judged_runs)]))
        return min(judged_runs, key=lambda found: sum(each.points for each in found))


def run_mistakes(case: dict, run: list[dict]) -> list[Finding]:
    """Findings for three calls, of which the first two have the same seed."""
    (seen, again, other), (seed, _, another) = run, case["seeds"]
    found = call_mistakes(case, seen)
    keys = {each.key for each in found}
    if keys & UNREADABLE:
        return found
    if not keys - {"argument-changed", "not-detached", "wrong-dtype"}:  # that this path is right says nothing of others
        more = [each for call in (again, other) if call != seen for each in call_mistakes(case, call)]
        found = [*{each.key: each for each in [*more, *found]}.values()]
    if case["batch_size"] < len(case["x"]):
        if not same_path(seen["rows"], again["rows"]):
            found.append(finding("not-reproducible", seed=seed))
        elif same_path(seen["rows"], other["rows"]) and not FIXED & keys:
            found.append(of_orders("seed-ignored", epoch=0, seeds=f"{seed} and {another}"))
    return found


def call_mistakes(case: dict, seen: dict) -> list[Finding]:
    """Findings for one call."""
    found = [judged("argument-changed", which="x or y")] * seen["changed"]
    found += [finding("not-detached")] * seen["attached"]
    rows = seen["rows"]
    if not rows or any(len(row) != 2 for row in rows):
        return [*found, finding("not-a-path", kind=seen["kind"], why=seen["why"])]
    if seen["kind"] != f"{with_article(case['dtype'])} tensor":
        found.append(finding("wrong-dtype", dtype=case["dtype"], kind=seen["kind"]))
    if bad := [number for number, row in enumerate(rows) if None in row]:
        return [*found, finding("not-finite", row=bad[0])]
    return found + path_mistakes(case, torch.tensor(rows, dtype=torch.float64))


CHECK = SgdPath()
