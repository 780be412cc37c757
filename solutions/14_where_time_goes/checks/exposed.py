"""The check of `exposed`: what a rank does in each moment between two starts or ends of drawn spans."""

from autograde.rubric import CallCheck, Criterion, Mistakes, Same, given, lacking, once

from ..probes.exposed import NAMES, PROBE
from .intervals import added, joined_as_listed, joined_by_last, longest, of_pairs, together

COMPUTING, HIDDEN, EXPOSED, IDLE = NAMES
COMPUTE, COMMUNICATION = ("compute",), ("communication",)
OTHERS = ("step", "part", "loading", "launch", "wait")


def spans(call, *kinds):
    """When spans of these kinds begin and end."""
    return [(start, end) for kind, start, end in call.arguments["spans"] if kind in kinds]


def seconds(call, computing, hidden, shown, begin=None, end=None):
    """By part; what is idle is what the function itself leaves of the time from `begin` to `end`."""
    first, last = longest([(start, end) for _, start, end in call.arguments["spans"]])
    whole = (last if end is None else end) - (first if begin is None else begin)
    own = {name: each.value for name, each in call.seen[0].numbers.items() if each.value is not None}
    busy = own.get(COMPUTING, computing) + own.get(EXPOSED, shown)
    return {COMPUTING: computing, HIDDEN: hidden, EXPOSED: shown, IDLE: float(whole) - busy}


def parts(call, computes=COMPUTE, communicates=COMMUNICATION, **ends):
    """What is expected. computes, communicates: kinds of spans that are taken to be so."""
    busy, sending = spans(call, *computes), spans(call, *communicates)
    hidden = together(busy, sending)
    return seconds(call, together(busy), hidden, together(sending) - hidden, **ends)


@once
def due(call):
    """The parts, where what is idle may also be what it is in truth."""
    expected = parts(call)
    idle, true = call.seen[0].numbers.get(IDLE), longest([each[1:] for each in call.arguments["spans"]])
    true = float(true[1] - true[0]) - expected[COMPUTING] - expected[EXPOSED]
    return expected | ({IDLE: true} if idle is not None and idle.value == true else {})


def counted_twice(call):
    busy, sending = spans(call, *COMPUTE), spans(call, *COMMUNICATION)
    hidden = of_pairs(busy, sending)
    forms = [(added(busy), hidden, added(sending) - hidden), (added(busy), hidden, together(sending) - hidden)]
    forms.append((added(busy), together(busy, sending), added(sending) - together(busy, sending)))
    return [seconds(call, *each) for each in forms]


def joined_wrongly(call, join=joined_by_last):
    busy, sending = join(spans(call, *COMPUTE)), join(spans(call, *COMMUNICATION))
    hidden = of_pairs(busy, sending)
    return [seconds(call, added(busy), hidden, added(sending) - hidden)]


def not_sorted(call):
    either = added(joined_as_listed(spans(call, *COMPUTE, *COMMUNICATION)))
    busy, sending = (added(joined_as_listed(spans(call, *kinds))) for kinds in (COMPUTE, COMMUNICATION))
    return [*joined_wrongly(call, joined_as_listed), seconds(call, busy, busy + sending - either, either - busy)]


def others_not_idle(call):
    done = together(spans(call, *COMPUTE, *COMMUNICATION))
    less = [together(spans(call, *COMPUTE, *COMMUNICATION, *kinds)) - done for kinds in (OTHERS[1:], OTHERS[2:])]
    return [due(call) | {IDLE: parts(call)[IDLE] - each} for each in less]


def twice_off(call):
    right = due(call)
    return [right | {IDLE: parts(call)[IDLE] - right[HIDDEN]}]


def less_all(call):
    right = parts(call)
    left = right[HIDDEN] + right[EXPOSED] - right[COMPUTING]
    return [right | {EXPOSED: each} for each in (left, max(0.0, left))]


def ends_as_listed(call):
    rows = call.arguments["spans"], sorted(call.arguments["spans"], key=lambda each: each[1])
    return [parts(call, begin=row[0][1], end=row[-1][2]) for row in rows if row]


TEXT = """
counted-twice: You add up spans that overlap, or lie within each other. A moment counts once, however many spans it is
in: which stretches of time do they cover together?

end-of-the-last-begun: You join spans that overlap, and end where the one ends that began last. It may lie within an
earlier one: which of the two ends is the end of both?

not-sorted: You join spans as they stand in the list, which may be in any order. In which order does a span meet those
that it overlaps with?

others-not-idle: You take spans of other kinds off what is idle. In a "wait" or a "launch", the rank neither computes
nor communicates.

others-taken-for-computing: You take spans of other kinds for computing. A "step" or a "wait" lasts, too, but that does
not say that the rank computes in it.

launches-taken-for-communication: You take spans of kind "launch" for communication. A launch only hands a collective
over, and returns at once.

nothing-hidden: You count all communication as exposed. What of it goes on while the rank computes?

less-all-computing: From the communication you take all computing. Only what goes on at the same time can hide it.

begins-at-zero: You count from 0. The clock did not begin with these spans: when does the first one start?

only-what-is-done: You look at the time from the first to the last span of computing or communication. Spans of other
kinds may begin before, or end later, and the rank is idle there, too.

ends-as-listed: You end with the span that comes last in the list, or that begins last. Which one ends last?

hidden-taken-off-twice: From the whole time you take computing and all communication. What is hidden is in both.
"""
FORMS = {
    "counted-twice": counted_twice,
    "end-of-the-last-begun": joined_wrongly,
    "not-sorted": not_sorted,
    "others-not-idle": others_not_idle,
    "others-taken-for-computing": lambda call: [
        parts(call, computes=(*COMPUTE, *kinds)) for kinds in (OTHERS, OTHERS[1:], OTHERS[2:], OTHERS[3:4], OTHERS[2:4])
    ],
    "launches-taken-for-communication": lambda call: [parts(call, communicates=(*COMMUNICATION, "launch"))],
    "nothing-hidden": lambda call: [parts(call) | {EXPOSED: together(spans(call, *COMMUNICATION))}],
    "less-all-computing": less_all,
    "begins-at-zero": lambda call: [parts(call, begin=0)],
    "only-what-is-done": lambda call: [
        parts(call, **dict(zip(("begin", "end"), longest(spans(call, *COMPUTE, *COMMUNICATION)), strict=True)))
    ],
    "ends-as-listed": ends_as_listed,
    "hidden-taken-off-twice": twice_off,
}


def in_words(call):
    """The spans, such as "compute 2 to 6, wait 6 to 8"."""
    return ", ".join(f"{kind} {start:g} to {end:g}" for kind, start, end in call.arguments["spans"]) or "no spans"


def judge(*names):
    """Of these parts."""
    return Same(
        lambda call: call.seen[0],
        lambda call: {name: due(call)[name] for name in names},
        lambda call, place: f'Of {in_words(call)}: "{place[0]}"' if place else "What you return",
    )


def row(name, points, says, **more):
    """The criterion on one part, with the mistakes that change it."""

    def mistaken(call):
        return {key: tuple({name: form[name]} for form in forms(call)) for key, forms in FORMS.items()}

    return Criterion(name, points, says, judge(name), Mistakes(TEXT, mistaken), on=given("spans"), **more)


def drawn(rng):
    """The spans of a step: operations one after the other and within each other, and collectives beside them."""

    def some(most=5):
        return float(rng.randint(1, most))

    def compute(begin):
        end = begin + 6.0 + some()
        inner = begin + some(2)
        return [["compute", begin, end], ["compute", inner, inner + some(2)]], end

    begin = 40.0 + some(50)
    rows, now = [], begin + some()
    loaded = now + some()
    rows.append(["loading", now, loaded])
    for number in range(3):
        computed, end = compute(loaded if number == 0 else now + some())
        sent = end - some(3)
        rows += computed
        rows += [["launch", end, end + 0.5]] if number % 2 else [["launch", sent - 0.5, sent]]
        now = end + some(3)
        rows += [["communication", sent, now + some(3)], ["communication", sent + 0.5, now]]
    last = max(end for _, _, end in rows)
    rows.append(["launch", last + 0.25, last + 0.75])
    rows += [["wait", last + 1.0, last + 1.0 + some()], ["step", begin, last + 6.0 + some()]]
    return rng.sample(rows, len(rows))


def cases(rng):
    """Few spans and many, of one kind alone, of two steps; then none."""
    begin = float(rng.randint(5, 30))
    few = [["compute", begin, begin + 6.0], ["communication", begin + 4.0, begin + 9.0 + rng.randint(0, 3)]]
    step = ["step", begin - 1.0, begin + 15.0]
    within = [step, ["compute", begin, begin + 5.0], ["compute", begin + 1.0, begin + 3.0]]
    sending = [["communication", begin, begin + 4.0], ["communication", begin + 2.0, begin + 7.0]]
    unsorted = [["compute", begin + 4.0, begin + 8.0], ["compute", begin, begin + 6.0]]
    unsorted += [["communication", begin + 9.0, begin + 13.0], ["communication", begin + 7.0, begin + 10.0]]
    waiting = [*few, step, ["wait", begin + 13.0, begin + 14.0]]
    lists = few, [*few, step], waiting, unsorted, within, sending, [step], drawn(rng), drawn(rng), drawn(rng)
    return [(None, *({"spans": each} for each in lists)), (None, {"spans": []})]


CHECK = CallCheck.of(
    "exposed",
    PROBE,
    cases,
    row(COMPUTING, 0.5, 'the seconds of "computing"'),
    row(HIDDEN, 0.75, 'those of "hidden"'),
    row(EXPOSED, 0.5, 'those of "exposed"'),
    row(IDLE, 0.5, 'those of "idle"'),
    Criterion("no-spans", 0.25, "without spans, all are 0", judge(*NAMES), on=lacking("spans")),
    repeats=False,
    consolidation="Communication costs the time in which it is exposed, and no more. So ask two questions first: how "
    "much of it is exposed, and what could the rank compute meanwhile?",
)
