"""The check of `load_checkpoint`: what is where after a call, and which files are refused."""

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
    errors_of,
    first_of,
    given,
    misfit,
    nothing_there,
    of_call,
    of_seen,
    on_ranks,
    short,
    state_loaded,
)

from ..probes import load_checkpoint
from .drawn import after, some_draws_later

ENTRIES = ("model", "optimizer", "epoch", "consumed", "random")
words = Words("""
fewer-ranks-refused: {size:rank} cannot load the file of {writers}: {error} What should a rank do whose number the file
does not have?

gpus-file-refused: A file of ranks with GPUs has the states of these, too, and the function cannot load it on the CPU:
{error} Which states have a generator to go to?

not-the-files-place: From a file with epoch {epoch} and consumed {consumed} the function returns {value}.

numbers-changed-without-a-file: There is no file, and yet the call changes the random numbers of {who}.

newcomers-get-others: The file has no random numbers for {who}, and yet there are others now than before the call. A
rank keeps its own then.

wrong-random: After the call, the random numbers of {who} are not those that the file has under the rank's number.
""")


def numbers_stay(call):
    pairs = zip(call.of("drawn"), call.arguments["own"], strict=False)
    moved = [rank for rank, (actual, luck) in enumerate(pairs) if actual != after(luck)]
    return words.on_ranks("numbers-changed-without-a-file", moved)


def others_accepted(call):
    """A file of other devices, or of fewer ranks, is no error."""
    about, errors = call.arguments, errors_of(call)
    if errors and about["gpus"]:
        return words("gpus-file-refused", error=short(errors[0]))
    writers = len(about["saved"])
    if errors and writers < call.size and not any(call.of("error")[:writers]):
        return words("fewer-ranks-refused", error=short(errors[0]), writers=writers, size=call.size)
    return None


def place_returned(call):
    epoch, consumed = call.arguments["place"]
    others = [value for value in call.of("value") if value != [epoch, consumed]]
    return words("not-the-files-place", epoch=epoch, consumed=consumed, value=short(others[0])) if others else None


def numbers(call, states=None):
    """By rank, the random number that comes next. states: of the file's ranks, if not its own."""
    states = (states or call.arguments["saved"])[: call.size]
    return [*map(after, [*states, *call.arguments["own"][len(states) : call.size]])]


def wrong_random(call, off):
    known, pairs = len(call.arguments["saved"]), zip(call.of("drawn"), numbers(call), strict=True)
    wrong = [rank for rank, (actual, expected) in enumerate(pairs) if actual != expected]
    in_file = [rank for rank in wrong if rank < known]
    return words.on_ranks("wrong-random", in_file) or words.on_ranks("newcomers-get-others", wrong)


def moved_on(call):
    return some_draws_later(call.of("drawn"), call.arguments["saved"])


RANDOM = Same(of_seen("drawn"), numbers, on_ranks("the random number that comes next"), otherwise=wrong_random)
RANDOM_WRONGLY = Mistakes(
    """
    random-not-restored: After the call, every rank has the random numbers that it had before. Dropout would not go on
    where it was.

    rank-0s-random: After the call, every rank has the random numbers of rank 0. They would all drop the same units.

    random-moved-on: After the call, the random numbers are some draws later than in the file. What draws after you have
    put them back?
    """,
    changed(
        numbers,
        random_not_restored={"states": of_call("own")},
        rank_0s_random=[
            {"states": lambda call: [call.arguments["saved"][0]] * len(call.arguments["saved"])},
            {"states": lambda call: [call.arguments["saved"][0]] * call.size},
        ],
    ),
    random_moved_on=moved_on,
)


def cases(rng):
    """Each kind of file, in any order; files of as many, fewer and more ranks; both optimizers.

    A call has `kind` of a file, see `autograde.probes.checkpoint_calls.write_checkpoint`; `gpus`, whether it has states
    of GPUs, too; `from_gpu`, whether its weights were on one; `plain`, whether it is from as many ranks without GPUs.
    `seed`, `optimizer` and `place` are those of what it holds; `fresh` is the seed of the model that is to load it.
    `saved`, `own`: random numbers of the file's ranks, and of these ranks before the call; see `generator_after`."""

    def case(ranks, optimizer, *files):
        size, seed, place = len(ranks), rng.randrange(2**30), [rng.randint(1, 20), rng.randint(30, 300)]
        saved, own = ([[rng.randrange(2**31), drawn] for drawn in rng.sample(range(1, 30), 5)] for _ in "ab")
        about, calls = {"optimizer": optimizer, "seed": seed, "place": place, "own": own}, []
        for number, (kind, by, gpus, *tagged) in enumerate([*files, ("good", size, False, True)]):
            calm = by == size and not gpus and not tagged
            file = {"kind": kind, "gpus": gpus, "from_gpu": bool(tagged), "plain": calm, "saved": saved[:by]}
            calls.append({**about, **file, "fresh": 2**30 + seed + number})
        return {"ranks": ranks, "calls": calls}

    def some(kinds):
        return [(kind, 3, False) for kind in rng.sample(kinds, len(kinds))]

    misfits = ["missing", "unexpected", "half", "without-random"]
    others = ["renamed", *(f"without-{name}" for name in ENTRIES if name != "random")]
    good = [("good", by, gpus) for by, gpus in ((3, False), (2, False), (3, True))]
    cases = [case([2, 0, 3], "momentum", ("none", 3, False), *good, *some(misfits))]
    good = [("good", by, False) for by in (2, 5)]
    cases += [case([3, 1], "adam", *good, *some(others), ("none", 2, False))]
    good = [("good", by, gpus) for by, gpus in ((4, False), (5, True), (1, False))]
    kind = rng.choice(["momentum", "adam"])
    return [*cases, case([1, 2, 0, 3], kind, *good, *some(rng.sample(misfits + others, 3)), ("none", 1, False))]


PLAIN = given("plain", kind="good")
STATE = "afterwards the model inside the wrapper and the optimizer are as in the file"
NUMBERS = "this rank's random numbers are what they were for the rank of this number"
OTHERS = (
    "the file may come from more ranks or fewer, and from ranks with other devices; a rank whose number it does not "
    "have keeps its random numbers"
)
NO_FILE = "if there is no file `path`, nothing changes, and (0, 0) is returned"
MISFIT = (
    "a file that cannot be read, lacks one of the five entries, or whose weights do not have exactly this model's "
    "names, is an error on every rank: any exception whose message contains the file's name"
)

CHECK = CallCheck.of(
    "load_checkpoint",
    load_checkpoint.PROBE,
    cases,
    Criterion("state", 1, STATE, first_of(accepted, state_loaded, place_returned), on=PLAIN),
    Criterion("random", 0.75, NUMBERS, first_of(accepted, RANDOM), RANDOM_WRONGLY, on=PLAIN),
    Criterion(
        "others",
        0.5,
        OTHERS,
        first_of(others_accepted, accepted, state_loaded, place_returned, RANDOM),
        RANDOM_WRONGLY,
        on=given(kind="good", plain=False),
        after=("state", "random"),
    ),
    Criterion("no-file", 0.25, NO_FILE, first_of(nothing_there([0, 0]), numbers_stay), on=given(kind="none")),
    Criterion(
        "misfit",
        0.5,
        MISFIT,
        first_of(REFUSED, misfit),
        REFUSED_WRONGLY,
        on=lambda arguments: arguments["kind"] not in ("good", "none"),
    ),
    repeats=False,
    consolidation="All that a training depends on goes back by rank number, whoever has the number now, and the random "
    "numbers last. A file that does not fit is an error that names it: never a quiet new beginning.",
)
