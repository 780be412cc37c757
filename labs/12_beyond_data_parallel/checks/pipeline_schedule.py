"""The check of `pipeline_schedule`: each pass once, after what it needs, in as few ticks as can be."""

from collections import Counter

from autograde.rubric import CallCheck, Criterion, Mistakes, Words

from ..probes import pipeline_schedule
from ..probes.pipeline_schedule import OTHER

words = Words("""
no-plan: What the function returns is no list with a list for each of {stages:stage}.

other-entry: The row of stage {stage} has an entry that is neither ("F", i) nor ("B", i), for a micro-batch i from 0 to
{last}, nor None.

pass-left-out: Stage {stage} never makes {what}.

pass-made-twice: Stage {stage} makes {what} {n:time}.

forward-too-early: Stage {stage} makes {what} in tick {tick}, and the stage before it in tick {other}. Its input is not
there yet.

backward-too-early: Stage {stage} makes {what} in tick {tick}, and the stage behind it in tick {other}. Where do
gradients come from?

backward-before-forward: The last stage makes {what} in tick {tick}, and its forward pass in tick {other}. There is no
loss yet.

rows-differ-in-length: The rows have {lengths} entries. All of them run through the same ticks.

too-many-ticks: The plan has {ticks:tick}, where {least} are enough.

too-few-ticks: The plan has {ticks:tick}, and no plan with all passes has fewer than {least}.
""")


def in_words(entry):
    """A pass as a plan has it."""
    return f'("{entry[0]}", {entry[1:]})'


def each_pass_once(call):
    stages, last, rows = call.arguments["stages"], call.arguments["micro_batches"] - 1, call.seen[0].plan
    if rows is None or len(rows) != stages:
        return words("no-plan", stages=stages)
    due = [f"{kind}{number}" for kind in "FB" for number in range(last + 1)]
    for stage, row in enumerate(rows):
        times = Counter(filter(None, row))
        if OTHER in times or times.keys() - {*due}:
            return words("other-entry", stage=stage, last=last)
        for entry in due:
            if times[entry] != 1:
                key = "pass-made-twice" if times[entry] else "pass-left-out"
                return words(key, stage=stage, what=in_words(entry), n=times[entry])
    return None


def needed(stage, entry, stages):
    """What has to be done before a pass, (stage, pass), and the key of the words if it is not; None if nothing has."""
    if entry[0] == "F":
        return (stage - 1, entry, "forward-too-early") if stage else None
    if stage < stages - 1:
        return stage + 1, entry, "backward-too-early"
    return stage, f"F{entry[1:]}", "backward-before-forward"


def in_order(call):
    if wrong := each_pass_once(call):
        return wrong
    ticks = [{each: tick for tick, each in enumerate(row) if each} for row in call.seen[0].plan]
    for stage, own in enumerate(ticks):
        for entry, tick in own.items():
            other, before, key = needed(stage, entry, len(ticks)) or (0, "", "")
            if key and tick <= ticks[other][before]:
                return words(key, stage=stage, what=in_words(entry), tick=tick, other=ticks[other][before])
    return None


def few_ticks(call):
    stages, micro, rows = call.arguments["stages"], call.arguments["micro_batches"], call.seen[0].plan
    if rows is None or len(rows) != stages:
        return words("no-plan", stages=stages)
    lengths, least = [*map(len, rows)], 2 * (stages + micro - 1)
    if len({*lengths}) > 1:
        return words("rows-differ-in-length", lengths=lengths)
    if lengths[0] == least:
        return None
    return words("too-many-ticks" if lengths[0] > least else "too-few-ticks", ticks=lengths[0], least=least)


def one_at_a_time(call):
    """Whether the plan has a tick for each pass of each stage, or more: facts for words."""
    ticks = max(map(len, call.seen[0].plan or [[]]))
    passes = 2 * call.arguments["stages"] * call.arguments["micro_batches"]
    return {"ticks": ticks} if ticks >= passes else False


def cases(rng):
    """Few and many micro-batches on 1 to 6 stages."""
    plans = [(2, 2), (4, rng.randrange(5, 9)), (3, 1), (1, rng.randrange(2, 5)), (6, rng.randrange(3, 6))]
    plans += [(2, rng.randrange(7, 12)), (5, rng.randrange(6, 12)), (1, 1)]
    yield None, *({"stages": stages, "micro_batches": micro} for stages, micro in plans)


ORDER = "what a pass needs is done in an earlier tick: the stage before or behind, and the forward pass before the loss"
CHECK = CallCheck.of(
    "pipeline_schedule",
    pipeline_schedule.PROBE,
    cases,
    Criterion("passes", 1, "each stage makes both passes of each micro-batch once, and nothing else", each_pass_once),
    Criterion("order", 1, ORDER, in_order, after=("passes",)),
    Criterion(
        "ticks",
        1,
        "all rows have 2 (stages + micro_batches - 1) entries",
        few_ticks,
        Mistakes(
            """
            one-pass-at-a-time: The plan has {ticks:tick}: in each of them a single stage works, and the others wait.
            What can stage 0 do, while stage 1 works?
            """,
            one_pass_at_a_time=one_at_a_time,
        ),
    ),
    consolidation="Each stage idles for as many ticks as it takes to fill and empty the pipeline: (p - 1) of every "
    "(M + p - 1). Plans of one length differ in how many activations they keep.",
    inputs=("stages", "micro_batches"),
)
