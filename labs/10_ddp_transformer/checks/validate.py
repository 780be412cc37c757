"""The check of `validate`."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from math import nan
from typing import Any

from torch.utils.data import DataLoader

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import boolean, described_value, numbers
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_shares
from autograde.probes.ddp_trace import MOST, trace_passes, watch_buffers
from autograde.probes.weighed_part import WEIGHED, was_weighed, weighed_calls
from autograde.verdicts.diagnosis import agree, same
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.means import TOLERANCE, Part, evaluated, mean_of, mean_on_all, restored
from autograde.verdicts.means import finding as of_means
from autograde.verdicts.one_process import near, parts_of
from course.models.sentences import PAD, collate, loss_fn

from .common import fill_gradients, gradient_row, left_in_grad, token_loss, trained, whole_state, wrapped
from .ddp_passes import trace_schema

RANK_0 = "rank 0's part alone"  # whether a result comes of nothing else

finding = Findings("""
wrapper-waits 2
A deadlock: before each batch, the forward pass of DistributedDataParallel broadcasts rank 0's buffers to all ranks, and
the ranks have different numbers of batches. What is inside the wrapper, and does calling it communicate?

rank-0-alone 2
A deadlock: only rank 0 runs the model, through DistributedDataParallel, which broadcasts its buffers to all the others.

model-changed 1.5
After validation, the model's parameters, buffers or gradients are not what they were before.

graph-built 0.5
Validation records a graph for a backward pass that never comes. That takes memory.
""")


class Validate(CallCheck, JudgedCalls):
    """The exact mean over all ranks, which have unequal numbers of batches, and a model left as it was."""

    todo, points, needs, deadline = "validate", 4, "torch", 8.0
    consolidation = (
        "Every sentence counts once, whichever rank has it, and a rank without batches still takes part in the sum. "
        "The model inside the wrapper can be called without waiting for anybody."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """A rank with none, also rank 0; BatchNorm; equally many batches of unequal sizes; a rank's part that weighs
        more."""

        few = rng.randint(1, 2)
        cases = [draw_case(rng, [rng.randint(7, 8), few, 0], False, "train", "eval")]
        cases += [draw_case(rng, [few, rng.randint(4, 5), rng.randint(10, 11), 0], True, "train")]
        cases += [draw_case(rng, [0, rng.randint(4, 6), few], True, "eval")]
        cases += [{**draw_case(rng, [rng.randint(7, 8), few, 0], False, "train", "eval"), WEIGHED: True}]
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """A batch on each of two ranks."""
        return draw_case(rng, [2, 1], False, "train")

    def calls(self, case: dict) -> list[dict]:
        """One for each mode in which the model comes."""
        return [{**case, "train": mode == "train"} for mode in case["modes"]]

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The calls, or those in which a rank's part weighs more."""
        return weighed_calls(self, world, subject, case)

    @staticmethod
    def given(rank: Rank, case: dict) -> Mapping[str, Any]:
        """What the cell finds by name."""
        return {"PAD": PAD, "collate": collate, "loss_fn": loss_fn}

    @staticmethod
    def call(validate: Callable, rank: Rank, call: dict) -> dict:
        """A validation with a model of its own, in whose `.grad` something lies beforehand."""
        model = wrapped(call, rank.rank)
        watch_buffers(model)
        trace = trace_passes(model)
        model.train(call["train"])
        fill_gradients(model, left_in_grad(call, rank.rank, sum(each.numel() for each in trained(model))))
        loader = DataLoader(call["shares"][rank.rank], call["batch_size"], collate_fn=collate)
        shown = {
            "value": described(validate(model, loader, loss_fn)),
            "train": model.training and model.module.training,
        }
        shown |= {"state": whole_state(model.module), "gradient": gradient_row(model)}
        return {**shown, "trace": trace[:MOST]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """What was returned, the passes, and the model afterwards."""
        model = AwkwardTranslator(0, norm=case["norm"])
        state, gradient = numbers(len(whole_state(model))), numbers(len(gradient_row(model)))
        about = {"value": described_value(), "train": boolean(), "trace": trace_schema()}
        return {**about, "state": state, "gradient": gradient}

    def empty(self, case: dict, plan: dict) -> Collection[int]:
        """Those that have no batch."""
        return [rank for rank, own in enumerate(case["shares"]) if not own]

    def unfinished(self, case: dict, run: Run) -> Sequence[Finding]:
        """Whether DistributedDataParallel's own communication is what waits."""
        sent = [sum(event["kind"] == "broadcast" for event in rank["events"]) for rank in run.ranks]
        if len({*sent}) == 1:
            return []
        return [finding("wrapper-waits" if any(sent[1:]) else "rank-0-alone", run.report)]

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """How the model ran and was left; then the number that came of it."""
        passes = [entry for of_rank in call.of("trace") for entry in of_rank if entry["what"] == "forward"]
        if found := evaluated([entry["training"] for entry in passes]):
            return found
        model = AwkwardTranslator(case["seed"], norm=case["norm"]).eval()
        found = [finding("graph-built")] if any(entry["grads"] for entry in passes) else []
        found += restored(call.plan["train"], call.of("train"))
        state, count = whole_state(model), len(gradient_row(model))
        left = [left_in_grad(case, rank, count) for rank in range(call.size)]
        if not (all(same(each, state) for each in call.of("state")) and all(map(near, call.of("gradient"), left))):
            found.append(finding("model-changed"))
        size = case["batch_size"]
        cut = [[of_rank[start : start + size] for start in range(0, len(of_rank), size)] for of_rank in case["shares"]]
        parts = parts_of(model, token_loss, [[collate(pairs) for pairs in of_rank] for of_rank in cut])
        return found + self.judge_mean(case, call, parts)

    def judge_mean(self, case: dict, call: Call, parts: Sequence[Part]) -> list[Finding | Diagnosis]:
        """What is wrong with the mean. That a rank without batches has no number may come of another mistake, and then
        costs nothing."""
        values, expected = [result["value"] for result in call.of("value")], mean_of(parts)
        empty, weighed = self.empty(case, call.plan), was_weighed(case, call.noted)
        wrong = [rank for rank, value in enumerate(values) if not agree(value, expected, TOLERANCE)]
        if 0 not in wrong and not {*wrong} <= {*empty}:
            empty = []  # they have all brought what is theirs, and only rank 0 has what comes out
        found = mean_on_all(call.of("value"), parts, "tokens", empty=empty, logs=call.events, weighed=weighed)
        if weighed:
            return found
        alone = of_means("one-ranks-part", actual=nan, expected=expected, what="tokens")
        if 0 in empty and not any(value is not None for value in values):
            return [Diagnosis(RANK_0, (alone,), otherwise=each) if each.key == "empty-rank" else each for each in found]
        explained = [each.key for one in found if isinstance(one, Diagnosis) for each in one.explained]
        return found if alone.key in explained else [*found, Diagnosis(RANK_0, ruled_out=frozenset({alone.key}))]


def draw_case(rng: random.Random, counts: list[int], norm: bool, *modes: str) -> dict:
    """A case in which each rank has so many pairs, with a call for each mode in which the model comes."""
    shares, seed = draw_shares(rng, counts), rng.randrange(10**6)
    return {"size": len(counts), "shares": shares, "norm": norm, "seed": seed, "batch_size": 3, "modes": modes}


CHECK = Validate()
