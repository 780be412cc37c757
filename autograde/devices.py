"""Verdicts on the device that a rank chooses, on nodes and GPUs of a play (see `autograde.played`)."""

from __future__ import annotations

from autograde.check import Finding
from autograde.findings import Findings
from autograde.schema import integer, optional, string

finding = Findings("""
rank-for-local-rank 1.5
Rank {rank} is number {local} of the {many} ranks on its node, which has {gpus} GPUs, and gets {device}. The other nodes
have GPUs of their own, numbered from 0 again.

cpu-for-gpu 1.5
Rank {rank} is number {local} of the {many} ranks on its node, which has {gpus} GPUs, and gets {device}.

gpu-for-cpu 1
A node has {many} ranks and {gpus} GPUs, so not each rank has one of its own; rank {rank} gets {device}.

wrong-device 1.5
Rank {rank} is number {local} of the {many} ranks on its node, which has {gpus} GPUs, and gets {device}.

not-current 1
Rank {rank} is to compute on {device}, but its current device is another one. Tensors that are made for "cuda" go there.

no-such-gpu 1
Rank {rank} makes GPU {current} its current device on a node with {gpus}. There is none of that number.

not-a-device 0.5
What comes back is of type {kind}; a torch.device is asked for.
""")


def device_schema() -> dict[str, dict]:
    """Of what a rank tells of its device: see `device_mistakes`."""
    return {"device": string(), "kind": string(), "current": optional(integer())}


def device_mistakes(rank: int, local_rank: int, local_size: int, gpus: int, seen: dict) -> list[Finding]:
    """What is wrong with the device of a rank on a node of `local_size` ranks and `gpus` GPUs.

    seen: ``device`` as text, ``kind``, the type of what came back, and ``current``, the index of the GPU that was made
    the current one, or None.
    """
    device, current = seen["device"], seen["current"]
    about = {"rank": rank, "local": local_rank, "gpus": gpus, "many": local_size, "device": device}
    due = f"cuda:{local_rank}" if gpus >= local_size else "cpu"
    if device == due:
        if seen["kind"] != "device":
            return [finding("not-a-device", kind=seen["kind"])]
        if current is not None and current >= gpus:
            return [finding("no-such-gpu", current=current, **about)]
        return [finding("not-current", **about)] if due != "cpu" and current != local_rank else []
    if due == "cpu" and device.startswith("cuda"):
        return [finding("gpu-for-cpu", **about)]
    if device == "cpu":
        return [finding("cpu-for-gpu", **about)]
    by_rank = device in (f"cuda:{rank}", f"cuda:{rank % max(1, gpus)}")
    return [finding("rank-for-local-rank" if by_rank else "wrong-device", **about)]
