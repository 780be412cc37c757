"""The check of `save_checkpoint`: who writes, what is in the folder meanwhile, and what is in the file."""

from autograde.rubric import (
    WRITERS,
    CallCheck,
    Criterion,
    Mistakes,
    Same,
    Words,
    always_whole,
    changed,
    first_of,
    folder_clean,
    returns_after,
    right_content,
    right_writer,
    saving_broke_off,
)

from ..probes import save_checkpoint
from .drawn import after, some_draws_later

words = Words("""
consumed-missing: The file has no entry "consumed", so a resumed training cannot know where in the epoch to go on.

wrong-consumed: The entry "consumed" is {actual}; the call was given {expected}.

draws-numbers: After the call, another random number comes on {who} than would have come without it. A training that
saves more often would take another path.

random-missing: The file has no list "random". Dropout would drop other units after a resume, and the training take
another path.

not-a-state: Entry {rank} of "random" should be a list that holds the state of a generator, a ByteTensor on the CPU. It
holds {what}.

other-random: Entry {rank} of "random" is not the state that rank {rank} had at the call.
""")


def wrong_place(call, off):
    if off.actual is None:
        return words("consumed-missing")
    return words("wrong-consumed", actual=off.actual_text, expected=off.expected)


CONSUMED = Same(
    lambda call: [saved.content.content.get("consumed") for saved in call.seen[0].calls],
    lambda call: [consumed for _, consumed in call.arguments["places"]],
    lambda call, place: 'the entry "consumed"',
    otherwise=wrong_place,
)


def randoms(call):
    """Of each file that holds a dictionary, by rank what comes next from the first state."""
    files = [saved.content for saved in call.seen[0].calls]
    lists = [file.random for file in files if file is not None and isinstance(file.content, dict)]
    return [[own[0] if own else "no list" if own is None else "nothing" for own in each or []] for each in lists]


def expected(call, drawn=after):
    """The same of the ranks' luck. drawn: what comes next from a rank's."""
    return [[*map(drawn, call.arguments["luck"])] for _ in randoms(call)]


def other_random(call, off):
    if len(off.place) == 2:
        about = {"rank": off.place[1], "what": off.actual}
        return words("other-random" if off.what == "value" else "not-a-state", **about)
    return None if off.actual else words("random-missing")


def out_of_order(call):
    seen, due = ([sorted(map(str, each)) for each in files] for files in (randoms(call), expected(call)))
    return seen == due


def too_late(call):
    lucks = call.arguments["luck"]
    return all(len(each) == len(lucks) and some_draws_later(each, lucks) for each in randoms(call))


RANDOM = Same(randoms, expected, lambda call, place: 'In the file, "random"', otherwise=other_random)
RANDOM_WRONGLY = Mistakes(
    """
    rank-0-for-all: All entries of "random" are rank 0's. The ranks have drawn different numbers, and would draw the
    same from then on.

    seed-not-state: The entries of "random" are generators as they were seeded, not as they are now: numbers that have
    been drawn would come once more.

    out-of-order: The entries of "random" are the ranks' states, in another order. Entry r belongs to rank r.

    one-draw-too-late: The entries of "random" are states some numbers later than at the call. What has drawn in
    between?
    """,
    changed(
        expected,
        rank_0_for_all={"drawn": lambda call: lambda _: after(call.arguments["luck"][0])},
        seed_not_state={"drawn": lambda _: lambda luck: after([luck[0], 0])},
    ),
    out_of_order=out_of_order,
    one_draw_too_late=too_late,
)


def generators_stay(call):
    """The call draws no random numbers."""
    pairs = zip(call.seen, map(after, call.arguments["luck"]), strict=True)
    moved = [rank for rank, (seen, due) in enumerate(pairs) if any(each.drawn != due for each in seen.calls)]
    return words.on_ranks("draws-numbers", moved)


def cases(rng):
    """Two nodes, with an old file; one node, without; both optimizers; random numbers that differ by rank."""

    def case(ranks, local, old, optimizer):
        first, seed, size = rng.randint(2, 20), rng.randrange(2**31), len(ranks)
        about = {"local": local, "optimizer": optimizer, "seed": seed, "old": old}
        about["places"] = [[first, rng.randint(20, 90)], [first + 1, rng.randint(100, 200)]]
        about["luck"] = [[rng.randrange(2**31), drawn] for drawn in rng.sample(range(1, 40), size)]
        return {"ranks": ranks, "calls": [about]}

    cases = [case([1, 3, 0, 2], [0, 1, 0, 1], True, "momentum"), case([2, 0, 3], [0, 1, 2], False, "adam")]
    return [*cases, case([3, 2], [0, 1], True, "adam")]


CONTENT = "the file holds a dictionary with these entries, which torch.load with weights_only=True can read"
STATES = '"random" has an entry for each rank, in order: the states of its generators, as they were at the call'
WRITER = "rank 0 of the default process group writes, and no other rank"
AT_ANY_MOMENT = (
    "at any moment there is at `path` the old file or the new one, whole; after the call no file of another name is "
    "left"
)
RETURNS = "all ranks return after the new file is there, and the generators stay as they are"

CHECK = CallCheck.of(
    "save_checkpoint",
    save_checkpoint.PROBE,
    cases,
    Criterion("content", 1, CONTENT, first_of(right_content, CONSUMED)),
    Criterion("random", 1.25, STATES, RANDOM, RANDOM_WRONGLY),
    Criterion("writer", 0.5, WRITER, right_writer, WRITERS),
    Criterion("whole", 0.75, AT_ANY_MOMENT, first_of(always_whole, folder_clean)),
    Criterion("returns", 0.5, RETURNS, first_of(returns_after, generators_stay), after=("random",)),
    repeats=False,
    fits=lambda case, arguments, seen: len(seen.calls) == len(arguments["places"]),
    broke_off=saving_broke_off,
    consolidation="What belongs to a rank is kept under its number, in the one file that all see: ranks come and go. "
    "Leave a piece of state out, and it is another training, and no error tells you.",
)
