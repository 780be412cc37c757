"""Training through a kill, as a film: lanes of steps, flags for checkpoints, the strike, and back to the flag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from course.figures.failures.attempts import Attempt, Failure, failures_of, steps_in_words
from course.figures.film import Movie, filmed
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

STEPPING, WAITING = 60, 5  # frames of all attempts together, and of each part of a wait
QUICK, LOOK, END = 90, 1400, 3500  # milliseconds of a frame: as a rule, where there is something to see, the last one
TALL = 0.66  # of a lane's steps, in lanes
DONE, AGAIN, FLAG = COLOURS[0], COLOURS[4], COLOURS[2]


@dataclass(frozen=True)
class Moment:
    """A frame. at: seconds on the run's clock. says: what goes on. milliseconds: how long it is shown."""

    at: float
    says: str
    milliseconds: int = QUICK


@on_both_grounds
def failover_movie(attempts: Sequence[Attempt], *, ground: Ground) -> Movie:
    """A lane of steps for each rank, on the clock of the run; waits are shown in less time than they took."""
    failures = failures_of(attempts)
    ranks = max((len(attempt.steps) for attempt in attempts), default=0)
    steps = max([1, *(attempt.last for attempt in attempts)])
    told = " ".join(in_words(failure) for failure in failures) or "Nobody is killed."
    alt = f"{ranks} ranks make {steps_in_words(steps)}. {told}"
    wide = steps / 45  # of a flag, in steps
    figure, axes = new_figure(8.4, 1.75 + 0.42 * ranks, alt=alt, ground=ground)
    axes.set(xlim=(0.3, steps + 0.7 + wide), ylim=(ranks - 0.4, -1.25), xlabel="step")
    axes.set_yticks(range(ranks), [f"rank {rank}" for rank in range(ranks)])
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    corners = [box(number, rank) for rank in range(ranks) for number in range(1, steps + 1)]
    cells = axes.add_collection(PolyCollection(corners, linewidths=min(1.1, 50 / steps)), autolim=False)
    saved = sorted({number for attempt in attempts for _, number in attempt.saves if number > 0})
    poles = [axes.plot([at + 0.5] * 2, [-1.0, ranks - 0.55], color=FLAG, linewidth=1.4)[0] for at in saved]
    flags = [axes.add_patch(flag(at, wide)) for at in saved]
    strikes = axes.plot([], [], "x", color=ground.ink, markersize=15, markeredgewidth=3)[0]
    title = axes.set_title(" ")
    draw_legend(figure, ground)
    order = moments(attempts, failures)
    inks = {"done": (DONE, DONE), "again": (AGAIN, AGAIN), "lost": (ground.paper, AGAIN), "": ("none", "none")}

    def move(frame: int) -> None:
        now = order[frame].at
        title.set_text(f"{now - order[0].at:.1f} s: {order[frame].says}")
        states = states_at(attempts, failures, now, ranks, steps).ravel()
        cells.set_facecolors([to_rgba(inks[state][0]) for state in states])
        cells.set_edgecolors([to_rgba(inks[state][1]) for state in states])
        there = [number for attempt in attempts for when, number in attempt.saves if when <= now]
        for number, pole, cloth in zip(saved, poles, flags, strict=True):
            alpha = 0.0 if number not in there else 1.0 if number == there[-1] else 0.3
            pole.set_alpha(alpha)
            cloth.set_alpha(alpha)
        struck = [each for each in failures if each.before.end <= now < each.after.loaded]
        strikes.set_data(*zip(*[place_of_strike(each) for each in struck], strict=True) if struck else ([], []))

    moving = [cells, *poles, *flags, strikes, title]
    caption = "A flag is a checkpoint. The film makes waits short; the clock does not."
    return Movie(filmed(figure, moving, move, len(order)), [each.milliseconds for each in order], alt, caption)


def in_words(failure: Failure) -> str:
    """A kill and the way back, as a sentence."""
    seconds = failure.after.loaded - failure.before.end
    place = f"the flag after step {failure.back}" if failure.back else "the beginning"
    return (
        f"Rank {failure.before.killed[1]} is killed after step {failure.before.last}; {seconds:.1f} s later all go on "
        f"from {place}, and make {steps_in_words(len(failure.lost))} again."
    )


def moments(attempts: Sequence[Attempt], failures: Sequence[Failure]) -> list[Moment]:
    """The frames: as many in an attempt as it is long, and a few in each part of a wait."""
    whole = sum(attempt.end - attempt.loaded for attempt in attempts) or 1.0
    by_kill = {id(failure.before): failure for failure in failures}
    found, again = [], 0.0
    for attempt in attempts:
        frames = max(2, round(STEPPING * (attempt.end - attempt.loaded) / whole))
        for at in np.linspace(attempt.loaded, attempt.end, frames, endpoint=False):
            says = "the lost steps are made again" if at < again else "all ranks make their steps"
            found.append(Moment(at, says))
        failure = by_kill.get(id(attempt))
        if failure is None:
            continue
        found.append(Moment(attempt.end, f"rank {attempt.killed[1]} is killed", LOOK))
        marks = [attempt.end, attempt.known, failure.after.ready, failure.after.loaded]
        parts = ("the others do not know yet", "new ranks are started", "they load the checkpoint")
        for (begin, end), part in zip(pairwise(marks), parts, strict=True):
            found += [Moment(at, part) for at in np.linspace(begin, max(begin, end), WAITING, endpoint=False)]
        lost, again = steps_in_words(len(failure.lost)), failure.after.loaded + failure.parts()["redoing"]
        place = f"step {failure.back}" if failure.back else "the beginning"
        found.append(Moment(failure.after.loaded, f"back to {place}: {lost} lost", LOOK))
    done = attempts[-1] if attempts else None
    return [*found, Moment(done.end if done else 0.0, "the end", END)]


def states_at(
    attempts: Sequence[Attempt], failures: Sequence[Failure], now: float, ranks: int, steps: int
) -> np.ndarray:
    """By rank and step: "done", "lost", made "again", or "" where it has not been made."""
    states = np.full((ranks, steps), "", dtype="<U5")
    by_kill = {id(failure.before): failure for failure in failures}
    for attempt in attempts:
        for rank, own in enumerate(attempt.steps):
            for when, number, _ in own:
                if when <= now:
                    states[rank, number - 1] = "again" if states[rank, number - 1] else "done"
        failure = by_kill.get(id(attempt))
        if failure is not None and now >= attempt.known:
            late = states[:, failure.back :]
            late[late != ""] = "lost"
    return states


def place_of_strike(failure: Failure) -> tuple[float, float]:
    """Where a rank was killed: in the step after its last one."""
    rank = failure.before.killed[1]
    own = failure.before.steps[rank]
    return (own[-1][1] + 1 if own else failure.before.last + 1), rank


def box(number: int, rank: int) -> list[tuple[float, float]]:
    """The corners of a step in its lane."""
    left, right, top, bottom = number - 0.4, number + 0.4, rank - TALL / 2, rank + TALL / 2
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def flag(number: int, wide: float) -> Polygon:
    """The cloth of the flag after a step."""
    return Polygon([(number + 0.5, -1.05), (number + 0.5 + wide, -0.8), (number + 0.5, -0.55)], color=FLAG)


def draw_legend(figure: Picture, ground: Ground) -> None:
    """What the colours mean."""
    handles = [
        Patch(color=DONE, label="step made"),
        Patch(facecolor=ground.paper, edgecolor=AGAIN, label="lost"),
        Patch(color=AGAIN, label="made again"),
        Line2D([], [], color=FLAG, marker=">", linestyle="none", markersize=8, label="checkpoint"),
        Line2D([], [], color=ground.ink, marker="x", linestyle="none", markersize=9, markeredgewidth=2, label="kill"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), labelcolor=ground.ink)
