"""What moves in one step of training, by where the parameters live: arrows as wide as the bytes that were measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds
from course.watch.events import Event

LEAST = 200  # bytes in all, below which a pair has no arrow: names and numbers
WIDE = 2.6  # points of an arrow that stands for one array
RADIUS = 0.19

Pair = tuple[int, int]


def bytes_between(events: Sequence[Sequence[Event]]) -> Counter[Pair]:
    """Bytes from rank to rank in a run.

    A call in which all take part counts as a plan of messages: an all-reduce as a ring, a reduce or a broadcast as
    messages to or from the root.
    """
    moved: Counter[Pair] = Counter()
    for rank, log in enumerate(events):
        for event in log:
            size, root = event["bytes"] or 0, event["peer"]
            members = [each for each in event["members"] or () if each is not None]
            if event["kind"] in ("send", "sendrecv", "reduce") and root not in (None, rank):
                moved[rank, root] += size
            elif event["kind"] == "broadcast" and rank == root:
                moved.update({(rank, other): size for other in members if other != rank})
            elif event["kind"] == "allreduce" and len(members) > 1:
                after = members[(members.index(rank) + 1) % len(members)]
                moved[rank, after] += round(2 * size * (len(members) - 1) / len(members))
    return Counter({pair: size for pair, size in moved.items() if size > LEAST and pair[0] != pair[1]})


def busiest(moved: Mapping[Pair, int]) -> int:
    """What the busiest rank sends and receives."""
    totals: Counter[int] = Counter()
    for (source, target), size in moved.items():
        totals.update({source: size, target: size})
    return max(totals.values(), default=0)


def crossing(moved: Mapping[Pair, int], ranks: int) -> int:
    """What goes from node to node, where the first half of the ranks is on one node and the rest on the other."""
    return sum(size for pair, size in moved.items() if len({rank < ranks / 2 for rank in pair}) == 2)


@on_both_grounds
def arrangements_picture(runs: Mapping[str, Sequence[Sequence[Event]]], nbytes: int, *, ground: Ground) -> Picture:
    """Two nodes for each run, and what moved between its ranks in one step.

    runs: events by rank, by the name of the arrangement; the first half of the ranks is on one node. nbytes: of the
    parameters.
    """
    told = []
    figure, panels = new_figure(2.1 * len(runs) + 0.2, 2.7, columns=len(runs), alt="", ground=ground)
    for axes, (name, events) in zip([panels] if len(runs) == 1 else panels, runs.items(), strict=True):
        moved, ranks = bytes_between(events), len(events)
        between, most = crossing(moved, ranks) / nbytes, busiest(moved) / nbytes
        draw_nodes(axes, moved, ranks, nbytes, ground)
        axes.set_title(name, fontsize=10, loc="center")
        axes.text(0.75, -0.62, f"busiest rank: {most:.3g} P\nbetween nodes: {between:.3g} P", ha="center", va="top")
        told.append(f"{name}: busiest rank {most:.3g}, between nodes {between:.3g}")
    figure.alt = f"What moves in one step, in sizes of the parameters P. {'; '.join(told)}."
    return figure


def draw_nodes(axes: Axes, moved: Mapping[Pair, int], ranks: int, nbytes: int, ground: Ground) -> None:
    """Two boxes with their ranks, and an arrow for each pair between which something moved."""
    half = (ranks + 1) // 2
    places = [(1.5 * (rank >= half), 1.0 - rank % half) for rank in range(ranks)]
    for left in (0.0, 1.5):
        bottom = 1.0 - (half - 1) - 0.4
        axes.add_patch(Rectangle((left - 0.36, bottom), 0.72, 1.4 - bottom, facecolor=ground.pale, edgecolor="none"))
    for (source, target), size in moved.items():
        arrow = FancyArrowPatch(
            places[source],
            places[target],
            connectionstyle="arc3,rad=0.18",
            arrowstyle="-|>",
            mutation_scale=9,
            linewidth=max(0.6, WIDE * size / nbytes),
            color=ground.text(COLOURS[1]),
            shrinkA=11,
            shrinkB=11,
        )
        axes.add_patch(arrow)
    for rank, place in enumerate(places):
        axes.add_patch(Circle(place, RADIUS, facecolor=COLOURS[0], edgecolor=ground.paper, zorder=3))
        axes.text(*place, str(rank), ha="center", va="center", color=ink_on(COLOURS[0]), zorder=4)
    axes.set(xlim=(-0.55, 2.05), ylim=(-1.15, 1.5), aspect="equal", xticks=[], yticks=[])
    axes.set_axis_off()
