"""The check of `batch_run`: what it passes to `train`, what it returns, and a run that is on record.

However many ranks there are, they are to share one batch of 64 images, and to make one step with it. Then the losses
are the same on any number of ranks, up to rounding, and a run on a cluster can be repeated anywhere.
"""

from autograde.fixtures.numbered_net import NumberedNet, state_of
from autograde.rubric import (
    CallCheck,
    Criterion,
    Mistakes,
    RecordCriterion,
    Rounding,
    Same,
    Words,
    changed,
    first_of,
    on_ranks,
)
from course.models.digits import BATCH

from ..probes import batch_run

LR = 0.06  # of one process
words = Words("""
train-not-called: On {who} your function calls `train` {times:time}; expected is one call.

model-to-train: The model that rank 0 passes to `train` is not `digit_model(0)`.

another-batch-size: On {size:rank}, rank {rank} passes the batch size {actual} to `train`. All together should take 64
images in a step, or as near below 64 as equal shares of whole images allow.

another-rate: On {size:rank}, rank {rank} passes the learning rate {actual:.6g} to `train`, so that the effective one is
{effective:.6g}. Which number makes it 0.06?

other-history: On {who} your function does not return the history that `train` returned.
""")


def local_size(call):
    return call.arguments["local_size"]


def batch_size(call, batch=BATCH, ranks=None):
    return [batch // (ranks or call.size)] * call.size


def rate(call, lr=LR, ranks=None):
    return [lr / (ranks or call.size)] * call.size


def passed(name, expected):
    """By rank, one argument of `train`; where it is not called, which is judged by itself, what is expected."""

    def values(call):
        own = zip(call.of("calls"), expected(call), strict=True)
        return [getattr(calls[0], name) if calls else due for calls, due in own]

    return values


def called(call):
    odd = [rank for rank, calls in enumerate(call.of("calls")) if len(calls) != 1]
    return words.on_ranks("train-not-called", odd, times=len(call.seen[odd[0]].calls) if odd else 1)


def not_called(call):
    """Where no rank calls `train` there is nothing to judge."""
    return None if any(call.of("calls")) else called(call)


def other_batch(call, off):
    kind = " (a float)" if off.actual.is_float else ""
    return words("another-batch-size", size=call.size, rank=off.place[0], actual=f"{off.actual_text}{kind}")


def other_rate(call, off):
    rank = off.actual.value if off.what == "value" else None
    if rank is None:
        return None
    return words("another-rate", size=call.size, rank=off.place[0], actual=rank, effective=rank * call.size)


def others(call):
    about = call.arguments
    sets = [about["samples"], about["tests"]]
    return {"sets": sets, "epochs": len(about["losses"]), "seed": 0, "checkpoint": about["checkpoint"]}


def passed_on(call):
    return [
        {name: getattr(calls[0], name) for name in others(call)} if calls else others(call)
        for calls in call.of("calls")
    ]


def of_argument(call, place):
    rank, name, *_ = [*place, "what"]
    what = {"sets": "number of samples in a set"}.get(name, name)
    return f"On rank {rank}, the {what} that you pass to `train`"


def rank_0s_model(call):
    [first, *_] = call.seen[0].calls or [None]
    right = first is None or first.state == state_of(NumberedNet(call.arguments["model"]))
    return None if right else words("model-to-train")


def history(call):
    other = [rank for rank, losses in enumerate(call.of("losses")) if losses != call.arguments["losses"]]
    return words.on_ranks("other-history", other)


BATCH_SIZE = Same(passed("batch_size", batch_size), batch_size, on_ranks("the batch size"), otherwise=other_batch)
RATE = Same(passed("lr", rate), rate, on_ranks("the learning rate"), Rounding(1e-9), otherwise=other_rate)
BATCHES = Mistakes(
    """
    batch-per-rank: On {size:rank}, each rank takes {actual} images in a step. All together are to take 64.

    batch-by-local-size: On {size:rank}, on nodes of {local_size} each, a rank takes {actual} images in a step, as if
    its node were alone. How many ranks take part in all?
    """,
    changed(
        batch_size,
        batch_per_rank={"ranks": 1},
        batch_by_local_size={"ranks": local_size},
    ),
)
RATES = Mistakes(
    """
    lr-scaled-up: On {size:rank} your function passes the learning rate {actual} to `train`: 0.06 times the number of
    ranks, and `make_optimizer` multiplies by that once more.

    lr-per-rank: On {size:rank} your function passes the learning rate {actual} to `train`. What does `make_optimizer`
    do with it?

    lr-by-local-size: On {size:rank}, on nodes of {local_size} each, your function passes the learning rate {actual} to
    `train`, as if each node were alone. How many ranks take part in all?
    """,
    changed(
        rate,
        lr_scaled_up={"ranks": lambda call: 1 / call.size},
        lr_per_rank={"ranks": 1},
        lr_by_local_size={"ranks": local_size},
    ),
)


def case(rng, size):
    samples, tests = rng.sample(range(20, 40), 2)
    call = {"samples": samples, "tests": tests, "model": rng.randrange(2**31), "data": rng.randrange(2**31)}
    call |= {"losses": [rng.uniform(0, 2) for _ in range(rng.randint(2, 5))], "local_size": min(2, size)}
    return size, {**call, "checkpoint": f"digits-{rng.randrange(10**6)}.pt"}


def cases(rng):
    """Numbers of ranks that divide 64, and one that does not."""
    return [case(rng, size) for size in (4, 3, 2, 1)]


def again(run, most):
    """The first epochs. Ranks that share 64 images may be any that do; others, as many as there were."""
    size = run["ranks"] if run["ranks"] <= most else most
    if size != run["ranks"] and BATCH % run["ranks"]:
        return None
    return {"again": True, "size": size, "epochs": min(len(run["epochs"]), 3), "deadline": 60}


CHECK = CallCheck.of(
    "batch_run",
    batch_run.PROBE,
    cases,
    Criterion(
        "batch",
        1,
        "on N ranks, each takes equally many images in a step, as many as it can so that all together take 64 or fewer",
        first_of(not_called, BATCH_SIZE),
        BATCHES,
    ),
    Criterion(
        "rate",
        1,
        "the effective learning rate is 0.06",
        first_of(not_called, RATE),
        RATES,
    ),
    Criterion(
        "train",
        0.75,
        "each rank calls `train` once, rank 0 with `digit_model(0)`, and with all else as it came; the seed is 0",
        first_of(
            called,
            rank_0s_model,
            Same(passed_on, lambda call: [others(call)] * call.size, of_argument),
        ),
    ),
    Criterion("history", 0.25, "each rank returns the history that `train` returns", history, after=("train",)),
    RecordCriterion(
        points=1,
        ranks=2,
        says="`run.json`, the record of a batch job on 2 ranks or more, is handed in with the notebook; where there is "
        "no Slurm, it is not asked for",
    ),
    again=again,
    consolidation="With the global batch and the effective learning rate fixed, the number of ranks changes how long a "
    "training takes, and not where it goes. So a run on eight ranks can be verified on one.",
)
