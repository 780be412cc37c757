"""Whether the numbers in evidence for the labs on training are right: those that the verdict is about.

Most of them must be where they are in honest evidence. What is told beside them, such as times, traces, types and who
touched which file, can be forged by a student who may run any code on the ranks; see the notes on grading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from forged_evidence import near

from autograde.fixtures.numbered_net import TRAINED
from course.figures.splitting.schedules import micro_batches_of, missing, too_early

COSTS = ("broadcast, one by one", "broadcast, tree", "all-reduce, tree", "all-reduce, ring")
GRADIENTS = [
    f"calls.*.seen.steps.*.gradients.{name}.entries"
    for name in ("first", "tied", "sometimes", "left", "right", "last", "bias")
]
# The parts of each rank's result that are to be the honest ones; "*" stands for each entry of a list.
PARTS = {
    "01 mse_gradient": ("calls.*.seen.numbers.dm.value", "calls.*.seen.numbers.dn.value"),
    "01 sgd_path": (),  # one of several runs has to be right; see `one_run`
    "01 accumulate_gradient": ("calls.*.seen.grads.*.entries",),
    "02 local_place": ("calls.*.seen.pair",),
    "02 in_turn": ("calls.*.seen.value.value",),
    "02 add_shares": ("calls.*.seen.c", "calls.*.seen.results.numbers.*.value"),
    "02 swap": ("calls.*.seen.result.entries",),
    "02 chain": ("calls.*.seen.result.entries",),
    "04 broadcast_rounds": (),  # any plan that serves everybody; see `plans`
    "04 tree_reduce": ("calls.*.seen.result.entries",),
    "04 ring_reduce_scatter": ("calls.*.seen.result.entries",),
    "04 ring_all_gather": ("calls.*.seen.result.entries",),
    "04 ring_allreduce": ("calls.*.seen.result.entries",),
    "04 costs": tuple(f"calls.*.seen.numbers.{name}.value" for name in COSTS),
    "05 distributed_gradient": ("calls.*.seen.pair.numbers.*.value",),
    "05 distributed_path": ("calls.*.seen.path.rows", "calls.*.seen.shares"),
    "05 learning_rate": ("calls.*.seen.rates.*.value",),
    "05 serve": ("calls.*.seen.result.entries",),  # and see `answers`
    "05 work": (),  # see `requests`
    "05 two_level_sum": ("calls.*.seen.result.entries",),
    "06 shard": ("calls.*.seen.shares.*.ids",),
    "06 ShuffledSampler": tuple(
        f"calls.*.seen.{name}" for name in ("passes.*.ids", "passes.*.length", "drawn", "other")
    ),
    "06 samples_seen": ("calls.*.seen.lists.*.ids",),
    "06 distributed_accuracy": ("calls.*.seen.value.value",),
    "07 setup": ["calls.*.seen.chosen.device", "calls.*.seen.initialised"],  # and see `current_gpus`
    "07 make_optimizer": [f"calls.*.seen.states.*.{name}" for name in (*TRAINED, "frozen")],
    "07 synchronize_start": ["calls.*.seen.model", "calls.*.seen.lr"],
    "07 train_epoch": [f"calls.*.seen.{name}" for name in ("value.value", "state", "batches", "train")],
    "07 evaluate": ["calls.*.seen.value.value"],
    "07 train": [
        *(f"calls.*.seen.{name}" for name in ("begin", "state", "told")),
        *(f"calls.*.seen.history.*.{name}.value" for name in ("epoch", "loss", "accuracy")),
    ],
    "07 batch_run": [
        "calls.*.seen.losses",
        *(f"calls.*.seen.calls.*.{name}" for name in ("sets", "checkpoint")),
        *(f"calls.*.seen.calls.*.{name}.value" for name in ("epochs", "batch_size", "lr", "seed")),
    ],
    "08 process_group_from_slurm": ["calls.*.seen.steps.*.*.values"],
    "08 train": [f"calls.*.seen.{name}" for name in ("losses.*.value", "state", "passes")],
    "08 images_per_second": [],  # times, and a number that follows from them but for 8 %
    "08 fit_scaling": ["calls.*.seen.parts.numbers.*.value"],
    "08 gradient_bytes": ["calls.*.seen.value.value"],
    "09 broadcast_state": ["calls.*.seen.numbers"],
    "09 average_gradients": GRADIENTS,
    "09 overlap_backward": GRADIENTS,
    "09 assign_buckets": ["calls.*.seen.buckets"],
    "09 Reducer": GRADIENTS,
    "10 setup": ["calls.*.seen.chosen.device", "calls.*.seen.group"],  # and see `current_gpus`
    "10 make_loader": ["calls.*.seen.passes"],
    "10 parallelize": [f"calls.*.seen.{name}" for name in ("device_ids", "parameters.entries", "gradients.entries")],
    "10 one_rank_step": [f"calls.*.seen.{name}" for name in ("gradients", "parameters", "value.value")],
    "10 accumulate_gradients": ["calls.*.seen.gradients.entries", "calls.*.seen.totals.numbers.*.value"],
    "10 train_step": [f"calls.*.seen.{name}" for name in ("gradients", "parameters", "value.value")],
    "10 save_checkpoint": ["calls.*.seen.calls.*.content.content"],
    "10 load_checkpoint": (),
    "10 validate": [f"calls.*.seen.{name}" for name in ("value.value", "state.entries", "gradients.entries")],
    "10 train": [f"calls.*.seen.{name}" for name in ("told", "steps", "losses")],  # and see `trainings`
    "11 save_checkpoint": tuple(
        f"calls.*.seen.calls.*.{name}" for name in ("content.content", "content.random", "drawn")
    ),
    "11 load_checkpoint": (),
    "11 ResumableSampler": tuple(
        f"calls.*.seen.{name}" for name in ("passes.*.ids", "passes.*.length", "drawn", "other")
    ),
    "11 Preemption": ("calls.*.seen.answers",),
    "11 train": ("calls.*.seen.losses", "calls.*.seen.steps.*.weights"),
    "11 best_every": (),  # any k that loses no more; see `least`
    "12 copy_to_ranks": [],  # see `in_groups`
    "12 ParallelMLP": [],  # see `in_groups`
    "12 pipeline_schedule": [],  # any plan that keeps the rules; see `schedules`
    "12 forward_passes": [f"calls.*.seen.passes.*.{name}.entries" for name in ("input", "output")],
    "12 backward_passes": ["calls.*.seen.gradients.*.entries"],
    "12 ShardedOptimizer": ["calls.*.seen.parameters.*.entries"],
    "13 memory_per_rank": [
        f"calls.*.seen.stages.*.numbers.{name}.value"
        for name in ("weights", "gradients", "optimizer", "master weights")
    ],
    "13 shard": ["calls.*.seen.result.entries"],
    "13 gathered": ["calls.*.seen.weights.*.entries"],
    "13 reduce_scattered": [],  # see `scattered`
    "13 FullySharded": ["calls.*.seen.losses", "calls.*.seen.shards.*.entries"],
    "13 checkpointed": ["calls.*.seen.got.*.entries"],
}


def right_in_training(lab: str, todo: str, case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Whether the numbers that the ranks' `results` have are right for the case. model: the honest ones, by rank.

    lab: its number, as "06".
    """
    key = f"{lab} {todo}"
    pairs = zip(results, model, strict=True)
    # What is at a path must be there in honest evidence, or this would find everything right.
    paths = [(own, due, path) for own, due in pairs for path in PARTS.get(key, ())]
    if not all(alike(parts(own, path), parts(due, path, must=True)) for own, due, path in paths):
        return False
    return key not in MORE or MORE[key](case, results, model)


def parts(tree: Any, path: str, must: bool = False) -> Any:
    """What is at a path: a list where there are several; None where there is nothing, or KeyError if it must be."""
    key, _, rest = path.partition(".")
    if not key or tree is None:
        return tree
    if isinstance(tree, dict) and path in tree:  # names of parameters have dots in them
        return tree[path]
    if key == "*":
        return [parts(entry, rest, must) for entry in tree]
    return parts(tree[key] if must else tree.get(key), rest, must)


def alike(seen: Any, due: Any) -> bool:
    """Whether two trees are the same but for rounding. Whole numbers, such as ids, are not rounded."""
    if isinstance(due, dict):
        return isinstance(seen, dict) and seen.keys() == due.keys() and all(alike(seen[key], due[key]) for key in due)
    if isinstance(due, list):
        return isinstance(seen, list) and len(seen) == len(due) and all(map(alike, seen, due))
    return near(seen, due) if isinstance(due, float) and isinstance(seen, (int, float)) else seen == due


def current_gpus(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """`setup` of labs 07 and 10: who computes on a GPU has made it the current one, as GPU 0 is from the start."""
    each = [
        pair for own, due in zip(results, model, strict=True) for pair in zip(own["calls"], due["calls"], strict=True)
    ]
    chosen = [[one["seen"]["chosen"] for one in pair] for pair in each]
    return all((own["current"] or 0) == due["current"] for own, due in chosen if due["device"] != "cpu")


def dealt(n: int, batch_size: int, ranks: Sequence[Sequence[Sequence[int]]]) -> bool:
    """Whether ranks draw equally many of `n` samples, in full batches but for the last, and each at least once."""
    drawn = [[number for batch in own for number in batch] for own in ranks]
    due = math.ceil(n / len(ranks))
    sizes = [batch_size] * (due // batch_size) + [due % batch_size] * (due % batch_size > 0)
    each = {number for own in drawn for number in own} == set(range(n))
    return each and all([len(batch) for batch in own] == sizes for own in ranks)


def loaders(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 07's `make_loader`, where any order will do: each sample is drawn, and by two loaders with one seed alike.

    Where there are few samples, orders are not judged.
    """
    [call], drawn = case["calls"], [own["calls"][0]["seen"]["passes"] for own in results]
    samples, epochs = call["samplers"][0][0], len(call["passes"]) // len(call["samplers"])
    if not all(dealt(samples, call["batch_size"], ranks) for ranks in zip(*drawn, strict=True)):
        return False
    return samples < 9 or all(own[:epochs] == own[epochs : 2 * epochs] for own in drawn)


def first_options(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 07's `make_optimizer`: the learning rate and the momentum of rank 0. No rank can step with others."""
    pairs = zip(*(parts(own[0], "calls.*.seen.options") for own in (results, model)), strict=True)
    return all(alike(own[name], due[name]) for own, due in pairs for name in ("lr", "momentum"))


def momentum(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 07's `synchronize_start`: each parameter's momentum is rank 0's; none and 0 are the same."""
    due = 0.5 if case["calls"][0]["moving"][0] else 0.0
    held = [entry or [0.0] for own in results for call in own["calls"] for entry in call["seen"]["momentum"]]
    return all(near(value, due) for own in held for value in own)


def run_and_files(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 07's `train`: what is drawn, in any order; and what rank 0 saved after each epoch, and is in the file."""
    [call], seen = case["calls"], [own["calls"][0]["seen"] for own in results]
    steps = len(seen[0]["batches"]) // call["epochs"]
    epochs = [[own["batches"][at : at + steps] for own in seen] for at in range(0, steps * call["epochs"], steps)]
    files = [ranks[0]["calls"][0]["seen"] for ranks in (results, model)]
    states = [{save["after"]: save["saved"]["state"] for save in own["saves"]} for own in files]
    return (
        all(dealt(call["samples"], call["batch_size"], ranks) for ranks in epochs)
        and all(alike(states[0].get(after), due) for after, due in states[1].items())
        and alike(files[0]["last"], files[1]["last"])
    )


def trainings(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 10's `train`: the weights after each call that trains, and rank 0's checkpoints."""
    both = ([[call["seen"] for call in own["calls"]] for own in each] for each in (results, model))
    for rank, pairs in enumerate(zip(*both, strict=True)):
        for seen, told in zip(*pairs, strict=True):
            names = ["ends", "saved"][: 2 if rank == 0 else 1] if told["told"] else []
            if not all(alike(seen[name], told[name]) for name in names):
                return False
    return True


def loads(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """`load_checkpoint` of labs 10 and 11: value and state where there is no file or a good one; else an error."""
    for own, due in zip(results, model, strict=True):
        for call, *pair in zip(case["calls"], own["calls"], due["calls"], strict=True):
            seen, told = (each["seen"] for each in pair)
            if call["kind"] in ("none", "good"):
                right = all(alike(seen[name], told[name]) for name in told if name != "stepped")
            else:
                right = seen["error"] is not None
            if not right:
                return False
    return True


def least(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 11's `best_every`: a k that loses as little as the best one, but for a millionth."""

    def lost(plan: dict, k: float) -> float:
        return plan["save"] / (k * plan["step"]) + k * plan["step"] * plan["nodes"] / (2 * plan["mtbf"])

    pairs = zip(case["calls"], results[0]["calls"], model[0]["calls"], strict=True)
    values = [(plan, *(each["seen"]["value"]["value"] for each in pair)) for plan, *pair in pairs]
    return all(k is not None and k >= 1 and lost(plan, k) <= lost(plan, due) * (1 + 1e-6) for plan, k, due in values)


More = Callable[[dict, Sequence[Any], Sequence[Any]], bool]


def rank_0s_start(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 07's `batch_run`: the model that rank 0 passes on. The others get theirs from it."""
    return alike(parts(results[0], "calls.*.seen.calls.*.state"), parts(model[0], "calls.*.seen.calls.*.state"))


def one_run(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 01's `sgd_path`: of each call, the paths of one kind of numbers."""
    runs, due = ([parts(each[0], "calls.*.seen.runs.*.*.rows", must=True)] for each in (results, model))
    return all(any(alike(run, right[0]) for run in call) for call, right in zip(runs[0], due[0], strict=True))


def answers(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 05's `serve`: what the workers were answered, where the order of their requests is certain."""
    both = results, model
    for number, plan in enumerate(case["calls"]):
        if plan["turns"]:
            pulled = [[one for rank in each for one in rank["calls"][number]["seen"]["answers"]] for each in both]
            seen, told = (sorted(each, key=lambda one: one["number"]) for each in pulled)
            if not alike([one["values"]["entries"] for one in seen], [one["values"]["entries"] for one in told]):
                return False
    return True


def requests(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 05's `work`: what came to rank 0 from each worker."""
    calls = ([call["seen"]["requests"][1:] for call in each[0]["calls"]] for each in (results, model))
    seen, due = (
        [[[one["tag"], one["bytes"], one["values"]["entries"]] for one in own] for call in each for own in call]
        for each in calls
    )
    return alike(seen, due)


def plans(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 04's `broadcast_rounds`: who has the array serves one other a round, until all have it, in few rounds."""
    for made, plan in zip(results[0]["calls"], case["calls"], strict=True):
        has = {plan["root"]}
        for pairs in made["seen"]["plan"]:
            sources, targets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            if not {*sources} <= has or {*targets} & has or len({*sources, *targets}) < 2 * len(pairs):
                return False
            has |= {*targets}
        if has != {*range(plan["size"])} or len(made["seen"]["plan"]) > math.ceil(math.log2(plan["size"])):
            return False
    return True


def schedules(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 12's `pipeline_schedule`: nothing is left out, comes too early or twice, and no plan is too long."""
    for call, made in zip(case["calls"], results[0]["calls"], strict=True):
        stages, micro = call["stages"], call["micro_batches"]
        plan = [[each and (each[0], int(each[1:])) for each in row] for row in made["seen"]["plan"]]
        passes = [sum(each is not None for each in row) for row in plan]
        fits = [len(row) == 2 * (stages + micro - 1) for row in plan]
        if len(plan) != stages or not all(fits) or passes != [2 * micro] * stages:
            return False
        if micro_batches_of(plan) != micro or missing(plan) or too_early(plan):
            return False
    return True


def in_groups(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 12's functions in groups: the arrays of the ranks that make a call."""
    for rank, (own, honest) in enumerate(zip(results, model, strict=True)):
        for call, made, due in zip(case["calls"], own["calls"], honest["calls"], strict=True):
            if call["ends"] and rank not in (0, len(results) - 1):
                continue
            made, due = (each["seen"].get("shown") or {"value": each["seen"].get("value")} for each in (made, due))
            if not all(alike(made[name]["entries"], each["entries"]) for name, each in due.items()):
                return False
    return True


def scattered(case: dict, results: Sequence[Any], model: Sequence[Any]) -> bool:
    """Lab 13's `reduce_scattered`: the shards' gradients, where ranks were to communicate."""
    path = "seen.grads.*.entries"
    return all(
        alike(parts(made, path), parts(due, path, must=True))
        for own, honest in zip(results, model, strict=True)
        for call, made, due in zip(case["calls"], own["calls"], honest["calls"], strict=True)
        if call["sync"]
    )


MORE: dict[str, More] = {
    "01 sgd_path": one_run,
    "04 broadcast_rounds": plans,
    "05 serve": answers,
    "05 work": requests,
    "07 setup": current_gpus,
    "07 make_loader": loaders,
    "07 make_optimizer": first_options,
    "07 synchronize_start": momentum,
    "07 train": run_and_files,
    "07 batch_run": rank_0s_start,
    "10 setup": current_gpus,
    "10 load_checkpoint": loads,
    "10 train": trainings,
    "11 load_checkpoint": loads,
    "11 best_every": least,
    "12 copy_to_ranks": in_groups,
    "12 ParallelMLP": in_groups,
    "12 pipeline_schedule": schedules,
    "13 reduce_scattered": scattered,
}
