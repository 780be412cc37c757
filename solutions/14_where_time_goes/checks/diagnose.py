"""The check of `diagnose`: the cause that costs most, among marks of others, in steps on a clock of their own."""

from autograde.rubric import CallCheck, Criterion, Mistakes, Same, Words, changed

from ..probes import diagnose
from .planted import (
    CAUSES,
    COSTS_LITTLE,
    ON_SEVERAL_RANKS,
    cause_of,
    costs,
    drawn_trace,
    exposed,
    seconds,
    spans_of,
    spread_of,
)

words = Words("""
no-cause: You return {actual}. The causes are {causes}, in these words.

another-cause: You say {actual!r} of a step on {n:rank}. That costs {little} % of its time, and {expected!r} costs
{much} %.
""")


def cause(call, **instead):
    """What is to be returned. instead: see `planted.costs`."""
    return cause_of(spans_of(call.arguments["trace"]), **instead)


def other(call, off):
    """The words for another cause than the one that costs most."""
    seen, trace = call.seen[0], spans_of(call.arguments["trace"])
    if seen.cause not in CAUSES:
        actual = seen.kind if seen.cause is None else repr(seen.cause)
        return words("no-cause", actual=actual, causes=", ".join(map(repr, CAUSES)))
    step = max(span.end for spans in trace for span in spans)
    part = {name: round(100 * each / step) for name, each in costs(trace).items()}
    about = {"actual": seen.cause, "expected": off.expected, "n": len(trace)}
    return words("another-cause", little=part[seen.cause], much=part[off.expected], **about)


def late(call):
    """Whether ranks that are in all-reduces for unequal times are taken for ranks with unequal work."""
    trace = spans_of(call.arguments["trace"])
    unequal = spread_of([seconds(spans, "communication") for spans in trace])
    much = COSTS_LITTLE * max(span.end for spans in trace for span in spans)
    return call.seen[0].cause == "imbalance" != cause(call) and unequal > much


def of_bytes(call):
    """Whether one cause of all-reduces that go on too long is taken for the other."""
    return {call.seen[0].cause, cause(call)} == {"late bucket", "small all-reduces"}


def first(kind):
    return lambda trace: seconds(trace[0], kind)


def added(kind):
    return lambda call: lambda trace: sum(seconds(spans, kind) for spans in trace)


def whole(choose):
    return lambda trace: choose([seconds(spans, "communication") for spans in trace])


def not_hidden(choose):
    return lambda trace: choose([*map(exposed, trace)])


def mean(numbers):
    return sum(numbers) / len(numbers)


FIRST = {"loader": first("loading"), "synchronisation": first("wait")}
TAIL, EQUAL = {"tail": lambda trace: exposed(trace[0])}, {"imbalance": lambda trace: 0.0}
MISTAKES = Mistakes(
    """
    waiting-for-a-rank-counted: You count the time in which a rank waits in an all-reduce for another one, as you see it
    if you look at one rank alone. It is not the network's: how long does that take once the last rank is there?

    added-over-ranks: You add up what the ranks lose. They lose it at the same time: how much shorter would the step be?

    one-rank-alone: You look at one rank alone. Another one may be what all of them wait for.

    hidden-communication-counted: You take all of the time of an all-reduce for a loss, also where the rank computes
    meanwhile. How much of it goes on when all gradients are there?

    optimizer-taken-for-the-end: You find no time in which the network alone is at work. The optimizer computes, too,
    but when all all-reduces are complete: when is the last gradient computed?

    late-for-another-reason: The ranks are in their all-reduces for unequal times here, and so you say "imbalance". But
    they compute equally long: what else do they do that makes one of them late?

    one-or-many: You take one large all-reduce for many small ones, or the other way round. How many are there, and how
    many layers?
    """,
    changed(
        cause,
        hidden_communication_counted=[
            *({"tail": lambda call, choose=each: whole(choose)} for each in (max, min, mean, lambda all: all[0]))
        ],
        waiting_for_a_rank_counted=[
            *({"tail": lambda call, choose=each: not_hidden(choose)} for each in (max, mean, lambda all: all[0]))
        ],
        one_rank_alone=[
            lambda call, each=each: cause(call, **each) for each in (FIRST, FIRST | TAIL, FIRST | EQUAL | TAIL)
        ],
        added_over_ranks={"loader": added("loading"), "synchronisation": added("wait")},
        optimizer_taken_for_the_end={"tail": lambda call: lambda trace: 0.0},
    ),
    late_for_another_reason=late,
    one_or_many=of_bytes,
)
RIGHT = Same(lambda call: call.seen[0].cause, cause, lambda call, place: "What you return", otherwise=other)


def named(*causes):
    """Steps in which one of these is the cause, and the others leave no mark."""
    return lambda arguments: not arguments["marked"] and cause_of(spans_of(arguments["trace"])) in causes


def cases(rng):
    """Steps without marks of other causes, then with; on four ranks to two, and on one."""

    def calls(size, *form, causes=CAUSES):
        drawn = [{"trace": drawn_trace(rng, each, size, *form), "marked": form[0]} for each in causes]
        rng.shuffle(drawn)
        return drawn

    alone = [each for each in CAUSES if each not in ON_SEVERAL_RANKS]
    yield {"calls": [*calls(4, False), *calls(1, False, causes=alone)]}
    near = {"trace": drawn_trace(rng, "late bucket", 4, True, True, near=True), "marked": True}
    yield {"calls": [*calls(4, True), *calls(rng.choice((2, 3)), True, True), *calls(1, True, causes=alone), near]}


NO_MARKS = "in traces with signs of one cause alone, {} are told apart from all others"
CHECK = CallCheck.of(
    "diagnose",
    diagnose.PROBE,
    cases,
    Criterion(
        "waiting",
        0.5,
        NO_MARKS.format('"loader" and "synchronisation"'),
        RIGHT,
        MISTAKES,
        on=named("loader", "synchronisation"),
    ),
    Criterion(
        "computing",
        0.5,
        NO_MARKS.format('"recomputation" and "imbalance"'),
        RIGHT,
        MISTAKES,
        on=named("recomputation", "imbalance"),
    ),
    Criterion(
        "network",
        0.5,
        NO_MARKS.format('"late bucket" and "small all-reduces"'),
        RIGHT,
        MISTAKES,
        on=named("late bucket", "small all-reduces"),
    ),
    Criterion(
        "cost",
        1,
        "in traces with signs of other causes, too, the one that costs most is named",
        RIGHT,
        MISTAKES,
        on=lambda arguments: arguments["marked"],
    ),
    consolidation="Everything that is slow leaves a mark, and so does much that is not. What counts is by how much "
    "shorter the step would be without it.",
    repeats=False,
)
