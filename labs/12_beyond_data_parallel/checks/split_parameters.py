"""Verdicts on the parameters that a rank has of a split MLP, and on the memory that they are in."""

from __future__ import annotations

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding

from .judged_tensors import close, flat, not_tensors
from .split_mlp import NAMES, SplitMLP

finding = Findings("""
parameters-of-other-names 2
The parameters on rank {rank} are {actual}. Expected are `w1`, `b1`, `w2` and `b2`, and no others.

hidden-units-cut-otherwise 1.5
Of {h} hidden units on {size} ranks, rank {rank} has {actual}, where `tensor_split` gives it {expected}.

bias-of-all-units 2
On rank {rank} `b1` has {h} numbers, one for each hidden unit of `mlp`. Which of them belong to this rank's units?

weight-not-cut 2
On rank {rank} `{name}` has the shape {actual}; {expected} is expected. What of it belongs to other ranks' units?

other-units 2
On rank {rank} `{name}` has the right shape, and numbers of other units. Shares are contiguous, in the ranks' order.

more-memory-held 1.5
The parameters of rank {rank} need {needed} bytes, and the module holds {actual}. How large is the memory behind each?

memory-of-mlp 1.5
On rank {rank} a parameter of the part is in the memory of `mlp`: who trains the one changes the other. Make copies.
""")


def built(right: SplitMLP, results: list[dict], ranks: list[int]) -> list[Finding | Diagnosis]:
    """What is wrong with the parameters: the first thing that is; then with the memory."""
    h = right.plan["sizes"][1]
    for place, (rank, own) in enumerate(zip(ranks, results, strict=True)):
        seen = {each["name"]: each for each in own["parameters"]}
        if {*seen} != {*NAMES}:
            actual = ", ".join(f"`{name}`" for name in seen) or "none"
            return [finding("parameters-of-other-names", rank=rank, actual=actual)]
        due = right.parameters(place)
        shapes = {name: [*each.shape] for name, each in due.items()}
        about = {"rank": rank, "h": h, "size": len(ranks)}
        for name in NAMES:
            actual = seen[name]["shape"]
            if actual == shapes[name]:
                continue
            if name == "b1" and actual == [h] and len(ranks) > 1:
                return [finding("bias-of-all-units", **about)]
            if name == "w1" and len(actual) == 2 and actual[1] == shapes["w1"][1] and actual[0] != h:
                return [finding("hidden-units-cut-otherwise", actual=actual[0], expected=shapes["w1"][0], **about)]
            return [finding("weight-not-cut", name=name, actual=actual, expected=shapes[name], **about)]
        if other := not_tensors([seen[name] for name in NAMES], [shapes[name] for name in NAMES], [rank] * len(NAMES)):
            return other
        for name in NAMES:
            if not close(seen[name]["values"], flat(due[name])):
                return [finding("other-units", name=name, **about)]
        needed = sum(each.numel() * each.element_size() for each in due.values())
        memory = []
        if own["held"] > needed:
            memory = [finding("more-memory-held", needed=needed, actual=own["held"], **about)]
        elif not own["apart"]:
            memory = [finding("memory-of-mlp", rank=rank)]
        if memory:  # on one rank alone, a view is no larger than a part: it is one mistake all the same
            return [Diagnosis("memory", tuple(memory), otherwise=memory[0])]
    return []
