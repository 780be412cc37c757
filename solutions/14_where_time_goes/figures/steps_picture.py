"""Steps of several ranks, each rank with what it computes, what it waits for, and what it communicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds
from course.profiles.spans import Span

from .colours import COMMUNICATING, COMPUTING

LOADING, AGAIN, COLUMNS = COLOURS[4], COLOURS[0], 2
UPPER, LOWER = (-0.12, 0.46), (0.26, 0.16)  # where a bar lies and how high it is: of the rank itself; of all-reduces


@on_both_grounds
def steps_picture(traces: Mapping[str, Sequence[Sequence[Span]]], *, ground: Ground) -> Picture:
    """A picture for each step. traces: by title, by rank, its spans in seconds. What is computed twice is darker."""
    told = "; ".join(f"{title}: {in_words(trace)}" for title, trace in traces.items())
    rows, ranks = -(-len(traces) // COLUMNS), max(map(len, traces.values()))
    height = rows * (0.62 + 0.3 * ranks) + 0.5
    figure, whole = new_figure(8.6, height, alt=f"{told}.", ground=ground)
    whole.remove()
    panels = figure.subplots(rows, min(COLUMNS, len(traces)), squeeze=False)
    most = max(span.end for trace in traces.values() for spans in trace for span in spans)
    looks = {
        "computing": {"color": COMPUTING},
        "computing again": {"color": AGAIN},
        "waiting for the batch": {"color": LOADING},
        "waiting for the device": {
            "facecolor": ground.pale,
            "hatch": "....",
            "edgecolor": ground.faint,
            "linewidth": 0,
        },
        "in an all-reduce": {"color": COMMUNICATING},
    }
    for axes, (title, trace) in zip(panels.flat, traces.items(), strict=False):
        for rank, spans in enumerate(trace):
            names, sent = set(), 0.0
            for span in sorted(spans, key=lambda span: span.end):
                again = span.kind == "compute" and span.name in names
                names.add(span.name)
                look, start = look_of(span, again), span.start
                if span.kind == "communication":  # several at once are shown one after the other, as they are complete
                    start, sent = max(start, sent), max(span.end, sent)
                if look:
                    place, high = LOWER if span.kind == "communication" else UPPER
                    edge = {"edgecolor": ground.paper, "linewidth": 0.6} if "hatch" not in looks[look] else {}
                    width = 1e3 * max(0.0, span.end - start)
                    axes.barh(rank + place, width, high, left=1e3 * start, **looks[look] | edge)
        axes.set(title=title, xlim=(0, 1e3 * most), ylim=(ranks - 0.4, -0.5))
        axes.set_yticks(range(len(trace)), [f"rank {rank}" for rank in range(len(trace))])
        axes.tick_params(axis="y", length=0)
    for axes in panels[-1]:
        axes.set_xlabel("time [ms]")
    handles = [panels.flat[0].barh(0, 0, **look) for look in looks.values()]
    figure.legend(handles, looks, loc="outside lower center", ncols=3)
    return figure


def look_of(span: Span, again: bool) -> str:
    """What a span is drawn as; empty if it is made of others."""
    if span.kind == "compute":
        return "computing again" if again else "computing"
    names = {"loading": "waiting for the batch", "wait": "waiting for the device", "communication": "in an all-reduce"}
    return names.get(span.kind, "")


def in_words(trace: Sequence[Sequence[Span]]) -> str:
    """How long each rank computes, and how long the step takes."""
    ends = 1e3 * max(span.end for spans in trace for span in spans)
    computing = [1e3 * sum(span.seconds for span in spans if span.kind == "compute") for spans in trace]
    return f"{ends:.0f} ms, of which the ranks compute {', '.join(f'{each:.0f}' for each in computing)} ms"
