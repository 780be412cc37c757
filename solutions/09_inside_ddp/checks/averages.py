"""What lies in `.grad` after a step's averaging, beside a replay of all ranks in one process."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch

from autograde.rubric import Mistakes, Replicas, Rules, Same, Words, changed, eager, once

from ..shared.crooked_net import BY_COLUMNS, SHAPES, TRAINED, CrookedNet
from ..shared.plan import MOMENTUM, RATE, batch_seed, left_behind, net_of

SGD = partial(eager(torch.optim.SGD), lr=RATE, momentum=MOMENTUM)
Gradients = Sequence[torch.Tensor | None]  # by trained parameter; None where it took no part
words = Words("""
weights-changed: In step {step}, `{name}` itself is not what it was before the step's averaging, on {who}. What the
ranks average is in `{name}.grad`; a hook is called with the parameter, not with its gradient.

gradient-missing: After step {step}, `{name}.grad` on rank {rank} is {actual}; a gradient of shape {shape} is expected.
Each trained parameter is to have the average afterwards, also where this rank had none.
""")


@dataclass(frozen=True)
class Step:
    """One step of the replay. number: from 0. late: whether the network brings sums late. parts: by rank, what lay in
    `.grad` when the step began and what each of its passes adds, the last one's last. given: whether it was put there,
    stored by rows. before: by rank, what the averaging of the step before gave; none in the first one."""

    number: int
    late: bool
    given: bool
    parts: list[list[Gradients]]
    before: list[Gradients]

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return len(self.parts)

    @property
    def own(self) -> list[Gradients]:
        """By rank, what its passes leave in `.grad`."""
        return [[total(column) for column in zip(*parts, strict=True)] for parts in self.parts]

    @property
    def last(self) -> list[Gradients]:
        """By rank, what its last pass adds."""
        return [parts[-1] for parts in self.parts]


def total(column):
    """The sum of gradients of one parameter; None if there is none."""
    there = [each for each in column if each is not None]
    return sum(there) if there else None


def filled(row):
    """Zeros where a rank has no gradient."""
    zeros = (torch.zeros(shape, dtype=torch.float64) for shape in SHAPES.values())
    return [zero if each is None else each for each, zero in zip(row, zeros, strict=True)]


def mean(step, rows=None, divisor=None):
    """By rank, the average of the ranks' gradients. rows: these; None: what their passes leave."""
    sums = filled([total(column) for column in zip(*(rows or step.own), strict=True)])
    return [[each / (divisor or step.size) for each in sums]] * step.size


def summed(step):
    return mean(step, divisor=1)


def own(step, divisor=1):
    return [[each / divisor for each in filled(row)] for row in step.own]


def trained(call, averaged=mean):
    """By rank and step, the gradients by name. averaged: of a `Step`, by rank what lies in `.grad` afterwards."""
    plan, ranks = call.arguments, range(call.size)
    replicas = Replicas([net_of(plan, rank) for rank in ranks], SGD, CrookedNet.loss, Rules(combine="own"))
    shown, rows = [[] for _ in ranks], []

    def gradients(rank, step, passed):
        loss = replicas.loss(replicas.models[rank], batch_seed(plan, step, passed, rank))
        return torch.autograd.grad(loss, replicas.trained[rank], allow_unused=True)

    for step, before in enumerate(plan["steps"]):
        parts = [[left_behind(plan, step, rank) or [None] * len(TRAINED)] for rank in ranks]
        for rank, own_parts in enumerate(parts):
            own_parts += [gradients(rank, step, passed) for passed in range(before)]
            own_parts.append(gradients(rank, step, before) if rank != plan["idle"] else [None] * len(TRAINED))
        rows = averaged(Step(step, plan["network"] == "late", step == 0 and plan["left"], parts, rows))
        replicas.step_with(rows)
        for each, row in zip(shown, rows, strict=True):
            each.append(dict(zip(TRAINED, row, strict=True)))
    return shown


def where(call, place):
    rank, step, name, entry = (*place, *[""] * 4)[:4]
    return f"After step {step}, on rank {rank}, {f'number {entry} of ' if place[3:] else ''}`{name}.grad`"


def missing(call, off):
    if off.what == "value" or not off.place[2:]:
        return None
    rank, step, name = off.place[:3]
    about = {"rank": rank, "step": step, "name": name, "shape": str([*SHAPES[name]])}
    return words("gradient-missing", actual=off.actual_text, **about)


def weights_stay(call):
    """What is averaged are gradients: the averaging itself changes no parameter."""
    for rank, steps in enumerate(call.of("steps")):
        for number, step in enumerate(steps):
            if step.moved:
                return words.on_ranks("weights-changed", [rank], step=number, name=step.moved[0][:40])
    return None


@dataclass(frozen=True)
class OrSum(Same):
    """The averages, or, where another row tells that, the sums, or these divided by a number in the code."""

    def __call__(self, call):
        """See `Same`."""
        wrong = super().__call__(call)
        forms = [*FORMS["sum-not-average"], *FORMS["number-in-the-code"]] if wrong else []
        return None if any(self.gives(call, trained(call, form)) for form in forms) else wrong


ABOUT = (lambda call: [[step.gradients for step in steps] for steps in call.of("steps")], once(trained), where)
AVERAGE, AVERAGE_OR_SUM = Same(*ABOUT, otherwise=missing), OrSum(*ABOUT, otherwise=missing)


# What known mistakes leave in `.grad`, of a `Step`.


def divided_again(step):
    """Handles of all steps before are waited for, and divide once more; a late sum overwrites that."""
    return mean(step) if step.late else mean(step, divisor=step.size ** (step.number + 1))


def last_pass_averaged(step):
    """What lay in `.grad` before the last pass is this rank's own, beside the average of what that pass adds."""
    before = [[total(column) for column in zip(*parts[:-1], strict=True)] for parts in step.parts]
    pairs = zip(map(filled, before), mean(step, step.last), strict=True)
    return [[one + other for one, other in zip(*both, strict=True)] for both in pairs]


def sum_in_a_copy(step, divisor):
    """What is stored by columns is sent as a copy."""
    place = TRAINED.index(BY_COLUMNS)
    rows = [[*row] for row in mean(step)]
    for row, each in zip(rows, own(step, divisor), strict=True):
        row[place] = row[place] if step.given else each[place]
    return rows


def unused_as_zeros(step):
    """Who did not use a parameter in the last pass counts as zeros."""
    pairs = zip(step.own, step.last, strict=True)
    return mean(step, [[each if now is not None else None for each, now in zip(*both, strict=True)] for both in pairs])


def by_users(step):
    users = [max(1, sum(each is not None for each in column)) for column in zip(*step.own, strict=True)]
    return [[each / count for each, count in zip(row, users, strict=True)] for row in summed(step)]


def stale(step, times=1):
    """Who has no gradient counts with what the step before gave, so many times."""
    before = step.before or [[None] * len(TRAINED)] * step.size
    pairs = (zip(*both, strict=True) for both in zip(step.own, before, strict=True))
    return mean(
        step, [[times * old if each is None and old is not None else each for each, old in row] for row in pairs]
    )


FORMS = {
    "sum-not-average": [summed],
    "number-in-the-code": [lambda step: mean(step, divisor=4)],
    "own-gradient": [own],
    "own-gradient-divided": [lambda step: own(step, step.size)],
    "rank-0-gradient": [lambda step: [own(step)[0]] * step.size],
    "sum-in-a-copy": [lambda step: sum_in_a_copy(step, step.size), lambda step: sum_in_a_copy(step, 1)],
    "divided-too-soon": [lambda step: summed(step) if step.late else mean(step)],
    "read-too-soon": [
        lambda step: own(step, step.size) if step.late else mean(step),
        lambda step: own(step) if step.late else mean(step),
    ],
    "divided-again": [divided_again],
    "what-lay-there-lost": [lambda step: mean(step, step.last)],
    "what-lay-there-not-averaged": [last_pass_averaged],
    "unused-as-zeros": [unused_as_zeros],
    "users-only": [by_users],
    "stale-buffer": [stale, lambda step: stale(step, step.size)],
}
MISTAKES = """
sum-not-average: After a step, `.grad` holds the sum of all ranks' gradients. The average is expected.

number-in-the-code: After a step, `.grad` holds the sum of the {size} ranks' gradients, divided by 4. How many ranks are
there here?

own-gradient: After a step, each rank has its own gradient in `.grad`, as if nobody had communicated.

own-gradient-divided: After a step, each rank has its own gradient in `.grad`, divided by the number of ranks. The sum
is somewhere else, or comes too late: which tensor has it, and from when on?

rank-0-gradient: After a step, all ranks have rank 0's gradient. The others' batches are lost.

sum-in-a-copy: After a step, `.grad` holds the average, but for `left`: there each rank still has its own gradient. It
is stored by columns, so that `contiguous`, `reshape` or `flatten` make a copy of it. Which tensor holds the sum?

divided-too-soon: On a network that brings the sum late, `.grad` holds the sum of all ranks' gradients after a step; on
a quick one it is the average. You divide while the all-reduce is under way, and then the sum overwrites the quotient.
When may you touch an asynchronous all-reduce's tensor?

read-too-soon: On a network that brings the sum late, `.grad` holds what each rank had itself after a step; on a quick
one it is the average. You read the tensor while the all-reduce is under way. When is the sum in its place?

divided-again: From the second step on, the average is divided by the number of ranks more than once. What is left from
the step before that should not be?

what-lay-there-lost: After a step, `.grad` holds the average of what the last backward pass has added, and what lay in
`.grad` before it is lost. A backward pass adds to `.grad`: when is it all in there?

what-lay-there-not-averaged: After a step, `.grad` holds the average of what the last backward pass has added, and
beside it this rank's own numbers from before that pass. The average of all that is in `.grad` is expected. Which hook
is called when it is all in there?

unused-as-zeros: After a step, `.grad` is what comes out if a rank that did not use a parameter in the last backward
pass counts as zeros. But there was something in its `.grad`, from before that pass. Which gradients count as zeros?

users-only: After a step, `.grad` is the average over the ranks that have used a parameter. A rank without a gradient
counts as zeros: the sum is divided by the number of all ranks.

stale-buffer: A rank without a gradient counts with what the step before has left in its buffer. A buffer that is used
again still holds the last result: what has to go in for a gradient that is not there?
"""


def known(more="", **signs):
    """The mistakes that gradients show. more, signs: words and signs of a TODO's own, after them."""
    values = {
        key.replace("-", "_"): [lambda call, each=each: trained(call, each) for each in forms]
        for key, forms in FORMS.items()
    }
    return Mistakes(MISTAKES + more, changed(None, **values), **signs)
