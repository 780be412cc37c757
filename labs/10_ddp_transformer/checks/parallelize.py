"""The check of `parallelize`."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, numbers, optional, record, string
from autograde.contract.verdict import Finding
from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches, state_row
from autograde.fixtures.stepped import group_device
from autograde.probes.ddp_trace import recorded_wrapping
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.one_process import near, parts_of, row_of
from course.models.sentences import collate, loss_fn

from .common import gradient_row, token_loss

LOCAL_SIZE = 2  # ranks on each simulated node

finding = Findings("""
not-ddp 2
The function returns {kind}, not a DistributedDataParallel around the given model.

device-ids-on-cpu 1.5
The model is on the CPU, and yet `device_ids` are {ids}.

wrong-device-ids 1.5
The check simulates GPUs. Rank {rank} computes on {device}, but its `device_ids` are {ids}. Which number has a GPU on
its own node?

device-ids-missing 1
The check simulates GPUs. On {device} there are no `device_ids`, so inputs stay where they are.

not-moved 1.5
The check simulates GPUs. The model is not on {device} yet when it is wrapped.

ddp-options 1
DistributedDataParallel is given {options}. All other options should keep their defaults.

not-one-model 2
After wrapping and one backward pass, rank {rank} does not have rank 0's parameters and the average of all gradients.
""")


class Parallelize(RankCheck, JudgedRun):
    """One model on all ranks, with the device's `device_ids` and no other options."""

    todo, points, needs, deadline = "parallelize", 2, "torch", 8.0
    consolidation = (
        "When it is wrapped, the model becomes rank 0's on all ranks, whatever it was before. From then on, averaged "
        "gradients keep it one model."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """The ranks' own device; and GPUs of two nodes, which are only simulated."""

        def case(size: int, simulated: bool) -> dict:
            pairs = [of_rank[0] for of_rank in draw_batches(rng, size, 1)]
            return {"size": size, "simulated": simulated, "seed": rng.randrange(10**6), "pairs": pairs}

        cases = [case(3, False), case(4, True)]
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """`parallelize` for the CPU, with one backward pass, or for a GPU that is not there."""
        local_rank = rank.rank % LOCAL_SIZE
        os.environ["LOCAL_RANK"] = str(local_rank)
        device = torch.device("cuda", local_rank) if case["simulated"] else group_device()
        model = AwkwardTranslator(case["seed"] + rank.rank, norm=True)
        calls: list[dict] = []
        seen = {"calls": calls, "kind": "", "fits": False, "device": str(device), "refused": False}
        seen |= {"parameters": None, "gradient": None}
        parallelize = subject.load()
        with recorded_wrapping(calls, local_rank if case["simulated"] else None):
            try:
                returned = parallelize(model, device)
            except ValueError:  # what DistributedDataParallel raises for device_ids that do not fit
                if not any(call["device_ids"] for call in calls):
                    raise
                return seen | {"refused": True}
        seen["kind"], seen["fits"] = type_in_words(returned), getattr(returned, "module", None) is model
        seen["fits"] &= isinstance(returned, DistributedDataParallel)
        if not case["simulated"] and seen["fits"]:
            src, tgt_in, tgt_out = (tensor.to(device) for tensor in collate(case["pairs"][rank.rank]))
            loss_fn(returned(src, tgt_in), tgt_out).backward()
            seen |= {"parameters": state_row(model), "gradient": gradient_row(model)}
        return seen

    def shape(self, case: dict) -> dict:
        """What was called, and the model's numbers after a backward pass."""
        call = record(
            what=string(), device=optional(string()), device_ids=optional(array(string())), options=array(string())
        )
        model = AwkwardTranslator(0, norm=True)
        parameters, gradient = optional(numbers(len(state_row(model)))), optional(numbers(len(gradient_row(model))))
        fields = {"kind": string(), "fits": boolean(), "device": string(), "refused": boolean()}
        return record(calls=array(call), parameters=parameters, gradient=gradient, **fields)

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding]:
        """The first rank where something is wrong by itself; then the numbers."""
        found = next(filter(None, (rank_mistakes(case, rank, own) for rank, own in enumerate(results))), [])
        if found or case["simulated"]:
            return found
        model = AwkwardTranslator(case["seed"], norm=True)
        parts = parts_of(model, token_loss, [[collate(pairs)] for pairs in case["pairs"]])
        gradient = torch.stack([part.gradient for part in parts]).mean(0)  # of sums over tokens
        for rank, own in enumerate(results):
            if not (near(own["gradient"], gradient) and near(own["parameters"], row_of(state_row(model)))):
                return [finding("not-one-model", rank=rank)]
        return []


def rank_mistakes(case: dict, rank: int, seen: dict) -> list[Finding]:
    """What is wrong with one rank's calls."""
    device = f"cuda:{rank % LOCAL_SIZE}" if case["simulated"] else seen["device"]
    wraps = [number for number, call in enumerate(seen["calls"]) if call["what"] == "wrap"]
    if not wraps or not (seen["fits"] or seen["refused"]):
        return [finding("not-ddp", kind=seen["kind"])]
    call, found = seen["calls"][wraps[-1]], []
    moves = [each["device"] for each in seen["calls"][: wraps[-1]] if each["what"] == "to"]
    ids = ", ".join(call["device_ids"] or [])
    if device == "cpu" and call["device_ids"]:
        found.append(finding("device-ids-on-cpu", ids=ids))
    elif device != "cpu" and not call["device_ids"]:
        found.append(finding("device-ids-missing", device=device))
    elif device != "cpu" and call["device_ids"] != [device]:
        found.append(finding("wrong-device-ids", rank=rank, device=device, ids=ids))
    if case["simulated"] and (not moves or moves[-1] != device):
        found.append(finding("not-moved", device=device))
    if call["options"]:
        found.append(finding("ddp-options", options=" and ".join(call["options"])))
    return found


CHECK = Parallelize()
