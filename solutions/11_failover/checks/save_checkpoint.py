"""The check of `save_checkpoint`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

import torch

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, number, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding, hiding
from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_calls import saving_calls
from autograde.probes.checkpoint_files import read_checkpoint, state_of
from autograde.verdicts.checkpoints import short
from autograde.verdicts.diagnosis import agree
from autograde.verdicts.judged import JudgedRun, Run
from autograde.verdicts.saving import finding as of_saving
from autograde.verdicts.saving import is_written, saved, saving_mistakes, unfinished_saving
from course.world.report import name_ranks

from .common import generator_after, next_number, next_of_state
from .saved_random import random_mistakes

finding = Findings("""
gather-on-rank-0 4
A deadlock: rank 0 waits in a gather that {who} never called. A rank's random numbers are with that rank. Who has to
send?

consumed-missing 1.5
The file has no entry "consumed", so a resumed training cannot know where in the epoch to go on.

wrong-consumed 1.5
The entry "consumed" is {actual}; the call was told {expected}.

draws-numbers 1
After the call, another random number comes on {who} than would have come without it. A training that saves more often
would take another path.
""")

STATES = optional(array(record(kind=string(), next=optional(number())), most=4))  # of a rank, as `states_of`
CONTENT = record(there=boolean(), error=optional(string()), content={}, random=optional(array(STATES, most=16)))


class SaveCheckpoint(RankCheck, JudgedRun):
    """Rank 0 writes; nothing but a whole file is ever in its place; it has every rank's random numbers."""

    todo, points, needs, deadline = "save_checkpoint", 4, "torch", 10
    consolidation = (
        "What belongs to a rank is kept under its number, in the one file that all see: ranks come and go. Leave a "
        "piece of state out, and it is another training, and no error tells you."
    )
    prices = MappingProxyType({"barrier-on-rank-0": 4, "barrier-without-rank-0": 4})

    def cases(self, rng: random.Random) -> list[dict]:
        """Two nodes, with an old file; one node, without; both optimizers; random numbers that differ by rank."""

        def case(ranks: list[int], local: list[int], old: bool, optimizer: str) -> dict:
            first, seed, size = rng.randint(2, 20), rng.randrange(2**31), len(ranks)
            about = {"ranks": ranks, "local": local, "optimizer": optimizer, "seed": seed, "old": old}
            places = [[first, rng.randint(20, 90)], [first + 1, rng.randint(100, 200)]]
            luck = [[rng.randrange(2**31), drawn] for drawn in rng.sample(range(1, 40), size)]
            return {**about, "places": places, "luck": luck}

        cases = [case([1, 3, 0, 2], [0, 1, 0, 1], True, "momentum"), case([2, 0, 3], [0, 1, 2], False, "adam")]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 2], [0, 1], True, "adam")]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """Two calls, the second one after a crash in the middle of writing, in a folder of their own."""
        old = {"model": {}, "optimizer": {}, "epoch": 0, "consumed": 0, "random": []} if case["old"] else None
        state = generator_after(case["luck"][rank.rank]).get_state()
        return saving_calls(
            *(rank, subject.load(), case, case["places"], old),
            before=lambda: torch.set_rng_state(state),
            after=lambda: {"drawn": torch.rand(1, dtype=torch.float64).item()},
            read=content_of,
        )

    def shape(self, case: dict) -> dict:
        """For each call, how the folder looked meanwhile, what is in the file, and which random number comes next."""
        return array(saved(content=optional(CONTENT), drawn=number()), len(case["places"]))

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """Rank 0 makes other calls than the rest, or the file was to be moved too far."""
        last = [rank["events"][-1]["op"] if rank["events"] else "" for rank in run.ranks]
        others = [rank for rank, op in enumerate(last) if "gather" in last[0] and "gather" not in op]
        if others and run.state == "hang":
            return [finding("gather-on-rank-0", run.report, who=name_ranks(others))]
        found = unfinished_saving(run)
        calls = [sum(event["library"] == "torch" for event in rank["events"]) for rank in run.ranks]
        if run.state == "hang" or max(calls) > calls[0]:
            return found
        # Nobody waits for rank 0, whose error ends the run: it may be alone in coming to a barrier behind that line.
        return [hiding(each, *of_saving.some("barrier-on-rank-0")) for each in found]

    def judge(self, case: dict, results: list[Any]) -> Iterator[Finding | Diagnosis]:
        """Each call by itself."""
        for number_, calls in enumerate(zip(*results, strict=True)):
            expected = state_of(*after_steps(case["seed"] + number_, case["optimizer"]))
            epoch, consumed = case["places"][number_]
            yield from saving_mistakes(number_, calls, case["local"], {**expected, "epoch": epoch})
            if is_written(calls[0]):
                yield from training_mistakes(case["luck"], consumed, calls)


def content_of(path: str) -> dict:
    """What is in a file, as CONTENT: `random` has for each rank, what its generators' states are."""
    file, states = read_checkpoint(path), None
    if isinstance(file["content"], dict):
        entry = torch.load(path, map_location="cpu", weights_only=True).get("random")
        file["content"].pop("random", None)
        if isinstance(entry, (list, tuple)):
            states = [states_of(of_rank) for of_rank in entry[:16]]
    return {**file, "random": states}


def states_of(entry: Any) -> list[dict] | None:
    """The entries of one rank: what kind of value each is, and which number comes next; None where it is no list."""
    if not isinstance(entry, (list, tuple)):
        return None
    return [{"kind": kind_of(state), "next": next_of_state(state)} for state in entry[:4]]


def kind_of(state: Any) -> str:
    """What a state is."""
    if not isinstance(state, torch.Tensor):
        return type(state).__name__
    view = " that is a view of a larger tensor, on which torch.set_rng_state crashes"
    return f"{state.type()}{view if state.storage_offset() else ''}"


def training_mistakes(luck: Sequence, consumed: int, calls: Sequence[dict]) -> Iterator[Finding | Diagnosis]:
    """What is wrong with what a checkpoint has in the middle of an epoch. luck: of each rank. calls: of each rank."""
    file, drawn_before = calls[0]["content"], False
    if isinstance(file["content"], dict):
        actual = file["content"].get("consumed")
        if actual is None:
            yield finding("consumed-missing")
        elif type(actual) is not int or actual != consumed:
            yield finding("wrong-consumed", actual=short(actual), expected=consumed)
        of_random = [*random_mistakes(luck, file["random"])]
        yield from of_random
        explained = [each for part in of_random if isinstance(part, Diagnosis) for each in part.explained]
        drawn_before = any(each.key == "one-draw-too-late" for each in explained)
    expected = [next_number(generator_after(each)) for each in luck]
    moved = [rank for rank, call in enumerate(calls) if not agree(call["drawn"], expected[rank])]
    if moved and not drawn_before:  # what is drawn before the states are taken moves them, too
        yield finding("draws-numbers", who=name_ranks(moved))


CHECK = SaveCheckpoint()
