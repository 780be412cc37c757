"""The check of `load_checkpoint`."""

from __future__ import annotations

import random
from dataclasses import replace

from autograde.contract.evidence import encoded
from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_files import state_of
from autograde.rubric.breaks import first_finding, of_finding
from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Gives, Mistakes, MistakesGiving, first_of
from autograde.rubric.words import Ranks, Words, Wrong
from autograde.verdicts.checkpoints import same, short
from autograde.verdicts.loading import finding as of_loading
from autograde.verdicts.loading import misfit_mistakes, no_file_mistakes, refused, state_mistakes

from ..probes import load_checkpoint
from .drawn import after, later

ENTRIES = ("model", "optimizer", "epoch", "consumed", "random")
words = Words("""
fewer-ranks-refused: {size:rank} cannot load the file of {writers}: {error} What should a rank do whose number the file
does not have?

gpus-file-refused: A file of ranks with GPUs has the states of these, too, and the function cannot load it on the CPU:
{error} Which states have a generator to go to?

not-the-files-place: From a file with epoch {epoch} and consumed {consumed} the function returns {value}.

newcomers-get-others: The file has no random numbers for {who}, and yet there are others now than before the call. A
rank keeps its own then.

wrong-random: After the call, the random numbers of {who} are not those that the file has under the rank's number.
""")


def calls_of(call: Call) -> list[dict]:
    """What each rank showed, as plain data."""
    return [encoded(each) for each in call.seen]


def nothing_there(call: Call) -> Wrong | None:
    """Without a file nothing changes, and training begins at (0, 0)."""
    about = call.arguments
    before = state_of(*after_steps(about["fresh"], about["optimizer"], steps=0))
    if wrong := first_finding(no_file_mistakes(calls_of(call), before, [0, 0])):
        return wrong
    if any(seen.drawn != after(luck) for seen, luck in zip(call.seen, about["own"], strict=False)):
        return of_finding(of_loading("changed-without-a-file", what="the random numbers"))
    return None


def accepted(call: Call) -> Wrong | None:
    """A good file is no error."""
    calls, about = calls_of(call), call.arguments
    errors = [short(each["error"]) for each in calls if each["error"] is not None]
    if not errors:
        return None
    writers = len(about["saved"])
    if about["gpus"]:
        return words("gpus-file-refused", error=errors[0])
    if about["from_gpu"]:
        return of_finding(of_loading("no-map-location", error=errors[0]))
    if writers < call.size and not any(each["error"] for each in calls[:writers]):
        return words("fewer-ranks-refused", error=errors[0], writers=writers, size=call.size)
    return first_finding(refused(calls))


def state(call: Call) -> Wrong | None:
    """Model and optimizer are those of the file, and its place is returned."""
    about = call.arguments
    if wrong := first_finding(
        state_mistakes(calls_of(call), state_of(*after_steps(about["seed"], about["optimizer"])))
    ):
        return wrong
    for seen in call.seen:
        if not same(seen.value, [*about["place"]]):
            epoch, consumed = about["place"]
            return words("not-the-files-place", epoch=epoch, consumed=consumed, value=short(seen.value))
    return None


class Random:
    """Judge of the numbers that come next on each rank that the file knows."""

    def __call__(self, call: Call) -> Wrong | None:
        """Those of the file, by rank."""
        wrong = [rank for rank, (seen, luck) in enumerate(known(call)) if seen.drawn != after(luck)]
        return words("wrong-random", compared=True, who=Ranks(wrong)) if wrong else None

    def gives(self, call: Call, value: list[float]) -> bool:
        """Whether these numbers come next."""
        return [seen.drawn for seen, _ in known(call)] == value


def known(call: Call) -> list[tuple[load_checkpoint.Seen, list[int]]]:
    """The ranks that the file has random numbers for, and the luck of these."""
    return [*zip(call.seen, call.arguments["saved"], strict=False)]


def newcomers(call: Call) -> Wrong | None:
    """A rank that the file does not have keeps its own."""
    pairs = [*enumerate(zip(call.seen, call.arguments["own"], strict=False))][len(call.arguments["saved"]) :]
    others = [rank for rank, (seen, luck) in pairs if seen.drawn != after(luck)]
    return words("newcomers-get-others", who=Ranks(others)) if others else None


def given_by_mistake(call: Call) -> dict[str, list[float]]:
    """The numbers of known mistakes."""
    saved, own, count = call.arguments["saved"], call.arguments["own"], len(known(call))
    values = {"random-not-restored": [*map(after, own[:count])], "rank-0s-random": [after(saved[0])] * count}
    if all(seen.drawn in later(luck) for seen, luck in known(call)):
        values["random-moved-on"] = [seen.drawn for seen, _ in known(call)]
    return values


MISTAKES = MistakesGiving(
    """
    random-not-restored: After the call, every rank has the random numbers that it had before. Dropout would not go on
    where it was.

    rank-0s-random: After the call, every rank has the random numbers of rank 0. They would all drop the same units.

    random-moved-on: After the call, the random numbers are some draws later than in the file. What draws after you have
    put them back?
    """,
    given_by_mistake,
)
RANDOM = Random()


def misfit(call: Call) -> Wrong | None:
    """A file that does not fit is an error on every rank, which names it."""
    wrong = first_finding(misfit_mistakes(call.arguments["kind"], "0.pt", calls_of(call)))
    return wrong and replace(wrong, compared=True)


misfit.gives = lambda call, refused: refused is any(seen.error is not None for seen in call.seen)
ANY_FILE = Mistakes(
    """
    broken-file-ignored: The function accepts any file, half a one, too, and returns {value}. Training would start from
    the beginning and overwrite the file.
    """,
    broken_file_ignored=lambda call: Gives(False, value=short(call.seen[0].value)),
)


def plain(arguments: dict) -> bool:
    """Whether the file is good, and comes from as many ranks without GPUs."""
    return arguments["kind"] == "good" and arguments["plain"]


class LoadCheckpoint(CallCheck):
    """The file's state on all ranks, its place, and each rank's random numbers; an error for what does not fit.

    A call has `kind` of a file, see `autograde.probes.checkpoint_calls.write_checkpoint`; `gpus`, whether it has states
    of GPUs, too; `from_gpu`, whether its weights were on one; `plain`, whether it is from as many ranks without GPUs.
    `seed`, `optimizer` and `place` are those of what it holds; `fresh` is the seed of the model that is to load it.
    `saved`, `own`: random numbers of the file's ranks, and of these ranks before the call; see `generator_after`.
    """

    todo, probe, repeats = "load_checkpoint", load_checkpoint.PROBE, False
    consolidation = (
        "All that a training depends on goes back by rank number, whoever has the number now, and the random numbers "
        "last. A file that does not fit is an error that names it: never a quiet new beginning."
    )
    criteria = (
        Criterion(
            "state",
            1,
            "afterwards the model inside the wrapper and the optimizer are as in the file",
            first_of(accepted, state),
            on=plain,
        ),
        Criterion(
            "random",
            0.75,
            "this rank's random numbers are what they were for the rank of this number",
            first_of(accepted, RANDOM),
            MISTAKES,
            on=plain,
        ),
        Criterion(
            "others",
            0.5,
            "the file may come from more ranks or fewer, and from ranks with other devices; a rank whose number "
            "it does not have keeps its random numbers",
            first_of(accepted, state, RANDOM, newcomers),
            MISTAKES,
            on=lambda arguments: arguments["kind"] == "good" and not arguments["plain"],
            after=("state", "random"),
        ),
        Criterion(
            "no-file",
            0.25,
            "if there is no file `path`, nothing changes, and (0, 0) is returned",
            nothing_there,
            on=lambda arguments: arguments["kind"] == "none",
        ),
        Criterion(
            "misfit",
            0.5,
            "a file that cannot be read, lacks one of the five entries, or whose weights do not have exactly "
            "this model's names, is an error on every rank: any exception whose message contains the file's "
            "name",
            misfit,
            ANY_FILE,
            on=lambda arguments: arguments["kind"] not in ("good", "none"),
        ),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Each kind of file, in any order; files of as many, fewer and more ranks; both optimizers."""

        def case(ranks: list[int], optimizer: str, *files: tuple) -> dict:
            size, seed, place = len(ranks), rng.randrange(2**30), [rng.randint(1, 20), rng.randint(30, 300)]
            saved, own = ([[rng.randrange(2**31), drawn] for drawn in rng.sample(range(1, 30), 5)] for _ in "ab")
            about, calls = {"optimizer": optimizer, "seed": seed, "place": place, "own": own}, []
            for number, (kind, by, gpus, *tagged) in enumerate([*files, ("good", size, False, True)]):
                calm = by == size and not gpus and not tagged
                file = {"kind": kind, "gpus": gpus, "from_gpu": bool(tagged), "plain": calm, "saved": saved[:by]}
                calls.append({**about, **file, "fresh": 2**30 + seed + number})
            return {"ranks": ranks, "calls": calls}

        def some(kinds: list[str]) -> list[tuple]:
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


CHECK = LoadCheckpoint()
