"""The check of `distributed_accuracy`: each sample counted once by its index, and the same number on every rank."""

from collections import Counter
from itertools import chain, islice

from autograde.rubric import (
    MESSAGES,
    CallCheck,
    Criterion,
    DeviceCriterion,
    EachRankReturns,
    Errors,
    Gives,
    Mistakes,
    Part,
    Words,
    argument_unchanged,
    came_of,
    due_of,
    finished,
    first_of,
    follows,
    nothing_starts_or_ends,
    of_library,
)

from ..probes import distributed_accuracy

TELLING = 9  # samples, from which on mistakes can be told apart by their results
DRAWS = 10_000  # of which one is telling; some shapes take a hundred
APART = 1e-3  # by which the results of mistakes differ from what is right at least

OWN = """
own-part-only: Each rank returns what follows from its own samples alone. Where do the other ranks' samples come in?
"""
words = Words(
    OWN
    + """
    unequal-sizes: The ranks bring tensors of different sizes to {op}: {sizes} bytes. What becomes of that depends on
    the backend; it need not be an error. How does a rank know how much the others have?
    """
)


def accuracy(call):
    """The share of samples that are right, each counted once. call: a call's arguments."""
    pairs = zip(chain.from_iterable(call["indices"]), chain.from_iterable(call["correct"]), strict=True)
    return sum(dict(pairs).values()) / call["dataset_size"]


def counted_wrongly(call):
    """By mistake, what its forms return: a number, or one by rank. call: a call's arguments."""
    rows, n = call["correct"], call["dataset_size"]
    pairs = [[*zip(own, row, strict=True)] for own, row in zip(call["indices"], rows, strict=True)]
    hits, counts, flat = [*map(sum, rows)], [*map(len, rows)], [*chain.from_iterable(rows)]
    means = [hit / max(1, count) for hit, count in zip(hits, counts, strict=True)]
    times = [Counter(i for i, hit in own if hit) for own in pairs]
    on_one_rank = sum(max(own[i] for own in times) for i in {*chain.from_iterable(times)})
    turns = [row[turn] for turn in range(max(counts)) for row in rows if turn < len(row)]
    last = dict(chain.from_iterable(own + [(0, 0)] * (max(counts) - len(own)) for own in pairs))
    unlike = [{*own} for own in pairs]
    distinct = [sum(hit for _, hit in own) for own in unlike]
    unlike_means = [hit / max(1, len(own)) for hit, own in zip(distinct, unlike, strict=True)]
    # Of the forms, copies of samples that are wrong count in the last one.
    twice = sum(hits) / len(flat), sum(hits) / n, sum(distinct) / n, on_one_rank / n, 1 - (len(flat) - sum(hits)) / n
    found = {
        "fraction-lost": (float(accuracy(call) == 1), float(round(accuracy(call)))),
        "counted-twice": twice,
        "own-part-only": (means, [hit / n for hit in hits], unlike_means, [hit / n for hit in distinct]),
        "mean-of-means": (sum(means) / len(rows), sum(means) / sum(map(bool, counts))),
        "cut-by-position": (sum(flat[:n]) / n, sum(turns[:n]) / n),
    }
    return found | ({"filled-up-counted": (sum(last.values()) / n,)} if len({*counts}) > 1 else {})


def parts_of(call):
    """The hits among what each rank holds. call: a call's arguments."""
    return [Part(rank, sum(row), len(row)) for rank, row in enumerate(call["correct"])]


def telling(call):
    """Whether mistakes that can be made in a call give other numbers than the right one, and cuts than copies; ranks
    have other hits, and from sums of these the right number does not follow by chance."""
    wrong, sizes, right = counted_wrongly(call), [*map(len, call["correct"])], accuracy(call)
    values = [*wrong.get("filled-up-counted", ())]
    if sum(sizes) > call["dataset_size"]:
        cuts = wrong["cut-by-position"][: 1 + (len({*sizes}) == 1)]
        values += [*wrong["counted-twice"][: 2 + (len(sizes) > 1)], wrong["counted-twice"][4], *cuts]
        values += [numerator / below for numerator in by_chance(call) for below in (call["dataset_size"], sum(sizes))]
        copies = sum(sizes) - call["dataset_size"]  # with two, one right and one wrong, a cut may do as copies do
        twice = wrong["counted-twice"][: 4 + (copies > 2)]
        if any(abs(cut - other) < APART for cut in cuts for other in twice):
            return False
    if len({*sizes}) > 1:
        values += wrong["mean-of-means"][: 1 + (sum(map(any, call["correct"])) > 1)]
    if len(sizes) > 1:
        hits, due = [*map(sum, call["correct"])], due_of(parts_of(call), len(sizes), right, call["dataset_size"])
        sums = [sum(hits)], [2 * sum(hits)], [max(hits)], [sum(hits), sum(sizes)]
        if len({*hits}) == 1 or (len({*sizes}) == 1 and any(follows(row, due) for row in sums)):
            return False
    return all(abs(value - right) > APART for value in values)


def by_chance(call):
    """What wrong ways to count hits give, of hits, copies and samples. call: a call's arguments."""
    hits, held = sum(map(sum, call["correct"])), sum(map(len, call["correct"]))
    copies = held - call["dataset_size"]
    return [hits - 2 * copies, hits + copies, held - hits, call["dataset_size"] - hits]


def drawn(rng, samples, held):
    """Predictions as a call's arguments: "dataset_size", and by rank "indices" and "correct" (0 or 1).

    held: how many each rank holds. Each sample is on some rank, and copies fill up what is left. About two of three are
    right; where there are many samples, a call is drawn until it is `telling`.

    Raises ValueError if none is.
    """
    for _ in range(DRAWS):
        right = [rng.random() < 0.67 for _ in range(samples)]
        dealt = [i % samples for i in range(sum(held))]
        rng.shuffle(dealt)
        entries = iter(dealt)
        rows = [[*islice(entries, most)] for most in held]
        call = {"dataset_size": samples, "indices": rows, "correct": [[int(right[i]) for i in row] for row in rows]}
        if samples < TELLING or telling(call):
            return call
    raise ValueError(f"{samples} samples, {held} by rank: mistakes cannot be told apart")


def nobody_asks(call):
    """Whether no rank communicates with another one."""
    return call.size > 1 and not any(call.events)


def own_part(call):
    """What ranks return if no other rank's samples come in; on a single rank nobody can tell."""
    if call.size == 1:
        return None
    return (call.whole and nobody_asks(call)) or Gives(*counted_wrongly(call.arguments)["own-part-only"])


def waited_for(call):
    """The result is read only when it is there."""
    return finished(call)


def of_equal_sizes(call):
    """What ranks bring to a collective, if the result is another one, is of equal sizes, also where a backend takes
    others."""
    if not VALUE(call):
        return None
    for events in zip(*call.events, strict=False):
        sizes = [event["bytes"] if event["room"] is None else event["room"] for event in events]
        (library, op, kind), *others = {(event["library"], event["op"], event["kind"]) for event in events}
        of_tensors = library == "torch" and kind not in MESSAGES and "object" not in op
        if of_tensors and not others and None not in sizes and len({*sizes}) > 1:
            return words("unequal-sizes", op=op, sizes=", ".join(map(str, sizes)))
    return None


def communication(call):
    """All goes by torch.distributed, and a right result follows from it. That ranks do not communicate is told in the
    words of their result; that nothing is waited for is judged with it. What ranks communicate without a record, as by
    a store, is torch's, too: then nothing speaks against them, so this is no judge of the record alone."""
    if (wrong := of_library("torch")(call)) or finished(call) or call.unseen:
        return wrong
    if VALUE(call):
        return words("own-part-only", absent=True) if nobody_asks(call) else None
    about = call.arguments
    return came_of(call.events, parts_of(about), call.size, accuracy(about), about["dataset_size"])


def sizes(arguments):
    """How many samples each rank holds."""
    return [*map(len, arguments["indices"])]


def equal(arguments):
    return len({*sizes(arguments)}) == 1


def all_hold_some(arguments):
    return all(sizes(arguments))


def some_hold_none(arguments):
    return not all(sizes(arguments))


def none_on_these(run):
    """Whether the ranks with an error have no samples."""
    return not any(sizes(run.broken)[rank] for rank in run.errors)


def cases(rng):
    """Equal shares with copies, on several ranks and on one; then unequal shares, and some that are empty; other ranks,
    in other orders."""

    def case(ranks, *calls):
        return ranks, *(drawn(rng, n, rng.sample(held, len(held))) for n, held in calls)

    n, m, three = rng.randint(3, 8), rng.randint(3, 6), rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]])
    cases = [case(4, (4 * n - 2, [n] * 4), (4 * m + 1, [m + 1] * 4), (1, [1] * 4))]
    cases += [case([1], (m + 9, [m + 12]), (m + 9, [m + 9])), case([3, 1], (2 * n + 5, [n + 4] * 2))]
    cases += [case(three, (m + 11, [m, 3, 8])), case(4, (n + 10, [2, n + 3, 9, 3]))]
    return [*cases, case(three, (n + 9, [0, n, 9])), case(4, (n + 10, [0, n + 3, 5, 4]), (2, [1, 1, 0, 0]))]


def gpu_case(rng):
    """Two ranks with unequally many samples."""
    return {"ranks": [0, 1], "calls": [drawn(rng, 4, [2, 3])]}


MISTAKES = Mistakes(
    OWN
    + """
    fraction-lost: The result is {actual:.6g}, where {expected:.6g} is expected: a whole number. Where does the fraction
    get lost?

    counted-twice: There are {dataset_size:sample}, and the result is {actual:.6g}, as if those that are held twice
    counted twice. {expected:.6g} is expected. How can you tell a copy?

    mean-of-means: The result is {actual:.6g}, a mean of means: it gives the samples of a rank with few of them more
    weight than those of one with many. {expected:.6g} is expected. What do you have to add up before you divide?

    cut-by-position: There are {dataset_size:sample}, and the result is {actual:.6g}. That is what the first entries
    give, in the order in which the ranks hold them. But a copy may stand at any place. What tells a copy from another
    sample?

    filled-up-counted: The result is {actual:.6g}, where {expected:.6g} is expected. It is what comes out if what
    shorter ranks were filled up with speaks for sample 0. What tells it from what is really there?
    """,
    lambda call: counted_wrongly(call.arguments),
    own_part_only=own_part,
)
EMPTY_RANK = Errors(
    """
    empty-rank: Where a rank has no samples, {who:raises|raise} an error ({error}). What should such a rank contribute,
    so that the others can go on?
    """,
    on=none_on_these,
    empty_rank="",
)
VALUE = EachRankReturns(lambda call: accuracy(call.arguments))
COUNTED_ONCE = first_of(waited_for, of_equal_sizes, VALUE)
ALONE = first_of(communication, nothing_starts_or_ends)
ONCE = "all ranks return the same float: hits / dataset_size, with the precision of float64, each sample counted once"
EMPTY = "it also works where k differs from rank to rank, or is 0"
BY_TORCH = "ranks communicate by torch.distributed, in as many calls as you like"
KEPT = "both tensors stay as they are: callers still need what they pass"
CHECK = CallCheck.of(
    "distributed_accuracy",
    distributed_accuracy.PROBE,
    cases,
    Criterion("counted-once", 1.5, ONCE, COUNTED_ONCE, MISTAKES, on=all_hold_some),
    Criterion("no-samples", 0.5, EMPTY, COUNTED_ONCE, MISTAKES, on=some_hold_none, after=("counted-once",)),
    Criterion("communication", 1, BY_TORCH, ALONE, on=equal),
    DeviceCriterion(0.5, "it also works on a GPU"),
    Criterion("arguments", 0.5, KEPT, argument_unchanged, on=equal),
    inputs=("dataset_size",),
    repeats=False,  # each call has other numbers
    errors=EMPTY_RANK,
    gpu_case=gpu_case,
    consolidation="Counted by index, the result depends neither on the number of ranks nor on who holds a copy. That "
    "all ranks agree proves nothing: they agree on wrong numbers just as well.",
)
