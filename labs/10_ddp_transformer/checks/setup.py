"""The check of `setup`."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from operator import eq
from typing import Any

import torch
import torch.distributed as dist

from autograde.contract.calls import meet
from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, integer, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.simulated_node import described_device, simulated_node
from autograde.verdicts.devices import chosen_schema, device_mistakes, node_in_words
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import JudgedRun

finding = Findings("""
no-group 2
The function returns, but there is no default process group on {who}.

local-rank-for-rank 2
Rank {rank} joins the group as number {given}, its number on its own node. In the group every number exists only once.

wrong-numbers 2
Rank {rank} of {size} joins the group as rank {given} of {given_size}. The environment says which rank it is.

own-address 1
The group does not meet where MASTER_ADDR and MASTER_PORT say. With an address of its own the code works only while
there is one node, and one training on it.

always-gloo 1
The check simulates {node}, so each rank can have its own. Rank {rank} starts the group with "{backend}". Which backend
serves GPUs?

nccl-without-gpus 1.5
The check simulates {node}. Rank {rank} starts the group with "{backend}", which needs a GPU for each rank.
""")


class Setup(RankCheck, JudgedRun):
    """A group that works, by the backend and on the device that fit the node; nodes with GPUs are simulated."""

    todo, points, deadline = "setup", 2, 10
    consolidation = (
        "The launcher tells each process who it is, and the program only reads it. So one script runs on a laptop and "
        "on many nodes, with gloo or with nccl."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """No GPU; nodes of equal and of unequal sizes with just enough GPUs, or more; too few. Ranks in any order."""

        def case(ranks: list[int], nodes: list[int], gpus: int) -> dict:
            return {"ranks": ranks, "nodes": nodes, "gpus": gpus}

        some = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]])
        cases = [case(some, [3], 0), case([3, 2, 1, 0], [2, 2], 2), case([1, 3, 0, 2], [2, 2], 1)]
        cases += [case(some, [1, 2], rng.choice([2, 3, 8]))]
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """The student's `setup` on a simulated node; then all ranks tell each other their numbers."""
        with simulated_node(*local_ranks(case)[rank.rank], case["gpus"]) as noted:
            device = subject.load()()
        meet(rank.comm)
        shown = described_device(device)
        if shown["device"] == {"type": "cuda", "index": None}:  # the current one is meant
            shown["device"]["index"] = noted["current"] or 0
        return {**shown, "group": numbers_in_group(rank.comm), **noted}

    def shape(self, case: dict) -> dict:
        """What each rank asked torch for, and the group it is in then."""
        start = record(backend=string(), rank=integer(), size=integer(), in_place=boolean())
        group = optional(array(integer(), most=64))
        return record(**chosen_schema(), starts=array(start, most=20), group=group)

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """The group first; then backends, and where these are right, devices."""
        if out := [rank for rank, own in enumerate(results) if not own["starts"] or own["group"] is None]:
            nobody = not any(of_rank["starts"] for of_rank in results)
            return [finding("no-group", who="all ranks" if nobody else f"rank {out[0]}")]
        found: list[Finding | Diagnosis] = [*numbers_mistakes(case, results)]
        found += [finding("own-address") for of_rank in results if not of_rank["starts"][0]["in_place"]]
        return found + ([*backend_mistakes(case, results)] or device_mistakes(local_ranks(case), case["gpus"], results))


def local_ranks(case: dict) -> list[tuple[int, int]]:
    """Of each rank its local rank, and the number of ranks on its node."""
    return [(rank, ranks) for ranks in case["nodes"] for rank in range(ranks)]


def numbers_in_group(comm: Any) -> list[int] | None:
    """Numbers in the run, by the number in the process group; None where not all ranks are in a group."""
    if not all(comm.allgather(dist.is_initialized())) or len(set(comm.allgather(dist.get_world_size()))) > 1:
        return None
    everyone = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, torch.tensor([comm.rank]))
    return [int(number) for number in everyone]


def numbers_mistakes(case: dict, results: list[dict]) -> Iterator[Finding | Diagnosis]:
    """With which numbers the ranks start the group."""
    size, local = len(results), local_ranks(case)
    actual = [(of_rank["starts"][0]["rank"], of_rank["starts"][0]["size"]) for of_rank in results]
    expected = [(rank, size) for rank in range(size)]
    in_node = [(number, size) for number, _ in local]
    wrong = next((rank for rank in range(size) if actual[rank] != expected[rank]), 0)
    about = {"rank": wrong, "size": size, "given": actual[wrong][0], "given_size": actual[wrong][1]}

    def about_rank(key: str) -> Finding:
        return finding(key, **about)

    yield diagnose("numbers", actual, expected, {"local-rank-for-rank": in_node}, about_rank, "wrong-numbers", eq)
    if actual == expected and any(of_rank["group"] != [*range(size)] for of_rank in results):
        yield about_rank("wrong-numbers")


def backend_mistakes(case: dict, results: list[dict]) -> Iterator[Finding]:
    """Ranks whose backend does not fit the node. What serves several ranks by one GPU is a wrong device."""
    for rank, (own, (_, many)) in enumerate(zip(results, local_ranks(case), strict=True)):
        if own["device"] is None:
            continue
        gpus, kind = case["gpus"], own["device"]["type"]
        backend = backend_of(own["starts"][0]["backend"], kind)
        about = {"rank": rank, "node": node_in_words(many, gpus), "backend": backend}
        if gpus >= many and backend != "nccl":
            yield finding("always-gloo", **about)
        elif gpus < many and backend != "gloo" and (kind == "cpu" or not gpus):
            yield finding("nccl-without-gpus", **about)


def backend_of(asked: str, kind: str) -> str:
    """What serves a kind of device: "nccl", "gloo" or another. A group that was started without a name takes both."""
    by_kind = "cpu:gloo,cuda:nccl" if asked in ("any", "undefined") else asked
    return dict(part.split(":", 1) for part in by_kind.split(",") if ":" in part).get(kind, asked)


CHECK = Setup()
