"""What each TODO of lab 10 must show: N ranks train as one process does, and what they communicate for it.

Models are tiny and in float64; sentences are told apart by their ids. What is due is computed here, in one process.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from autograde import checkpoint_runs, ddp_runs, train_runs
from autograde.check import Check, Finding, trouble
from autograde.ddp_passes import EXPLAIN_ALL, EXPLAIN_GRADIENTS, passes_mistakes, stuck_in_a_step, trace_schema
from autograde.epoch_order import draw_loader_case, loader_mistakes
from autograde.findings import Findings
from autograde.group_setup import SEEN, setup_mistakes
from autograde.loaded_state import LOADED, reading_mistakes
from autograde.one_process import step_mistakes
from autograde.probes import calls_apart
from autograde.resuming import runs_mistakes, runs_schema, training_trouble
from autograde.saved_state import SAVED, saving_mistakes, saving_trouble
from autograde.schema import array, described_value, integer, numbers, optional, outcome, record, string
from autograde.validation import call_schema, validation_mistakes, validation_trouble
from autograde.wrapping import wrapping_mistakes, wrapping_schema
from course.awkward_translator import AwkwardTranslator, draw_batches, draw_pairs, draw_shares, state_row
from course.epoch_runs import draw_training
from course.sentences import collate
from course.world import COMM, RANK

RANKS = 4

finding = Findings("""
not-a-loader 3
What comes out is no loader with batches (src, tgt_in, tgt_out) of int64 tensors: {problem}
""")


class Setup(Check):
    """A group that works, by the backend and on the device that fit the node; nodes with GPUs are played."""

    todo, points = "setup", 2

    def cases(self, rng: random.Random) -> list[dict]:
        """No GPU; two nodes with GPUs for all; too few GPUs. Ranks in another order than the world's."""

        def case(ranks: list[int], nodes: list[int], gpus: int) -> dict:
            return {"ranks": ranks, "nodes": nodes, "gpus": gpus}

        some = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]])
        cases = [case(some, [3], 0), case([3, 2, 1, 0], [2, 2], rng.choice([2, 4])), case([1, 3, 0, 2], [2, 2], 1)]
        ### BEGIN HIDDEN CASES
        cases += [case(some, [1, 2], rng.choice([2, 3])), case([0, 1, 2, 3], [4], 8), case([3, 1], [2], 0)]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's `setup` on the case's ranks."""
        run = checkpoint_runs.start_group
        return world.attempt(run, subject, case, COMM, ranks=case["ranks"], deadline=10).plain()

    def schema(self, case: dict) -> dict:
        """What each rank asked torch for, and the group it is in then."""
        return outcome(len(case["ranks"]), SEEN)

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """How the run ended, then who asked for what."""
        found = trouble(evidence, self.points)
        return found or setup_mistakes(case, [rank["result"] for rank in evidence["ranks"]])


class MakeLoader(Check):
    """Every rank's sentences in each epoch, and their batches."""

    todo, points = "make_loader", 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Pairs that the ranks cannot share evenly; a single one; fewer than there are ranks."""
        sets = [(4, 4 * rng.randint(4, 6) + 2, 3), (3, 3 * rng.randint(4, 7) + 1, 4), (2, 1, 2)]
        ### BEGIN HIDDEN CASES
        sets += [(4, 3, 5), (2, 2 * rng.randint(5, 8) + 1, 2)]
        ### END HIDDEN CASES
        return [draw_loader_case(rng, draw_pairs(rng, count), size, batch) for size, count, batch in sets]

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's loader on each rank."""
        run = ddp_runs.loader_run
        return world.attempt(run, subject, case, RANK, size=case["size"], init="torch", deadline=10).plain()

    def schema(self, case: dict) -> dict:
        """Rows of ids of each batch of each epoch, or what was wrong with them."""
        batch = array(array(array(integer())), 3)
        epochs = optional(array(array(batch), len(case["epochs"])))
        return outcome(case["size"], record(epochs=epochs, problem=optional(string())))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Compare with what DistributedSampler and `collate` make."""
        if found := trouble(evidence, self.points):
            return found
        seen = [rank["result"] for rank in evidence["ranks"]]
        if unfit := [own["problem"] for own in seen if own["epochs"] is None]:
            return [finding("not-a-loader", problem=unfit[0])]
        return loader_mistakes(case, [own["epochs"] for own in seen])


class Parallelize(Check):
    """One model on all ranks, with the device's `device_ids` and no other options."""

    todo, points = "parallelize", 2

    def cases(self, rng: random.Random) -> list[dict]:
        """The ranks' own device; and GPUs of two nodes, which are only played."""

        def case(size: int, played: bool) -> dict:
            pairs = [own[0] for own in draw_batches(rng, size, 1)]
            return {"size": size, "played": played, "seed": rng.randrange(10**6), "pairs": pairs}

        cases = [case(3, False), case(4, True)]
        ### BEGIN HIDDEN CASES
        cases += [case(2, False)]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's function on each rank."""
        run = ddp_runs.wrapping_run
        return world.attempt(run, subject, case, RANK, size=case["size"], init="torch", deadline=8).plain()

    def schema(self, case: dict) -> dict:
        """What was called, and the model's numbers after a backward pass."""
        return outcome(case["size"], wrapping_schema())

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Each rank by itself; then the numbers."""
        found = trouble(evidence, self.points)
        return found or wrapping_mistakes(case, [rank["result"] for rank in evidence["ranks"]])


class TrainStep(Check):
    """Parameters after steps of plain SGD, beside those of one process; and when gradients are synchronised."""

    todo, points = "train_step", 6

    def cases(self, rng: random.Random) -> list[dict]:
        """Two steps on all ranks; ten micro-batches; BatchNorm, and in the end a single micro-batch."""

        def case(size: int, micro_batches: list[int], norm: bool = False) -> dict:
            calls = [draw_batches(rng, size, count) for count in micro_batches]
            seed = rng.randrange(10**6)
            return {"size": size, "norm": norm, "seed": seed, "lr": rng.choice((0.05, 0.1, 0.2)), "calls": calls}

        cases = [case(4, [3, 2]), case(2, [10]), case(3, [4, 1], norm=True)]
        ### BEGIN HIDDEN CASES
        cases += [case(3, [2]), case(4, [2, 3, 1], norm=True)]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's steps on the ranks."""
        run = ddp_runs.step_run
        return world.attempt(run, subject, case, COMM, size=case["size"], init="torch", deadline=8).plain()

    def schema(self, case: dict) -> dict:
        """Of each call what it returned, the parameters after it, and its passes."""
        count = len(state_row(AwkwardTranslator(0, norm=case["norm"])))
        call = record(result=described_value(), parameters=numbers(count), trace=trace_schema())
        return outcome(case["size"], record(calls=array(call, len(case["calls"]))))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Each call by itself, the next one only where this one was right."""
        logs = [calls_apart(rank["events"]) for rank in evidence["ranks"]]
        if found := stuck_in_a_step(evidence, logs) or trouble(evidence, self.points):
            return found
        model = AwkwardTranslator(case["seed"], norm=case["norm"])
        for number, batches in enumerate(case["calls"]):
            calls = [rank["result"]["calls"][number] for rank in evidence["ranks"]]
            made = [log[number] if number < len(log) else [] for log in logs]
            found = passes_mistakes(len(batches[0]), [call["trace"] for call in calls], made)
            keys = {each.key for each in found}
            if keys & EXPLAIN_ALL:
                return found
            explained = bool(keys & EXPLAIN_GRADIENTS)
            collated = [[collate(pairs) for pairs in own] for own in batches]
            if found := found + step_mistakes(case, model, collated, calls, explained):
                return found
        return []


class SaveCheckpoint(Check):
    """Rank 0 writes; nothing but a whole file is ever in its place; the content is right; all return afterwards."""

    todo, points = "save_checkpoint", 3

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

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's `save_checkpoint`, twice, in a folder of its own below a temporary one."""
        with tempfile.TemporaryDirectory() as base:
            (folder := Path(base, "run")).mkdir()
            run = {"ranks": case["ranks"], "init": "torch", "deadline": 10}
            return world.attempt(checkpoint_runs.save_twice, subject, case, COMM, str(folder), **run).plain()

    def schema(self, case: dict) -> dict:
        """On each rank, for each call, what was touched, how the folder looked meanwhile, and what is in the file."""
        return outcome(len(case["ranks"]), array(SAVED, len(case["epochs"])))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """How the run ended; then each call by itself."""
        if found := saving_trouble(evidence) or trouble(evidence, self.points):
            return found
        calls = [[rank["result"][number] for rank in evidence["ranks"]] for number in range(len(case["epochs"]))]
        return [each for number, made in enumerate(calls) for each in saving_mistakes(case, number, made)]


class LoadCheckpoint(Check):
    """The file's state on all ranks and the epoch to go on with; 0 without a file; an error for what does not fit."""

    todo, points = "load_checkpoint", 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Each kind of file, in any order."""

        def case(ranks: list[int], optimizer: str, files: list[str]) -> dict:
            seed, epoch = rng.randrange(2**30), rng.randint(1, 20)
            about = {"ranks": ranks, "optimizer": optimizer, "files": files}
            return {**about, "seed": seed, "fresh": 2**30 + seed, "epoch": epoch}

        misfits = ["missing", "unexpected", "half", f"without-{rng.choice(['optimizer', 'epoch'])}"]
        cases = [case([2, 0, 3], "momentum", ["none", "good", *rng.sample(misfits, len(misfits))])]
        ### BEGIN HIDDEN CASES
        others = ["renamed", "without-model", "without-optimizer", "without-epoch"]
        cases += [case([3, 1], "adam", ["good", *rng.sample(others, len(others)), "none"])]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's `load_checkpoint` on the case's ranks, for each file."""
        with tempfile.TemporaryDirectory() as folder:
            run = {"ranks": case["ranks"], "init": "torch", "deadline": 10}
            return world.attempt(checkpoint_runs.load_each, subject, case, COMM, folder, **run).plain()

    def schema(self, case: dict) -> dict:
        """On each rank, for each file, what was returned or raised, and the state after that."""
        return outcome(len(case["ranks"]), array(LOADED, len(case["files"])))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """How the run ended; then each file by itself."""
        if found := trouble(evidence, self.points):
            return found
        calls = [[rank["result"][number] for rank in evidence["ranks"]] for number in range(len(case["files"]))]
        return [each for number, made in enumerate(calls) for each in reading_mistakes(case, number, made)]


class Validate(Check):
    """The exact mean over all ranks, which have unequal numbers of batches, and a model left as it was."""

    todo, points = "validate", 4

    def cases(self, rng: random.Random) -> list[dict]:
        """A rank with none; BatchNorm; equally many batches of unequal sizes."""

        def case(counts: list[int], norm: bool, *modes: str) -> dict:
            shares, seed = draw_shares(rng, counts), rng.randrange(10**6)
            return {"size": len(counts), "shares": shares, "norm": norm, "seed": seed, "batch_size": 3, "modes": modes}

        few = rng.randint(1, 2)
        cases = [case([rng.randint(7, 8), few, 0], False, "train", "eval")]
        cases += [case([few, rng.randint(4, 5), rng.randint(10, 11), 0], True, "train")]
        ### BEGIN HIDDEN CASES
        cases += [case([0, rng.randint(4, 6), few], True, "eval", "train"), case([5, 4], True, "eval")]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's validation on the ranks."""
        run = ddp_runs.validation_run
        return world.attempt(run, subject, case, COMM, size=case["size"], init="torch", deadline=8).plain()

    def schema(self, case: dict) -> dict:
        """Of each call what it returned, and the model after it."""
        return outcome(case["size"], record(calls=array(call_schema(case), len(case["modes"]))))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """How the run ended; then each call, the next one only where this one was right."""
        if found := validation_trouble(case, evidence, self.points):
            return found
        for number, mode in enumerate(case["modes"]):
            calls = [rank["result"]["calls"][number] for rank in evidence["ranks"]]
            if found := validation_mistakes(case, mode, calls):
                return found
        return []


class Train(Check):
    """The right epochs in the right steps, a checkpoint after each, and on from there, also after a rank was killed."""

    todo, points = "train", 4

    def cases(self, rng: random.Random) -> list[dict]:
        """Stopped and resumed in good order; and with a rank killed in the middle of an epoch."""

        def case(ranks: list[int], epochs: list[int], kill: int | None, accumulate: int) -> dict:
            batches = 2 * accumulate + rng.randint(1, accumulate - 1)
            training = draw_training(rng, len(ranks), batches=batches, accumulate=accumulate)
            stop = {"rank": kill, "epoch": 1, "batch": rng.randint(accumulate + 1, 2 * accumulate)}
            about = {"ranks": ranks, "epochs": epochs, "kill": None if kill is None else stop}
            return {**about, "training": training, "fresh": 2**30 + rng.randrange(2**30)}

        some = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]])
        cases = [case(some, [2, 4, 4], None, rng.choice([2, 3])), case([3, 1, 0, 2], [3], 2, 2)]
        ### BEGIN HIDDEN CASES
        cases += [case(some[:2], [3], 1, rng.choice([2, 3]))]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """One run; or the same training three times: undisturbed, with a rank killed, and resumed after that."""

        def attempt(folder: str, first: bool, kill: dict | None = None) -> dict:
            run = {"ranks": case["ranks"], "init": "torch", "deadline": 15}
            about = {**case, "first": first}
            return world.attempt(train_runs.train_each, subject, about, COMM, folder, kill, **run).plain()

        return train_runs.killed_and_resumed(attempt, case["kill"])

    def schema(self, case: dict) -> dict:
        """On each rank, for each call, the epochs, what was returned, and the weights; for a kill, also after it."""
        return outcome(len(case["ranks"]), runs_schema(len(case["epochs"])))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """How the runs ended; then each call by itself."""
        if found := training_trouble(evidence) or trouble(evidence, self.points):
            return found
        return runs_mistakes(case, evidence)


CHECKS = [
    Setup(),
    MakeLoader(),
    Parallelize(),
    TrainStep(),
    SaveCheckpoint(),
    LoadCheckpoint(),
    Validate(),
    Train(),
]
