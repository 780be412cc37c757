"""The check of `late_rank`: who is last, and who waits how long, in drawn traces of clocks that disagree."""

from statistics import fmean, median

from autograde.rubric import CallCheck, Criterion, Mistakes, Same, changed, given, lacking

from ..probes.late_rank import PROBE

START, END = 0, 1
TICK = 2.0**-20  # seconds, about one microsecond
SPREAD, NEAR = 0.002, 0.01  # seconds: between the ranks' ends of a collective, and to which a wait has to be right


def differences(call, rank, which=END):
    """How much later than rank 0 a rank notes the end, or start, of each collective."""
    first, own = call.arguments["traces"][0], call.arguments["traces"][rank]
    return [b[which] - a[which] for a, b in zip(first, own, strict=True)]


def first(ahead):
    return ahead[0]


def middle(ahead):
    return ahead[len(ahead) // 2]


def last(ahead):
    return ahead[-1]


def answer(call, shift=median, which=END, sign=-1, of=max, since=None, apart=False):
    """For each collective, the last rank, and how long each waits.

    shift: of differences, how far a clock is ahead. which: what they are differences of. apart: whether `shift` is
    taken of each rank's moments, and then the difference. of: which of the starts is that of the rank named. since: of
    the starts, the moment from which waits count; None: from each own start to `of`.
    """
    rows = []
    for rank, own in enumerate(call.arguments["traces"]):
        ahead = shift(differences(call, rank, which))
        if apart:
            ahead = shift([span[which] for span in own]) - shift([span[which] for span in call.arguments["traces"][0]])
        rows.append([start + sign * ahead for start, _ in own])
    result = []
    for starts in zip(*rows, strict=True):
        there = of(starts)
        waits = [there - each if since is None else each - since(starts) for each in starts]
        result.append([starts.index(there), [float(each) for each in waits]])
    return result


def by_durations(call):
    """The same, of how long each rank is in a collective."""
    result = []
    for spans in zip(*call.arguments["traces"], strict=True):
        durations = [end - start for start, end in spans]
        result.append([durations.index(min(durations)), [each - min(durations) for each in durations]])
    return result


def whole_durations(call):
    """The last rank, and how long each is in the collective."""
    rows = zip(answer(call), zip(*call.arguments["traces"], strict=True), strict=True)
    return [[rank, [float(end - start) for start, end in spans]] for (rank, _), spans in rows]


TEXT = """
clocks-not-aligned: The moments that you compare are of clocks that disagree. Of a collective's start and end, which one
do all ranks note at the same moment, so that it tells how far a clock is ahead?

aligned-by-one-end: You align each clock by the end of one collective, such as the first one, or that with the least or
the greatest difference. Some rank may have noted this one late: what stays right as long as most ends are?

difference-of-medians: You take a median of each rank's ends, and then the difference. That is the end of one
collective, and some rank may have noted it late. In which order do you need the two?

aligned-by-the-mean: You align the clocks by the mean over all collectives. A single end that was noted late moves it:
which number in the middle does not move?

aligned-by-starts: You align the clocks by the starts of collectives. These are what differs between the ranks, on any
clock.

wrong-way: You move clocks the wrong way. If a rank's clock is ahead, what has to be done to its times?

by-durations: You go by how long each rank is in the collective. That is right as long as all ranks note its end at the
same moment, and here some do not.

first-taken-for-last: You name the rank that comes first. It is in the collective for the longest time, because it
waits.

whole-collective-waited: You give how long each rank is in the collective. Only the time until the last rank comes is
waited.

since-the-first: You count how much later than the first rank each one comes. How long does each wait for the last one?

since-rank-0: You count how much later than rank 0 each rank comes. How long does each wait for the last one?

rank-0-alone: All your waits are that of rank 0. Each rank comes at another moment, and waits from then on.

no-wait-of-the-last: You leave the last rank out of the list of waits. It waits, too: for 0 seconds.

negative-waits: Your waits are negative. From which moment to which does a rank wait?
"""
VALUES = changed(
    answer,
    clocks_not_aligned={"sign": 0},
    aligned_by_one_end=[{"shift": lambda call, one=one: one} for one in (first, middle, last, min, max)],
    difference_of_medians={"apart": True},
    aligned_by_the_mean={"shift": lambda call: fmean},
    aligned_by_starts=[{"which": START, "shift": lambda call, each=each: each} for each in (median, fmean, first)],
    wrong_way={"sign": 1},
    by_durations=by_durations,
    first_taken_for_last=[
        {"of": lambda call: min},
        lambda call: [[[*waits].index(max(waits)), waits] for _, waits in answer(call)],
    ],
    whole_collective_waited=whole_durations,
    since_the_first={"since": lambda call: min},
    since_rank_0=[
        {"since": lambda call: first},
        lambda call: [[rank, [*map(abs, each)]] for rank, each in answer(call, since=first)],
    ],
    rank_0_alone=lambda call: [[rank, waits[:1] * len(waits)] for rank, waits in answer(call)],
    negative_waits={"since": lambda call: max},
)


def one_wait_less(call):
    """Whether the waits of a collective are those of all ranks but one."""
    ranks = len(call.arguments["traces"])
    return any(each.waits.kind == f"a list of {ranks - 1}" for each in call.seen[0].collectives)


def row(of_pair, where):
    """The judge and the mistakes of a part of what is returned for each collective."""

    def mistaken(call):
        return {key: (lambda sign=sign: parts(sign())) for key, sign in VALUES(call).items()}

    def parts(gives):
        return gives and type(gives)(*([*map(of_pair, each)] for each in gives.values))

    def expected(call):
        return [*map(of_pair, answer(call))]

    def shown(call):
        return [of_pair((each.rank, each.waits)) for each in call.seen[0].collectives]

    return Same(shown, expected, where, near=near, instead=lambda call: call.seen[0].kind), Mistakes(
        TEXT, mistaken, no_wait_of_the_last=one_wait_less
    )


def near(actual, expected):
    """Whether a number is the expected one: a rank exactly, seconds to within `NEAR`."""
    if isinstance(expected, int):
        return actual == expected
    return isinstance(actual, (int, float)) and isinstance(expected, float) and abs(actual - expected) <= NEAR


def of_last(call, place):
    """Where the last rank stands in what is returned."""
    return f"In collective {place[0]}, the last rank" if place else "What you return"


def of_waits(call, place):
    """Where a wait stands."""
    if not place:
        return "What you return"
    number, *rank = place
    return f"In collective {number}, {f'the wait of rank {rank[0]}' if rank else 'what stands for the waits'}"


def of_both(call, place):
    """Where one of the two stands."""
    return of_waits(call, (place[0], *place[2:])) if place[1:2] == (1,) else of_last(call, place)


def drawn(rng, size, count, noted_late=0, slow=0):
    """Traces of collectives that end everywhere at nearly the same moment, by clocks of their own. noted_late: how many
    of them, the first, the last and the middle one among them, rank `slow` notes as over too late, each time as much.
    In the middle one, another rank does so, too. In the others, no two ends lie equally far apart."""
    ahead = [float(rng.randint(100, 900) * rng.choice((-1, 1))) for _ in range(size)]
    late = {0, count // 2, count - 1} if noted_late else set()
    late.update(rng.sample([*{*range(count)} - late], noted_late - len(late)))
    steps = count - noted_late
    apart = [rng.sample(range(steps), steps) for _ in range(size - 1)]
    another = rng.choice([rank for rank in range(size) if rank != slow]) if size > 2 else None
    too_late = rng.randint(8, 40)
    traces, now = [[] for _ in range(size)], 1000.0
    for number in range(count):
        starts = [now + each / 4 for each in rng.sample(range(8, 120), size)]
        ends = [max(starts) + rng.randint(2, 12) / 4] * size
        if number in late:
            ends[slow] += too_late
            if number == count // 2 and another is not None:
                ends[another] += too_late + rng.randint(2, 8)
        else:
            for rank, own in enumerate(apart, 1):
                ends[rank] += TICK * int(SPREAD / TICK * own.pop() / max(1, steps - 1))
        for rank, own in enumerate(traces):
            own.append([starts[rank] + ahead[rank], ends[rank] + ahead[rank]])
        now = max(ends)
    return traces


def cases(rng):
    """Ends that all ranks note at the same moment, and ends that some note late; a single rank, a single collective."""
    plain = (4, 3), (3, 5), (2, 4), (5, 6), (1, 3), (3, 1)
    late = (3, 7, 3, 0), (4, 9, 4, 3), (2, 8, 3, 1), (6, 7, 3, rng.randrange(6))
    return [
        (None, *({"traces": drawn(rng, *each), "noted_late": False} for each in plain)),
        (None, *({"traces": drawn(rng, *each), "noted_late": True} for each in late)),
    ]


LAST, LAST_MISTAKES = row(lambda pair: pair[0], of_last)
WAITS, WAITS_MISTAKES = row(lambda pair: pair[1], of_waits)
BOTH, BOTH_MISTAKES = row(list, of_both)
PLAIN = "where all ranks note all ends within 2 ms"
CHECK = CallCheck.of(
    "late_rank",
    PROBE,
    cases,
    Criterion("last", 0.75, f"{PLAIN}: who is last", LAST, LAST_MISTAKES, on=lacking("noted_late")),
    Criterion("waits", 0.75, "there: how long each rank waits", WAITS, WAITS_MISTAKES, on=lacking("noted_late")),
    Criterion(
        "noted-late",
        1,
        "both, where some ranks note some ends late",
        BOTH,
        BOTH_MISTAKES,
        on=given("noted_late"),
        after=("last", "waits"),
    ),
    repeats=False,
    consolidation="A collective is a clock that all ranks share, for the moment in which it ends. And the longest "
    "all-reduce is not on the rank that is slow: it is on the one that waits for it.",
)
