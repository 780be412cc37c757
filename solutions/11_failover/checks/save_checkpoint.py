"""The check of `save_checkpoint`."""

from __future__ import annotations

import random
from collections.abc import Callable

from autograde.contract.calls import with_article
from autograde.contract.evidence import encoded
from autograde.contract.verdict import Finding, settle
from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_files import state_of
from autograde.rubric.breaks import first_finding, of_finding
from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, MistakesGiving, first_of
from autograde.rubric.run import Run
from autograde.rubric.words import Ranks, Words, Wrong
from autograde.verdicts.checkpoints import short
from autograde.verdicts.saving import saving_mistakes, unfinished_saving

from ..probes import save_checkpoint
from .drawn import after, later

WRITERS = ("every-rank-writes", "local-rank-0-writes", "wrong-rank-writes")
WHOLE = ("not-atomic", "file-gone-for-a-while", "left-behind", "leftovers-pile-up")
EARLY = ("returns-too-early",)
words = Words("""
gather-on-rank-0: A deadlock: rank 0 waits in a gather that {who} never called. A rank's random numbers are with that
rank. Who has to send?

consumed-missing: The file has no entry "consumed", so a resumed training cannot know where in the epoch to go on.

wrong-consumed: The entry "consumed" is {actual}; the call was told {expected}.

draws-numbers: After the call, another random number comes on {who} than would have come without it. A training that
saves more often would take another path.

random-missing: The file has no list "random". Dropout would drop other units after a resume, and the training take
another path.

ranks-missing: The list "random" has {n:entry} for {size:rank}. Each rank draws numbers of its own.

not-a-state: Entry {rank} of "random" should be a list that holds the state of a generator, a ByteTensor on the CPU. It
holds {what}.

other-random: Entry {rank} of "random" is not the state that rank {rank} had at the call.
""")


def findings(call: Call) -> list[Finding]:
    """What is wrong with the files of a call, but for its random numbers and `consumed`."""
    found, about = [], call.arguments
    for number, place in enumerate(about["places"]):
        calls = [encoded(each.calls[number]) for each in call.seen]
        expected = state_of(*after_steps(about["seed"] + number, about["optimizer"]))
        found.append([*saving_mistakes(number, calls, about["local"], {**expected, "epoch": place[0]})])
    return settle(found)


def among(keys: tuple[str, ...]) -> Callable[[Call], Wrong | None]:
    """Judge of findings of these keys."""

    def judge(call: Call) -> Wrong | None:
        return next((of_finding(each) for each in findings(call) if each.key in keys), None)

    return judge


def content(call: Call) -> Wrong | None:
    """Model, optimizer and place in the file."""
    others = (*WRITERS, *WHOLE, *EARLY)
    if found := [each for each in findings(call) if each.key not in others]:
        return of_finding(found[0])
    for saved, (_, expected) in zip(call.seen[0].calls, call.arguments["places"], strict=True):
        actual = saved.content.content.get("consumed")
        if actual is None:
            return words("consumed-missing")
        if type(actual) is not int or actual != expected:
            return words("wrong-consumed", actual=short(actual), expected=expected)
    return None


class Random:
    """Judge of the entry "random"."""

    def __call__(self, call: Call) -> Wrong | None:
        """Of the first file whose random numbers are others than those of the ranks; if there is any."""
        expected, size = [after(luck) for luck in call.arguments["luck"]], call.size
        for saved in call.seen[0].calls:
            if saved.content is None or not isinstance(saved.content.content, dict):
                continue
            states = saved.content.random
            if not states:
                return words("random-missing")
            if len(states) != size:
                return words("ranks-missing", n=len(states), size=size)
            for rank, own in enumerate(states):
                if not own or own[0].kind != "torch.ByteTensor" or own[0].next is None:
                    what = "no list" if own is None else with_article(own[0].kind) if own else "nothing"
                    return words("not-a-state", rank=rank, what=what)
            if wrong := [rank for rank, own in enumerate(states) if own[0].next != expected[rank]]:
                return words("other-random", compared=True, rank=wrong[0])
        return None

    def gives(self, call: Call, value: list[float]) -> bool:
        """Whether these numbers come next from all states in each file."""
        return numbers(call) == [value] * len(call.seen[0].calls)


def numbers(call: Call) -> list[list[float | None]]:
    """By file and rank, the number that comes next from the state that is saved."""
    states = [saved.content.random or [] if saved.content else [] for saved in call.seen[0].calls]
    return [[own[0].next if own else None for own in each] for each in states]


def given_by_mistake(call: Call) -> dict[str, list[float]]:
    """The numbers of known mistakes, by rank."""
    luck, actual = call.arguments["luck"], numbers(call)[0]
    expected = [after(each) for each in luck]
    values = {"rank-0-for-all": [expected[0]] * call.size, "seed-not-state": [after([seed, 0]) for seed, _ in luck]}
    if actual != expected and sorted(actual, key=str) == sorted(expected, key=str):
        values["out-of-order"] = actual
    if len(actual) == call.size and all(value in later(each) for value, each in zip(actual, luck, strict=True)):
        values["one-draw-too-late"] = actual
    return values


MISTAKES = MistakesGiving(
    """
    rank-0-for-all: All entries of "random" are rank 0's. The ranks have drawn different numbers, and would draw the
    same from then on.

    seed-not-state: The entries of "random" are generators as they were seeded, not as they are now: numbers that have
    been drawn would come once more.

    out-of-order: The entries of "random" are the ranks' states, in another order. Entry r belongs to rank r.

    one-draw-too-late: The entries of "random" are states some numbers later than at the call. What has drawn in
    between?
    """,
    given_by_mistake,
)


def generators_stay(call: Call) -> Wrong | None:
    """The call draws no random numbers."""
    expected = [after(luck) for luck in call.arguments["luck"]]
    moved = [rank for rank, seen in enumerate(call.seen) if any(each.drawn != expected[rank] for each in seen.calls)]
    return words("draws-numbers", who=Ranks(moved)) if moved else None


class SaveCheckpoint(CallCheck):
    """Rank 0 writes; nothing but a whole file is ever in its place; it has every rank's random numbers."""

    todo, probe, repeats = "save_checkpoint", save_checkpoint.PROBE, False
    consolidation = (
        "What belongs to a rank is kept under its number, in the one file that all see: ranks come and go. Leave a "
        "piece of state out, and it is another training, and no error tells you."
    )
    criteria = (
        Criterion(
            "content",
            1,
            "the file holds a dictionary with these entries, which torch.load with weights_only=True can read",
            content,
        ),
        Criterion(
            "random",
            1.25,
            '"random" has an entry for each rank, in order: the states of its generators, as they were at the call',
            Random(),
            MISTAKES,
        ),
        Criterion("writer", 0.5, "rank 0 of the default process group writes, and no other rank", among(WRITERS)),
        Criterion(
            "whole",
            0.75,
            "at any moment there is at `path` the old file or the new one, whole; after the call no file of "
            "another name is left",
            among(WHOLE),
        ),
        Criterion(
            "returns",
            0.5,
            "all ranks return after the new file is there, and the generators stay as they are",
            first_of(among(EARLY), generators_stay),
            after=("random",),
        ),
    )

    def broke_off(self, run: Run) -> Wrong | None:
        """Rank 0 makes other calls than the rest, or the file was to be moved too far."""
        if run.full:
            return None
        last = [log[-1]["op"] if log else "" for log in run.events]
        others = [rank for rank, op in enumerate(last) if "gather" in last[0] and "gather" not in op]
        if others and run.state == "hang":
            return words("gather-on-rank-0", run.report, who=Ranks(others))
        return first_finding(unfinished_saving(run))

    def fits(self, case: dict, arguments: dict, seen: save_checkpoint.Seen) -> bool:
        """A call for each place, and a file on rank 0."""
        return len(seen.calls) == len(arguments["places"])

    def cases(self, rng: random.Random) -> list[dict]:
        """Two nodes, with an old file; one node, without; both optimizers; random numbers that differ by rank."""

        def case(ranks: list[int], local: list[int], old: bool, optimizer: str) -> dict:
            first, seed, size = rng.randint(2, 20), rng.randrange(2**31), len(ranks)
            about = {"local": local, "optimizer": optimizer, "seed": seed, "old": old}
            about["places"] = [[first, rng.randint(20, 90)], [first + 1, rng.randint(100, 200)]]
            about["luck"] = [[rng.randrange(2**31), drawn] for drawn in rng.sample(range(1, 40), size)]
            return {"ranks": ranks, "calls": [about]}

        cases = [case([1, 3, 0, 2], [0, 1, 0, 1], True, "momentum"), case([2, 0, 3], [0, 1, 2], False, "adam")]
        return [*cases, case([3, 2], [0, 1], True, "adam")]


CHECK = SaveCheckpoint()
