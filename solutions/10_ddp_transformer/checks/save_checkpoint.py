"""The check of `save_checkpoint`."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from autograde.contract.calls import meet
from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.checkpoint_files import fingerprint, read_checkpoint
from autograde.probes.file_watch import half_a_file, watched_folder
from autograde.verdicts.checkpoints import FILE, always_whole, file_mistakes, short, who_writes
from autograde.verdicts.checkpoints import finding as of_checkpoints
from autograde.verdicts.judged import JudgedRun, Run
from course.world.report import name_ranks

from .common import after_steps, state_of

finding = Findings("""
barrier-on-rank-0 3
A deadlock: rank 0 waits for the others in a collective that {who} never called. Which ranks reach that line?

barrier-without-rank-0 3
A deadlock: {who} waited for rank 0, which never made that call. Which ranks reach that line?

other-disk 1.5
The file is written somewhere else and then moved here. Folders for checkpoints are often on a disk of their own, and
a file cannot be moved from one disk to another in a single step: {error}

left-behind 0.5
After a call there is more in the folder than the checkpoint: {names}.

leftovers-pile-up 0.5
When a rank is killed while it writes, {names} stays behind, and it is still there after the next call. Every kill adds
another one.

returns-too-early 1
{who} returned before the new file was there. What if that rank reads the file at once?
""")

SLOW = 0.04  # seconds that each change of a file takes on rank 0, so that ranks which do not wait are seen
NAME = "checkpoint.pt"
PRINT = optional(string())  # of `fingerprint`
NAMES = array(string(), most=500)
SAVED = record(
    touched=NAMES,
    moments=array(record(file=PRINT, others=NAMES), most=100),
    left=NAMES,
    before=PRINT,
    returned=PRINT,
    after=PRINT,
    content=optional(FILE),
)


class SaveCheckpoint(RankCheck, JudgedRun):
    """Rank 0 writes; nothing but a whole file is ever in its place; the content is right; all return afterwards."""

    todo, points, needs, deadline = "save_checkpoint", 3, "torch", 10
    consolidation = (
        "A file that is written beside the old one, and then takes its place in one step, is whole at every moment. "
        "One rank writes, and the others wait for it."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Two nodes, with an old file; one node, without; both optimizers."""

        def case(ranks: list[int], local: list[int], old: bool, optimizer: str) -> dict:
            first, seed = rng.randint(2, 20), rng.randrange(2**31)
            about = {"ranks": ranks, "local": local, "optimizer": optimizer, "seed": seed}
            return {**about, "old": first - 1 if old else None, "epochs": [first, first + 1]}

        cases = [case([1, 3, 0, 2], [0, 1, 0, 1], True, "momentum"), case([2, 0, 3], [0, 1, 2], False, "adam")]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 2], [0, 1], True, "adam")]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """Two calls, the second one after a crash in the middle of writing, in a folder of their own."""
        folder = os.path.join(rank.folder, "run")
        save, path, calls, known = subject.load(), os.path.join(folder, NAME), [], set()
        os.environ["LOCAL_RANK"] = str(case["local"][rank.rank])
        if rank.rank == 0:
            os.mkdir(folder)
            if case["old"] is not None:
                torch.save({"model": {}, "optimizer": {}, "epoch": case["old"]}, path)
        for number, epoch in enumerate(case["epochs"]):
            model, optimizer = after_steps(case["seed"] + number, case["optimizer"])
            model = DistributedDataParallel(model)
            if rank.rank == 0:
                for name in known:
                    half_a_file(Path(folder, name))
            before = fingerprint(path)
            meet(rank.comm)
            with watched_folder(path, fingerprint, SLOW if rank.rank == 0 else 0.0) as seen:
                save(path, model, optimizer, epoch)
                returned = fingerprint(path)
            meet(rank.comm)
            files = {"before": before, "returned": returned, "after": fingerprint(path)}
            left = sorted(set(os.listdir(folder)) - {NAME})
            content = read_checkpoint(path) if rank.rank == 0 else None
            calls.append({**seen, **files, "left": left, "content": content})
            known = set() if left else {name for moment in seen["moments"] for name in moment["others"]}
            meet(rank.comm)
        return calls

    def shape(self, case: dict) -> dict:
        """For each call, what was touched, how the folder looked meanwhile, and what is in the file."""
        return array(SAVED, len(case["epochs"]))

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """Rank 0 makes other calls than the rest, or the file was to be moved too far."""
        if "cross-device" in run.detail:
            return [finding("other-disk", run.report, error=short(run.detail))]
        if run.state != "hang":
            return []
        calls = [sum(event["library"] == "torch" for event in rank["events"]) for rank in run.ranks]
        if fewer := [rank for rank, number in enumerate(calls) if number < calls[0]]:
            return [finding("barrier-on-rank-0", run.report, who=name_ranks(fewer))]
        more = [rank for rank, number in enumerate(calls) if number > calls[0]]
        return [finding("barrier-without-rank-0", run.report, who=name_ranks(more))] if more else []

    def judge(self, case: dict, results: list[Any]) -> Iterator[Finding | Diagnosis]:
        """Each call by itself."""
        for number, calls in enumerate(zip(*results, strict=True)):
            yield from saving_mistakes(case, number, calls)


def saving_mistakes(case: dict, number: int, calls: Sequence[dict]) -> Iterator[Finding | Diagnosis]:
    """What is wrong with call `number`. calls: of each rank, as `SAVED`."""
    before, after, file = (calls[0][name] for name in ("before", "after", "content"))
    writers = [rank for rank, call in enumerate(calls) if call["touched"]]
    yield from who_writes(writers, case["local"])
    if file is None or not file["there"] or before == after:
        yield of_checkpoints("nothing-written")
        return
    if writers in ([], [0]):
        yield from always_whole([moment["file"] for moment in calls[0]["moments"]], before, after)
    saved = state_of(*after_steps(case["seed"] + number, case["optimizer"]))
    yield from file_mistakes(file, {**saved, "epoch": case["epochs"][number]})
    if early := [rank for rank, call in enumerate(calls) if call["returned"] != after]:
        yield finding("returns-too-early", who=name_ranks(early).capitalize())
    if left := calls[0]["left"]:
        yield finding("leftovers-pile-up" if number else "left-behind", names=", ".join(left))


CHECK = SaveCheckpoint()
