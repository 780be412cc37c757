"""The check of `train`."""

from __future__ import annotations

import functools
import inspect
import os
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from autograde.contract.calls import described, nothing_starts_or_ends, type_in_words
from autograde.contract.findings import Findings
from autograde.contract.gpu import ON_GPU
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, described_value, integer, numbers, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding, settle
from autograde.fixtures.numbered_net import SIZES, NumberedNet, NumberedSet, state_of
from autograde.probes.ddp_trace import recorded_wrapping
from autograde.probes.simulated_node import seeded_apart, simulated_node
from autograde.verdicts import one_process
from autograde.verdicts.collectives import deadlock, left_running
from autograde.verdicts.judged import JudgedRun, Run
from course.world.report import name_ranks

from .common import in_group_or_alone
from .drawn_batches import batch_mistakes, expected_batches
from .training_result import draw_training, loss_mistakes, only_a_copy, training_mistakes

TRAINED = ("weight", "bias")
SMALL = 64  # bytes of a few numbers; the weights of the model take 96
SMALL_OBJECT = 1000  # likewise, pickled
LEFT_OVER = {"RANK": "1", "WORLD_SIZE": "2"}  # variables where a rank is alone, as the notebook's world has some

finding = Findings("""
alone-by-environment 2
Without a process group, your code draws the share of rank 1 of 2: so say RANK and WORLD_SIZE, which are left over from
whoever started this process. Whether there are other ranks, and how many, torch.distributed knows.

not-alone 2
Without a process group your function fails: {error} Alone, there is nobody to communicate with, and nothing to wrap.

ids-without-gpu 1.5
On a CPU, DistributedDataParallel takes no `device_ids`.

model-not-moved 1.5
On a GPU, DistributedDataParallel refuses the model: `device_ids` names a GPU, and the model is not there, or not yet.

losses-missing 3
Your function returns {kind} on rank {rank}. A list of {epochs} losses is expected, one for each epoch.

not-wrapped 3
On {size} ranks the model is never wrapped by DistributedDataParallel. Who averages the gradients, and who sees to it
that all ranks begin with the same weights?

wrapped-again 1.5
The model is wrapped {times} times in one call. Each time, weights are sent again, buckets are built and hooks stay
behind. When is it time to wrap?

exchanged-by-hand 1.5
Besides DistributedDataParallel, the ranks call {op} on line {line}, with {bytes} bytes each. Its backward pass has
averaged the gradients already: with a real model, this would send everything a second time.

called-by-some 3
Only {who} calls {op} (line {line}). There it meets the next call of {others}, which may be one of the backward pass,
where nothing is wrong. A collective needs every rank: which `if` keeps some away?

wrapper-replaced 3
The model is wrapped, but the forward pass goes past the wrapper, and the ranks call {op} on line {line}, with {bytes}
bytes each. DistributedDataParallel averages the gradients of what it has seen in a forward pass. Who is to call it?
""")


class Train(RankCheck, JudgedRun):
    """Two epochs, alone and on 2 to 4 ranks that begin with other weights, beside the replay in one process."""

    todo, points, deadline = "train", 5, 25.0
    consolidation = (
        "A script that is the same training on any number of ranks can be tried on a laptop and trusted on a cluster. "
        "The batch of a step belongs to all ranks together; so do its loss and its learning rate."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Alone, and on four ranks; then other sizes. There is padding, and a last batch that is smaller."""
        cases = [draw_training(rng, 1, alone=True), draw_training(rng, 4), draw_training(rng, 3)]
        ### BEGIN HIDDEN CASES
        cases += [draw_training(rng, 2), draw_training(rng, 4), draw_training(rng, 1)]
        ### END HIDDEN CASES
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """A single step on two ranks."""
        case = draw_training(rng, 2)
        return {**case, "epochs": 1, "samples": case["batch_size"]}

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The training, on the ranks of the case."""
        return in_group_or_alone(world, case, self.deadline, type(self).run, subject)

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """One call of `train`: what the model was shown, and what became of it."""
        forwards: list[list] = []
        through = {"wrapper": False}

        def note(net: NumberedNet, ids: list[int]) -> None:
            if torch.is_grad_enabled():
                forwards.append([ids, net.training, through["wrapper"]])

        wrapped_forward = DistributedDataParallel.forward

        def forward(wrapper: DistributedDataParallel, *args: Any, **kwargs: Any) -> Any:
            through["wrapper"] = True
            try:
                return wrapped_forward(wrapper, *args, **kwargs)
            finally:
                through["wrapper"] = False

        model = NumberedNet(case["models"][rank.rank], plain=True, norm=False, record=note).eval()
        model.bias.requires_grad_(False)
        data = NumberedSet(case["samples"], case["data"])
        wraps: list[dict] = []
        tried: list[str] = []
        ids: list[Any] = []
        given = (case["epochs"], case["batch_size"], case["lr"], case["seed"], rank.torch_device)
        train = subject.load()
        with (
            mock.patch.dict(os.environ, LEFT_OVER if case["alone"] else {}),
            seeded_apart(rank.rank),
            simulated_node(rank.rank % case["local_size"], case["local_size"]),
            nothing_starts_or_ends(tried),
            nullcontext() if rank.on_gpu else ids_left_out(ids),
            recorded_wrapping(wraps),
            mock.patch.object(DistributedDataParallel, "forward", forward),
            buckets_as_they_are(rank.on_gpu),
        ):
            returned = train(model, data, *given)
        losses = [described(each) for each in returned] if isinstance(returned, (list, tuple)) else None
        kind = "a list" if losses is not None else type_in_words(returned)
        count = sum(call["what"] == "wrap" for call in wraps)
        seen = {"losses": losses, "kind": kind, "wraps": count, "forwards": forwards, "tried": tried, "ids": bool(ids)}
        state = state_of(model)
        return {**seen, "state": {name: state[name] for name in TRAINED}}

    def shape(self, case: dict) -> dict:
        """Losses, forward passes and the model's numbers."""
        forward = {"type": "array", "minItems": 3, "maxItems": 3, "items": [array(integer()), boolean(), boolean()]}
        losses = optional(array(described_value(), most=100))
        fields = {"kind": string(), "wraps": integer(0), "forwards": array(forward), "tried": array(string())}
        fields["ids"] = boolean()
        return record(losses=losses, state=record(**{name: numbers(SIZES[name]) for name in TRAINED}), **fields)

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """What an error or a deadlock means."""
        if run.state == "raised" and case["alone"] and "process group" in run.detail:
            return [finding("not-alone", error=run.detail)]
        logs = run.of_call(0)
        return called_by_some(logs, run) or (deadlock(logs, run.report) if run.state == "hang" else [])

    def verdict(self, case: dict, evidence: dict) -> list[Finding | Diagnosis]:
        """Besides what `judge` finds: what the ranks exchanged by hand."""
        found = super().verdict(case, evidence)
        if case.get(ON_GPU) and evidence["state"] == "raised" and "device_ids" in evidence["detail"]:
            return [finding("model-not-moved")]
        if case.get(ON_GPU) or evidence["state"] != "ok":
            return found
        past = not any(wrapper for rank in evidence["ranks"] for *_, wrapper in rank["result"]["forwards"])
        unused = past and all(rank["result"]["wraps"] for rank in evidence["ranks"])
        return [*found, *exchanged([event for rank in evidence["ranks"] for event in rank["events"]], unused)]

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """What was drawn first; then what became of it, and the losses."""
        found: list[Finding | Diagnosis] = left_running([each["tried"] for each in results])
        drawn = [[ids for ids, *_ in each["forwards"]] for each in results]
        if case["alone"] and sum(map(len, drawn[0])) == case["epochs"] * -(-case["samples"] // 2):
            return [*found, finding("alone-by-environment")]
        found += batch_mistakes(case, drawn)
        keys = {each.key for each in settle([found])}
        batches = expected_batches(case) if "batch-shown-twice" in keys else drawn
        if any(each["ids"] for each in results):
            found.append(finding("ids-without-gpu"))
        if "nothing-trained" in keys or len({*map(len, batches)}) > 1 or len(batches[0]) % case["epochs"]:
            return found
        if any(not mode for each in results for _, mode, _ in each["forwards"]):
            found.append(one_process.finding("not-train-mode"))
        wraps = max(each["wraps"] for each in results)
        if wraps == 0 and case["size"] > 1:
            return [*found, finding("not-wrapped", size=case["size"])]
        if wraps > 1:
            found.append(finding("wrapped-again", times=wraps))
        through = all(wrapper for each in results for *_, wrapper in each["forwards"])
        judged, trained = training_mistakes(case, batches, [each["state"] for each in results], through)
        found.append(judged)
        for rank, each in enumerate(results):
            if each["losses"] is None or len(each["losses"]) != case["epochs"]:
                kind = each["kind"] if each["losses"] is None else f"{each['kind']} of {len(each['losses'])} values"
                return [*found, finding("losses-missing", rank=rank, kind=kind, epochs=case["epochs"])]
        losses = [each["losses"] for each in results]
        if of_a_copy := only_a_copy(case, batches, judged, losses):
            return [*(each for each in found if each is not judged), *of_a_copy]
        return [*found, *(loss_mistakes(case, batches, trained, losses) if trained else ())]


def called_by_some(logs: list[list[dict]], run: Run) -> list[Finding]:
    """A finding for a run that broke off where some ranks make a call of their own, and others none at all."""
    callers = [rank for rank, log in enumerate(logs) if log]
    if run.state not in ("rank-died", "raised", "hang") or not 0 < len(callers) < len(logs):
        return []
    event, others = logs[callers[0]][0], name_ranks([rank for rank, log in enumerate(logs) if not log])
    about = {"who": name_ranks(callers), "others": others, "op": event["op"], "line": event["line"]}
    return [finding("called-by-some", run.report, **about)]


@contextmanager
def buckets_as_they_are(on_gpu: bool) -> Iterator[None]:
    """On a simulated GPU, a block in which DistributedDataParallel does not cut its buckets anew before the second
    step, and gradients are no views of buckets: either is made in C++, which takes the simulated GPU for the CPU."""
    if not on_gpu:
        yield
        return
    wrap = DistributedDataParallel.__init__

    @functools.wraps(wrap)
    def init(*args: Any, **kwargs: Any) -> None:
        wrap(*args, **{**kwargs, "gradient_as_bucket_view": False})

    with (
        mock.patch.object(dist.Reducer, "_rebuild_buckets", lambda reducer: False),
        mock.patch.object(DistributedDataParallel, "__init__", init),
    ):
        yield


@contextmanager
def ids_left_out(noted: list[Any]) -> Iterator[None]:
    """A block in which DistributedDataParallel notes `device_ids`, which it would refuse on a CPU, and goes on."""
    wrap = DistributedDataParallel.__init__
    signature = inspect.signature(wrap)

    @functools.wraps(wrap)
    def init(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs)
        for name in ("device_ids", "output_device"):
            if given.arguments.get(name):
                noted.append(given.arguments.pop(name))
        wrap(*given.args, **given.kwargs)

    with mock.patch.object(DistributedDataParallel, "__init__", init):
        yield


def exchanged(events: list[dict], unused: bool) -> list[Finding]:
    """A finding if the ranks exchanged more than a few numbers by calls of their own. unused: whether there is a
    wrapper, and it was never called."""
    for event in events:
        most = SMALL_OBJECT if "object" in event["op"] else SMALL
        if (event["bytes"] or 0) > most:
            key = "wrapper-replaced" if unused else "exchanged-by-hand"
            return [finding(key, op=event["op"], line=event["line"], bytes=event["bytes"])]
    return []


CHECK = Train()
