"""The check of `load_checkpoint`: what is loaded from a good file, and which files are refused."""

from autograde.rubric import (
    REFUSED,
    REFUSED_WRONGLY,
    CallCheck,
    Criterion,
    Mistakes,
    Same,
    Words,
    accepted,
    changed,
    first_of,
    given,
    misfit,
    nothing_there,
    of_seen,
    on_ranks,
    state_loaded,
)

from ..probes import load_checkpoint

words = Words("""
optimizer-has-old-parameters: After the call the model has new parameters, and the optimizer on {who} still has the old
ones: a step would not move the model. What does your code put in the place of the parameters, and what should it copy?
""")


def trainable(call):
    return words.on_ranks("optimizer-has-old-parameters", [r for r, seen in enumerate(call.seen) if not seen.stepped])


def next_epoch(call, more=1):
    return [call.arguments["epoch"] + more] * call.size


NEXT = Same(of_seen("value"), next_epoch, on_ranks("the number of the next epoch"), given=("epoch",))
REPEATS = Mistakes(
    """
    repeats-an-epoch: From a file with epoch {epoch} the function returns {epoch}. That epoch is finished; it would be
    trained twice.
    """,
    changed(next_epoch, repeats_an_epoch={"more": 0}),
)


def cases(rng):
    """Each kind of file, in any order, written on a GPU or not; both optimizers.

    A call has `kind` of a file, see `autograde.probes.checkpoint_calls.write_checkpoint`; `from_gpu`, whether a GPU
    wrote it; `seed`, `optimizer` and `epoch` of what it holds; `fresh`, seed of the model that is given."""

    def case(ranks, optimizer, kinds, from_gpu):
        seed, about = rng.randrange(2**30), {"optimizer": optimizer, "from_gpu": from_gpu, "epoch": rng.randint(1, 20)}
        drawn = {**about, "seed": seed}
        return ranks, *({**drawn, "kind": kind, "fresh": 2**30 + seed + n} for n, kind in enumerate(kinds))

    misfits = ["missing", "unexpected", "half", f"without-{rng.choice(['optimizer', 'epoch'])}"]
    others = ["renamed", "without-model", "without-optimizer", "without-epoch"]
    cases = [case([2, 0, 3], "momentum", ["none", "good", *rng.sample(misfits, len(misfits))], True)]
    cases += [case([3, 1], "adam", ["good", *rng.sample(others, len(others)), "none"], False)]
    again = rng.sample(misfits + others, 3)
    kind = rng.choice(["momentum", "adam"])
    return [*cases, case([1, 2, 0], kind, ["good", *again, "none"], rng.random() < 0.5)]


CHECK = CallCheck.of(
    "load_checkpoint",
    load_checkpoint.PROBE,
    cases,
    Criterion(
        "state",
        1,
        "on every rank, the model inside the wrapper and the optimizer are as in the file, and go on together",
        first_of(accepted, state_loaded, trainable),
        on=given(kind="good"),
    ),
    Criterion(
        "next",
        0.5,
        "the epoch after that of the file is returned",
        first_of(accepted, NEXT),
        REPEATS,
        on=given(kind="good"),
    ),
    Criterion(
        "no-file",
        0.5,
        "if there is no file `path`, nothing changes, and 0 is returned",
        nothing_there(0),
        on=given(kind="none"),
    ),
    Criterion(
        "misfit",
        1,
        "a file that is damaged, lacks one of the three entries, or whose weights do not have exactly this model's "
        "names, is an error on every rank: any exception whose message contains the file's name",
        first_of(REFUSED, misfit),
        REFUSED_WRONGLY,
        on=lambda arguments: arguments["kind"] not in ("good", "none"),
        after=("state",),
    ),
    repeats=False,
    consolidation="A training that finds out by itself where it stands is started again by the same command. An error "
    "that names the file is better than a training that quietly begins anew.",
)
