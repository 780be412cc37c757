"""Measured times of one collective against bytes, with the line that latency and bandwidth give."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from course.figures.collectives.time_picture import in_units
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def measured_line(measured: Mapping[int, float], alpha: float, beta: float, title: str, *, ground: Ground) -> Picture:
    """Dots: seconds by bytes, as measured. Line: alpha + beta bytes, in seconds."""
    told = ", ".join(f"{1e3 * seconds:.3g} ms for {in_units(nbytes)}" for nbytes, seconds in measured.items())
    figure, axes = new_figure(6.8, 3.6, alt=f"{title}. Measured: {told}.", ground=ground)
    along = np.geomspace(min(measured), max(measured), 60)
    label = f"{1e6 * alpha:.0f} µs + n / ({1e-9 / beta:.2g} GB/s)"
    axes.plot(along, 1e3 * (alpha + beta * along), color=COLOURS[1], label=label)
    axes.plot([*measured], [1e3 * seconds for seconds in measured.values()], "o", color=COLOURS[0], label="measured")
    axes.set(xscale="log", yscale="log", xlabel="bytes of the array", ylabel="milliseconds")
    ticks = [*measured][::2]
    axes.set_xticks(ticks, [in_units(each) for each in ticks])
    axes.minorticks_off()
    axes.set_title(title)
    axes.legend(loc="upper left")
    quiet_grid(axes)
    return figure
