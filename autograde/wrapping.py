"""Verdict on how a model was wrapped in DistributedDataParallel, as `autograde.ddp_runs.wrapping_run` saw it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograde.check import Finding
from autograde.ddp_runs import gradient_row
from autograde.findings import Findings
from autograde.schema import array, boolean, numbers, optional, record, string
from autograde.whole_batch import near, one_thread
from course.awkward_translator import AwkwardTranslator, state_row
from course.sentences import collate, loss_fn

finding = Findings("""
not-ddp 2
What is returned is a {kind}, not a DistributedDataParallel around the model that was given.

device-ids-on-cpu 1.5
The model is on the CPU, and yet `device_ids` are {ids}.

wrong-device-ids 1.5
Rank {rank} computes on {device}, and `device_ids` are {ids}. What is the number of a GPU on its node?

device-ids-missing 1
On {device} there are no `device_ids`, so inputs are left where they are.

not-moved 1.5
The model is not on {device} yet when it is wrapped.

other-options 1
DistributedDataParallel is given {options}. The lab leaves all other options as they are by default.

not-one-model 2
After wrapping, and one backward pass, rank {rank} has not the parameters of rank 0 and the average of all gradients.
""")


def wrapping_schema() -> dict:
    """What one rank of `wrapping_run` returns."""
    text = optional(string())
    call = record(what=string(), device=text, device_ids=optional(array(string())), options=array(string()))
    model = AwkwardTranslator(0, norm=True)
    parameters, gradient = optional(numbers(len(state_row(model)))), optional(numbers(len(gradient_row(model))))
    told = {"kind": string(), "fits": boolean(), "device": string(), "refused": boolean()}
    return record(calls=array(call), parameters=parameters, gradient=gradient, **told)


@one_thread()
def wrapping_mistakes(case: dict, seen: Sequence[dict]) -> list[Finding]:
    """What is wrong on the first rank where something is; then with the numbers. seen: by rank."""
    found = next(filter(None, (rank_mistakes(case, rank, own) for rank, own in enumerate(seen))), [])
    if found or case["played"]:
        return found
    models = [AwkwardTranslator(case["seed"], norm=True) for _ in seen]
    for model, pairs in zip(models, case["pairs"], strict=True):
        src, tgt_in, tgt_out = collate(pairs)
        loss_fn(model(src, tgt_in), tgt_out).backward()
    gradient = torch.tensor([gradient_row(model) for model in models], dtype=torch.float64).mean(0)
    parameters = torch.tensor(state_row(models[0]), dtype=torch.float64)
    for rank, own in enumerate(seen):
        if not (near(own["gradient"], gradient) and near(own["parameters"], parameters)):
            return [finding("not-one-model", rank=rank)]
    return []


def rank_mistakes(case: dict, rank: int, seen: dict) -> list[Finding]:
    """What is wrong with one rank's calls."""
    device = f"cuda:{rank % 2}" if case["played"] else seen["device"]
    wraps = [number for number, call in enumerate(seen["calls"]) if call["what"] == "wrap"]
    if not wraps or not (seen["fits"] or seen["refused"]):
        return [finding("not-ddp", kind=seen["kind"] or "ValueError")]
    call, found = seen["calls"][wraps[-1]], []
    moves = [each["device"] for each in seen["calls"][: wraps[-1]] if each["what"] == "to"]
    ids = ", ".join(call["device_ids"] or [])
    if device == "cpu" and call["device_ids"]:
        found.append(finding("device-ids-on-cpu", ids=ids))
    elif device != "cpu" and not call["device_ids"]:
        found.append(finding("device-ids-missing", device=device))
    elif device != "cpu" and call["device_ids"] != [device]:
        found.append(finding("wrong-device-ids", rank=rank, device=device, ids=ids))
    if case["played"] and (not moves or moves[-1] != device):
        found.append(finding("not-moved", device=device))
    if call["options"]:
        found.append(finding("other-options", options=" and ".join(call["options"])))
    return found
