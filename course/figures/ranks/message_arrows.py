"""Messages in a timeline: an arrow from the send, in the row of the sender, to the end of the receive."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from course.watch.messages import Message

MANY = 60  # messages; with more, the arrows fade
STRONGEST, FAINTEST = 0.8, 0.15  # opacity
STUB = 0.3, 0.02  # of an arrow that ends nowhere: rows, and part of the time axis
DASHES = (0, (2.5, 1.5))


def draw_messages(axes: Axes, sent: Sequence[Message], edge: float, scale: float, thickness: float, ink: str) -> None:
    """Draw the arrows. A message that was never received is a dashed stub towards its destination.

    edge: end of the time axis in seconds. scale: from seconds to the axis's unit. thickness: of a row's bars, in rows.
    """
    many = len(sent) > MANY
    opacity = max(FAINTEST, STRONGEST * math.sqrt(min(1.0, MANY / max(1, len(sent)))))
    arrows, stubs = [], []
    for message in sent:
        begin, end = ends(message, thickness)
        x = message.sent * scale
        if message.arrived is None:
            rows, part = STUB
            x_end = min(message.sent + part * edge, edge) * scale
            stubs.append([(x, begin), (x_end, begin + rows * direction(message))])
        else:
            arrows.append((x, begin, message.arrived * scale - x, end - begin))
    if arrows:
        axes.quiver(
            *zip(*arrows, strict=True),
            angles="xy",
            scale_units="xy",
            scale=1,
            units="inches",
            width=0.007 if many else 0.011,
            headwidth=6,
            headlength=7,
            headaxislength=6,
            color=ink,
            alpha=opacity,
            zorder=4,
            gid="messages",
        )
    # As strong as they can be: few are lost, and these are what one looks for.
    lost = LineCollection(stubs, colors=ink, linestyles=[DASHES], linewidths=1.2, zorder=4, gid="lost messages")
    axes.add_collection(lost, autolim=False)


def ends(message: Message, thickness: float) -> tuple[float, float]:
    """Where an arrow begins and ends, in rows: at the side of a bar that looks to the other one."""
    side = thickness / 2 * direction(message)
    if message.source == message.destination:
        return message.source + side, message.source + side
    return message.source + side, message.destination - side


def direction(message: Message) -> int:
    """1 for a message to a rank below, or to oneself, -1 for one to a rank above."""
    return 1 if message.destination >= message.source else -1
