"""Steps with one cause that costs much, drawn at random; other causes may leave marks, and cost little."""

from itertools import pairwise

from course.profiles.spans import Span

from ..models.clocked import StepPlan, clocked_step

CAUSES = ("loader", "synchronisation", "recomputation", "imbalance", "late bucket", "small all-reduces")
COSTS_MUCH, COSTS_LITTLE = 0.1, 0.05  # parts of the step
ON_SEVERAL_RANKS = CAUSES[3:]


def drawn_trace(rng, cause, size, marked, other=False, near=False):
    """The rows (kind, start, end, name) of each rank in one step. marked: whether other causes leave marks. other: of
    two forms that a cause may have, the other one. near: whether the ranks together lose more by their loaders than a
    late bucket costs, and the step does not."""
    while True:
        trace = clocked_step(plan(rng, cause, size, marked, other, near))
        step = max(span.end for spans in trace for span in spans)
        parts = {name: seconds / step for name, seconds in costs(trace).items()}
        if parts.pop(cause) > 1.2 * COSTS_MUCH and max(parts.values()) < 0.8 * COSTS_LITTLE:
            return [[rounded(span) for span in spans] for spans in trace]


def rounded(span):
    """A span as a row, in whole microseconds."""
    return [span.kind, round(span.start, 6), round(span.end, 6), span.name]


def plan(rng, cause, size, marked, other, near):
    """A step on `size` ranks. In its other form, all ranks wait for their batches or their device, and not one alone;
    rank 0 has more work; some layers are computed again; there is one bucket, or else an all-reduce for each parameter
    that costs little."""
    count = rng.randint(5, 8)
    forward = [rng.uniform(0.002, 0.004) for _ in range(count)]
    small = rng.randrange(1, count)
    forward[small] /= 8
    layers = [(each, 2 * each) for each in forward]
    total = 3 * sum(forward)
    behind = rng.randrange(1, size) if size > 1 else 0
    alone = behind if marked and not other else None  # the rank that waits; None: all

    def spread(of):
        """By rank, how long it waits: long where that is the cause; else there is a mark. Of the cause, the marks on
        the other ranks are the smallest of all: who looks at one of these alone takes another mark for the cause."""
        much, least, most = (slow, 0.2, 0.4) if of == cause else (0.012 * marked, 0.5, 1)
        return [
            total * (much if alone in (None, rank) else rng.uniform(least, most) * 0.012 * marked)
            for rank in range(size)
        ]

    slow = rng.uniform(0.3, 0.5)
    loading, waiting = spread("loader"), spread("synchronisation")
    if near:
        loading = [0.046 * total] * size
    again = [small] if marked else []
    if cause == "recomputation":
        again = [layer for layer in range(count) if not other or layer == small or rng.random() < 0.8]
    late = None if cause != "imbalance" else 0 if other else behind
    work = [rng.uniform(1.4, 1.7) if rank == late else 1 + rng.uniform(0, 0.01) * marked for rank in range(size)]
    return StepPlan(
        layers,
        buckets(rng, cause, layers, other, near) if size > 1 else (),
        work,
        loading,
        [[each / count] * count for each in waiting],
        again,
    )


def buckets(rng, cause, layers, other, near):
    """What is all-reduced."""
    count, total = len(layers), sum(map(sum, layers))
    backward = [each for _, each in layers]
    much = (0.16 if near else rng.uniform(0.3, 0.5)) * total
    order = [*reversed(range(count))]
    if cause == "small all-reduces" or (other and cause != "late bucket"):
        each = rng.randint(4, 8)
        whole = sum(backward[:-1]) + much if cause == "small all-reduces" else 0.15 * sum(backward)
        return [(layer, whole / count / each) for layer in order for _ in range(each)]
    if cause == "late bucket" and other:
        return [(0, much)]  # everything in one
    hidden = [(layer, 0.9 * backward[layer - 1]) for layer in order if layer]
    return [*hidden, (0, much if cause == "late bucket" else 0.005 * total)]


def seconds(spans, kind):
    """Of all spans of one kind."""
    return sum(span.end - span.start for span in spans if span.kind == kind)


def twice(spans):
    """Seconds of what is computed that was computed before."""
    computed = [span for span in spans if span.kind == "compute"]
    names = [span.name for span in computed]
    return sum(span.end - span.start for place, span in enumerate(computed) if span.name in names[:place])


def tail(trace):
    """Seconds from when the last rank has computed its gradients until all all-reduces are complete."""
    sent = [span.end for spans in trace for span in spans if span.kind == "communication"]
    done = max(span.end for spans in trace for span in spans if span.name.startswith("backward"))
    return max(0.0, max(sent, default=0.0) - done)


def exposed(spans):
    """Seconds in which a rank communicates, and computes nothing."""
    computed = [span for span in spans if span.kind == "compute"]
    moments = sorted({moment for span in spans for moment in (span.start, span.end)})
    return sum(
        end - start
        for start, end in pairwise(moments)
        if any(each.kind == "communication" and each.start <= start and each.end >= end for each in spans)
        and not any(each.start <= start and each.end >= end for each in computed)
    )


def costs(trace, **instead):
    """By cause, the seconds that a step loses by it. instead: by the name of a part, another function of it."""
    of = {
        "loader": lambda trace: max(seconds(spans, "loading") for spans in trace),
        "synchronisation": lambda trace: max(seconds(spans, "wait") for spans in trace),
        "recomputation": lambda trace: max(map(twice, trace)),
        "imbalance": lambda trace: spread_of([seconds(spans, "compute") for spans in trace]),
        "tail": tail,
        "many": lambda trace: messages(trace) > layers_in(trace),
    } | instead
    many, left = of.pop("many")(trace), of.pop("tail")(trace)
    found = {name: cost(trace) for name, cost in of.items()}
    return {**found, "late bucket": 0.0 if many else left, "small all-reduces": left if many else 0.0}


def spread_of(numbers):
    return max(numbers) - min(numbers)


def messages(trace):
    """How many all-reduces a rank makes."""
    return sum(span.kind == "communication" for span in trace[0])


def layers_in(trace):
    """How many layers the model has."""
    return len({span.name for span in trace[0] if span.name.startswith("backward")})


def spans_of(rows):
    """The spans of each rank, of rows as a case has them."""
    return [[Span(*row) for row in own] for own in rows]


def cause_of(trace, **instead):
    """The cause that costs most."""
    of = costs(trace, **instead)
    return max(of, key=of.get)
