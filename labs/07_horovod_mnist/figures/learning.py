"""Loss and accuracy of one or more runs, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, PercentFormatter

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

PALE = 0.8  # opacity of a broad line, which is seen on both grounds


@on_both_grounds
def learning_picture(runs: Mapping[str, Sequence[dict]], goal: float | None = None, *, ground: Ground) -> Picture:
    """Draw the loss (left) and the accuracy (right) over the epochs.

    runs: by name, a dict for each epoch, with `epoch` from 0, `loss`, and `accuracy` in [0, 1]. The first of several
    runs is drawn broad and pale, so that another on top of it can be seen. goal: accuracy to mark.
    """
    ends = "; ".join(
        f"{name}: loss {run[-1]['loss']:.3f}, {run[-1]['accuracy']:.1%} right" for name, run in runs.items()
    )
    alt = f"Loss and accuracy after each epoch. At the end, {ends}."
    figure, (left, right) = new_figure(width=7.6, height=3.5, columns=2, alt=alt, ground=ground)
    for number, (name, run) in enumerate(runs.items()):
        epochs = [entry["epoch"] + 1 for entry in run]
        form = {"linewidth": 7, "alpha": PALE} if number == 0 and len(runs) > 1 else {"marker": "o", "markersize": 4}
        for axes, key in ((left, "loss"), (right, "accuracy")):
            values = [entry[key] for entry in run]
            axes.plot(epochs, values, color=ground.text(COLOURS[number]), label=name, **form)
    left.set_yscale("log")
    left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    left.yaxis.set_minor_formatter(NullFormatter())
    left.set_title("Mean loss of the epoch")
    right.set_title("Accuracy on the test set")
    right.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    right.set_ylim(None, 1.0)
    if goal is not None:
        about = {"color": ground.faint, "linewidth": 1, "linestyle": "--", "zorder": 0}
        right.axhline(goal, label=f"{goal * 100:.0f} %, the goal", **about)
    for axes in (left, right):
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        quiet_grid(axes, "y")
    handles, names = right.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3)
    return figure
