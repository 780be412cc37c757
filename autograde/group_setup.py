"""Verdicts on code that starts a process group and chooses this rank's device, on nodes with GPUs and without."""

from __future__ import annotations

from autograde.check import Finding
from autograde.findings import Findings
from autograde.schema import array, boolean, integer, optional, record, string

finding = Findings("""
no-group 2
The function returns, and there is no default process group on {who}.

not-a-device 1
The function returns a {kind}. Due is a torch.device, which says where this rank has its tensors.

local-rank-for-rank 2
Rank {rank} starts the group as number {given}: its number on its own node. In the group each number is there once.

wrong-numbers 2
Rank {rank} of {size} starts the group as rank {given} of {given_size}. The environment says who it is.

own-address 1
The group meets elsewhere than where MASTER_ADDR and MASTER_PORT say. With an address of the code's own it works as long
as there is one node, and one training on it.

always-gloo 1
Each rank has a GPU of its own, {gpus} on a node for {ranks}, and the group is started with {backend}.

gpus-not-used 1
Each rank has a GPU of its own, {gpus} on a node for {ranks}, and rank {rank} returns {device}.

nccl-without-gpus 1.5
There is no GPU, and the group is started with {backend}, which needs one for each rank.

gpu-for-several-ranks 1
A node has {ranks} and {gpus} of them is to serve several: {backend} on {device}. NCCL takes each GPU once.

gpu-without-nccl 1
The group is started with {backend}, so this rank's tensors belong on the CPU, but it returns {device}.

rank-for-local-rank 2
On a node with {gpus}, rank {rank} takes number {given}. It is rank {rank} of all nodes, and {local} on this one; GPUs
are counted on each node from 0.

one-gpu-for-all 1
Ranks {first} and {second} of one node take the same GPU, number {given}.

wrong-gpu 1
The rank with the local rank {local} takes GPU {given}.

gpu-not-current 0.5
Rank {rank} returns {device}, but the current GPU is still number {current}: what says only "cuda" ends up there.
""")

DEVICE = record(type=string(), index=optional(integer()))
SEEN = record(
    kind=string(),
    device=optional(DEVICE),
    current=optional(integer()),
    starts=array(record(backend=string(), rank=integer(), size=integer(), in_place=boolean()), most=20),
    group=optional(array(integer(), most=64)),
)


def setup_mistakes(case: dict, seen: list[dict]) -> list[Finding]:
    """What is wrong with what the ranks of one case did. seen: by rank, as `SEEN`.

    case: `nodes`, the number of ranks on each node, and `gpus` on each.
    """
    size, local = sum(case["nodes"]), [rank for ranks in case["nodes"] for rank in range(ranks)]
    for rank, own in enumerate(seen):
        if not own["starts"] or own["group"] is None:
            who = "all ranks" if not any(each["starts"] for each in seen) else f"rank {rank}"
            return [finding("no-group", who=who)]
    found = []
    for rank, own in enumerate(seen):
        start = own["starts"][0]
        if (start["rank"], start["size"]) != (rank, size) or own["group"] != [*range(size)]:
            given, given_size = start["rank"], start["size"]
            if all(each["starts"][0]["rank"] == number for each, number in zip(seen, local, strict=True)):
                found.append(finding("local-rank-for-rank", rank=rank, given=given))
            else:
                about = {"rank": rank, "size": size, "given": given, "given_size": given_size}
                found.append(finding("wrong-numbers", **about))
        if not start["in_place"]:
            found.append(finding("own-address"))
        if own["device"] is None:
            found.append(finding("not-a-device", kind=own["kind"]))
    if any(own["device"] is None for own in seen):
        return found
    return found + (on_gpus(case, local, seen) if case["gpus"] >= max(case["nodes"]) else on_cpu(case, seen))


def backends(own: dict) -> str:
    """What serves the device of a rank: "nccl", "gloo" or another; both for a group that takes either."""
    asked = own["starts"][0]["backend"]
    if asked in ("any", "undefined"):
        asked = "cpu:gloo,cuda:nccl"
    named = dict(part.split(":", 1) for part in asked.split(",") if ":" in part)
    return named.get(own["device"]["type"], asked) if named else asked


def named_device(own: dict) -> str:
    """A rank's device in words."""
    kind, index = own["device"]["type"], own["device"]["index"]
    return f'torch.device("{kind}")' if index is None else f'torch.device("{kind}", {index})'


def count_of(number: int, what: str) -> str:
    """``1 rank``, ``2 ranks``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def on_cpu(case: dict, seen: list[dict]) -> list[Finding]:
    """Where there is no GPU, or not one for each rank of a node."""
    found, gpus = [], case["gpus"]
    for own in seen:
        backend, device = backends(own), named_device(own)
        about = {"ranks": count_of(min(case["nodes"]), "rank"), "gpus": count_of(gpus, "GPU")}
        if gpus and own["device"]["type"] == "cuda" and backend != "gloo":
            found.append(finding("gpu-for-several-ranks", **about, backend=backend, device=device))
        elif backend != "gloo":
            found.append(finding("nccl-without-gpus", backend=f'"{backend}"'))
        elif own["device"]["type"] != "cpu":
            found.append(finding("gpu-without-nccl", backend=f'"{backend}"', device=device))
    return found


def on_gpus(case: dict, local: list[int], seen: list[dict]) -> list[Finding]:
    """Where each rank has a GPU of its own."""
    gpus, ranks = count_of(case["gpus"], "GPU"), count_of(max(case["nodes"]), "rank")
    found = []
    indices = [own["current"] if own["device"]["index"] is None else own["device"]["index"] for own in seen]
    for rank, own in enumerate(seen):
        backend, device, given = backends(own), named_device(own), indices[rank]
        if backend != "nccl":
            found.append(finding("always-gloo", gpus=gpus, ranks=ranks, backend=f'"{backend}"'))
        elif own["device"]["type"] != "cuda":
            found.append(finding("gpus-not-used", gpus=gpus, ranks=ranks, rank=rank, device=device))
        elif given != local[rank]:
            if given == rank:
                found.append(finding("rank-for-local-rank", gpus=gpus, rank=rank, given=given, local=local[rank]))
            elif given is None or (rank and local[rank] and given == indices[rank - 1]):
                found.append(finding("one-gpu-for-all", first=rank - 1, second=rank, given=given or 0))
            else:
                found.append(finding("wrong-gpu", local=local[rank], given=given))
        elif own["current"] != given and (own["current"] or given):
            about = {"rank": rank, "device": device, "current": own["current"] or 0}
            found.append(finding("gpu-not-current", **about))
    return found
