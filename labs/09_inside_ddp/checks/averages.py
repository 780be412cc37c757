"""What lies in `.grad` after a step's averaging, beside the ranks' own gradients and what known mistakes give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from autograde.contract.findings import Findings
from autograde.contract.schema import array, numbers, optional, record, string, tuple_of
from autograde.contract.verdict import Diagnosis, Finding, settle
from autograde.verdicts.diagnosis import diagnose
from course.world.report import name_ranks

from .crooked_net import BY_COLUMNS, COMPLETES, SHAPES, TRAINED
from .replay import Expected, replay
from .training_steps import net_of

TOLERANCE = 1e-12  # relative to 1: what another order of a sum changes
Rows = list[list[torch.Tensor | None]]  # by rank and parameter

finding = Findings("""
weights-changed 3
In step {step}, `{name}` itself is not what it was before the step's averaging, on {who}. What the ranks average is in
`{name}.grad`; a hook is called with the parameter, not with its gradient.

gradient-missing 2
After step {step}, `{name}.grad` on {who} is no gradient of the shape {shape}. Each trained parameter is to have the
average afterwards, also where this rank had none.

sum-not-average 2
After step {step}, `.grad` holds the sum of all {size} ranks' gradients. The average is expected.

own-gradient 3
After step {step}, each rank has its own gradient in `.grad`, as if nobody had communicated.

own-gradient-divided 3
After step {step}, each rank has its own gradient in `.grad`, divided by the number of ranks. The sum is somewhere else,
or comes too late: which tensor has it, and from when on?

divided-too-soon 2
On a network that brings the sum late, `.grad` holds the sum of all ranks' gradients after step {step}; on a quick one
it is the average. You divide while the all-reduce is under way, and then the sum overwrites the quotient. When may
you touch an asynchronous all-reduce's tensor?

read-too-soon 2
On a network that brings the sum late, `.grad` holds what each rank had itself after step {step}; on a quick one it is
the average. You read the tensor while the all-reduce is under way. When is the sum in its place?

rank-0-gradient 3
After step {step}, all ranks have rank 0's gradient. The others' batches are lost.

number-in-the-code 2
After step {step}, `.grad` holds the sum of the {size} ranks' gradients, divided by 4. How many ranks are there here?

sum-in-a-copy 2
After step {step}, `.grad` holds the average, but for `{columns}`: there each rank still has its own gradient. It is
stored by columns, so that `contiguous`, `reshape` or `flatten` make a copy of it. Which tensor holds the sum?

divided-again 2
In step {step} the average is divided by the number of ranks once more than in the first step. What is left from the
step before that should not be?

divided-twice 2
After step {step}, `.grad` holds the average, divided by the number of ranks once more.

what-lay-there-lost 1.5
After step {step}, `.grad` holds the average of what the last backward pass has added, and what lay in `.grad` before it
is lost. A backward pass adds to `.grad`: when is it all in there?

unused-as-zeros 1.5
After step {step}, `{name}.grad` is what comes out if a rank that did not use it in the last backward pass counts as
zeros. But there was something in its `.grad`, from before that pass. Which gradients count as zeros?

what-lay-there-not-averaged 1.5
After step {step}, each rank has its own part in `.grad` from before the last backward pass, and only what this pass
added is averaged.

hook-before-accumulation 3
After step {step}, `.grad` holds the average but for those gradients that came last in their bucket: there it is what
lay in `.grad` before the backward pass. Your hook is called before the new gradient is in `.grad`. Which one is called
after that?

stale-buffer 2
In step {step}, a rank without a gradient of `{name}` counts with what the step before has left in its buffer. A buffer
that is used again still holds the last result: what has to go in for a gradient that is not there?

users-only 2
After step {step}, `{name}.grad` is the average over the ranks that have used it. A rank without a gradient counts as
zeros: the sum is divided by the number of all ranks.

zeros-for-own 2
After step {step}, `.grad` is zero on all ranks.

ranks-differ 3
After step {step}, `{name}.grad` is not the same on all ranks: number {place} of it is {values}, by rank.

other-average 3
After step {step}, number {place} of `{name}.grad` is {actual:.6g} on {who}. The average over the ranks is
{expected:.6g}.
""")


def step_shape() -> dict:
    """Schema of a step of `training_steps.train`."""
    gradients = tuple_of([optional(numbers()) for _ in TRAINED])
    return record(gradients=gradients, moved=array(string()))


def average_mistakes(plan: dict, steps: Sequence[Sequence[dict]]) -> list[Finding | Diagnosis]:
    """What is wrong with the steps' gradients. steps: by rank, see `training_steps.train`.

    Steps after one that is not right begin from other weights. They are judged only where these are known: sums in the
    place of averages.
    """
    found: list[Finding | Diagnosis] = []
    times: dict[int, float] = {}
    previous: list[torch.Tensor] = []  # averages of the step before
    for step, expected in enumerate(replay(plan, len(steps), times)):
        of_ranks = [own[step] for own in steps]
        if moved := weights_changed(step, of_ranks):
            return [*found, *moved]
        rows: Rows = [[tensor_of(*each) for each in enumerate(of_rank["gradients"])] for of_rank in of_ranks]
        judged = [*missing(step, rows)] or [judge_step(plan, step, rows, expected, previous)]
        previous = expected.mean()
        found += judged
        if [each.key for each in settle([judged])] == ["sum-not-average"]:
            times[step] = float(expected.size)
        elif settle([judged]):
            return found
    return found


def weights_changed(step: int, of_ranks: Sequence[dict]) -> list[Finding]:
    """A finding where the averaging of a step has changed the parameters themselves. of_ranks: the step, by rank."""
    for rank, each in enumerate(of_ranks):
        if each["moved"]:
            return [finding("weights-changed", step=step, name=each["moved"][0][:40], who=name_ranks([rank]))]
    return []


def tensor_of(place: int, values: list[float | None] | None) -> torch.Tensor | None:
    """Gradient `place` from the evidence; None if it is none of that shape."""
    shape = torch.Size(SHAPES[TRAINED[place]])
    if values is None or len(values) != shape.numel():
        return None
    return torch.tensor([float("nan") if each is None else each for each in values], dtype=torch.float64).reshape(shape)


def missing(step: int, rows: Rows) -> list[Finding]:
    """A finding for a parameter without a gradient."""
    for place, name in enumerate(TRAINED):
        if without := [rank for rank, own in enumerate(rows) if own[place] is None]:
            shape = list(SHAPES[name])
            return [finding("gradient-missing", step=step, name=name, who=name_ranks(without), shape=shape)]
    return []


def same(actual: Rows, expected: Rows) -> bool:
    """Whether all ranks' gradients agree but for rounding."""
    return all(
        one is not None and other is not None and bool(((one - other).abs() <= TOLERANCE * (1 + other.abs())).all())
        for row, wanted in zip(actual, expected, strict=True)
        for one, other in zip(row, wanted, strict=True)
    )


def judge_step(plan: dict, step: int, rows: Rows, expected: Expected, previous: Sequence[torch.Tensor]) -> Diagnosis:
    """The gradients of one step, none of which is missing. previous: the averages of the step before, if there was
    one."""
    size, weights = expected.size, expected.weights
    mean = expected.mean()

    def everywhere(gradients: Sequence[torch.Tensor]) -> Rows:
        return [[*gradients] for _ in range(size)]

    filled = [
        [torch.zeros_like(weight) if each is None else each for each, weight in zip(row, weights, strict=True)]
        for row in expected.own
    ]

    def own(divisor: float) -> Rows:
        return [[each / divisor for each in row] for row in filled]

    candidates: dict[str, Rows] = {
        "sum-not-average": everywhere(expected.mean(divisor=1)),
        "own-gradient": own(1),
        "own-gradient-divided": own(size),
        "rank-0-gradient": everywhere(own(1)[0]),
        "zeros-for-own": everywhere([torch.zeros_like(weight) for weight in weights]),
        "divided-again" if step else "divided-twice": everywhere(expected.mean(divisor=size * size)),
    }
    lost = TRAINED.index(BY_COLUMNS)
    by_rows = step == 0 and plan["left"]  # so lies what a step finds in `.grad`
    for form, divisor in () if by_rows else (("divided", size), ("whole", 1)):
        rows_of_own = own(divisor)
        candidates[f"sum-in-a-copy/{form}"] = [
            [of_rank[place] if place == lost else each for place, each in enumerate(mean)] for of_rank in rows_of_own
        ]
    candidates["number-in-the-code"] = everywhere(expected.mean(divisor=4))
    if size == 1:
        candidates = {}
    if size > 1 and plan["network"] != "plain":
        late = plan["network"] == "late"
        candidates["divided-too-soon"] = everywhere(expected.mean(divisor=1) if late else mean)
        candidates["read-too-soon"] = own(size) if late else everywhere(mean)
        candidates["read-too-soon/undivided"] = own(1) if late else everywhere(mean)
        if step and late:
            candidates["divided-again/before the sum comes"] = everywhere(mean)
    if step > 1:
        candidates["divided-again/each step"] = everywhere(expected.mean(divisor=size ** (step + 1)))
    last = expected.mean(expected.last)
    candidates["what-lay-there-lost"] = everywhere(last)
    candidates["what-lay-there-not-averaged"] = [
        [average + (0 if lay is None else lay) for average, lay in zip(last, before, strict=True)]
        for before in expected.before
    ]
    used = [
        [each if now is not None else None for each, now in zip(own_of_rank, now_of_rank, strict=True)]
        for own_of_rank, now_of_rank in zip(expected.own, expected.last, strict=True)
    ]
    candidates["unused-as-zeros"] = everywhere(expected.mean(used))
    candidates |= in_buckets(plan, expected, everywhere, previous)
    users = [max(1, expected.users(place)) for place in range(len(TRAINED))]
    by_users = [total / count for total, count in zip(expected.mean(divisor=1), users, strict=True)]
    candidates["users-only"] = everywhere(by_users)
    wanted = everywhere(mean)
    told = difference(rows, wanted)
    about = {"step": step, "size": size, "columns": BY_COLUMNS} | told
    some = next((name for name, count in zip(TRAINED, users, strict=True) if count < size), TRAINED[0])

    def found(key: str) -> Finding:
        return finding(key, **{**about, "name": some} if key in ("users-only", "stale-buffer") else about)

    return diagnose(f"step {step}", rows, wanted, candidates, found, generic(rows, about), same)


def in_buckets(
    plan: dict, expected: Expected, everywhere: Callable[..., Rows], previous: Sequence[torch.Tensor]
) -> dict[str, Rows]:
    """What mistakes with buckets give. previous: see `judge_step`."""
    if "buckets" not in plan:
        return {}
    late = [came_last(plan, rank) for rank in range(expected.size)]
    without = [
        [
            lay if TRAINED[place] in late[rank] else each
            for place, (each, lay) in enumerate(zip(own, before, strict=True))
        ]
        for rank, (own, before) in enumerate(zip(expected.own, expected.before, strict=True))
    ]
    found = {"hook-before-accumulation": everywhere(expected.mean(without))}
    for form, times in (("average", 1), ("sum", expected.size)) if previous else ():
        filled = [
            [old * times if each is None else each for each, old in zip(own, previous, strict=True)]
            for own in expected.own
        ]
        found[f"stale-buffer/{form}"] = everywhere(expected.mean(filled))
    return found


def came_last(plan: dict, rank: int) -> set[str]:
    """The parameters whose gradients are the last of a bucket on a rank, or of those before it, so that the bucket
    leaves with them."""
    backward = net_of(plan, rank).order()[::-1]
    ends = [name for layer in backward for name in reversed(TRAINED) if COMPLETES[name] == layer]
    missing, late = [{TRAINED[place] for place in bucket} for bucket in plan["buckets"]], set()
    for name in ends:
        left = [{*bucket} for bucket in missing]
        for bucket in missing:
            bucket.discard(name)
        gone = next((number for number, bucket in enumerate(left) if bucket), len(left))
        if gone < len(left) and not missing[gone]:
            late.add(name)
    return late


def difference(rows: Rows, wanted: Rows) -> dict:
    """Where the first gradient is that is not what it should be, and the numbers there."""
    for rank, (row, right) in enumerate(zip(rows, wanted, strict=True)):
        for name, one, other in zip(TRAINED, row, right, strict=True):
            apart = ~((one - other).abs() <= TOLERANCE * (1 + other.abs()))
            if apart.any():
                place = int(apart.flatten().nonzero()[0])
                values = {"actual": float(one.flatten()[place]), "expected": float(other.flatten()[place])}
                return {"name": name, "place": place, "who": name_ranks([rank]), **values}
    return {"name": TRAINED[0], "place": 0, "who": name_ranks([0]), "actual": 0.0, "expected": 0.0}


def generic(rows: Rows, about: dict) -> Finding:
    """The finding where no known mistake explains the gradients."""
    for name, *of_ranks in zip(TRAINED, *rows, strict=True):
        apart = torch.stack([~((each - of_ranks[0]).abs() <= TOLERANCE) for each in of_ranks]).any(0).flatten()
        if apart.any():
            place = int(apart.nonzero()[0])
            values = ", ".join(f"{float(each.flatten()[place]):.6g}" for each in of_ranks)
            return finding("ranks-differ", **{**about, "name": name, "place": place, "values": values})
    return finding("other-average", **about)
