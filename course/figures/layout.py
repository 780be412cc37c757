"""A layout that is worked out once, for a figure that is drawn on two grounds."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine


class LayoutOf(LayoutEngine):
    """Puts a figure's axes and titles where `model` has them, which was drawn: the same figure in other colours."""

    _adjust_compatible = False
    _colorbar_gridspec = False  # as with a constrained layout, which this one takes the place of

    def __init__(self, model: Figure) -> None:
        super().__init__()
        self.model = model

    def execute(self, fig: Figure) -> None:
        """See `LayoutEngine`."""
        for own, drawn in zip(fig.axes, self.model.axes, strict=True):
            own.set(anchor=drawn.get_anchor(), box_aspect=drawn.get_box_aspect())
            own.set(position=drawn.get_position(original=True), in_layout=drawn.get_in_layout())
        for own, drawn in zip(fig.texts, self.model.texts, strict=True):
            own.set(position=drawn.get_position(), verticalalignment=drawn.get_verticalalignment())


def layout_for(figure: Figure, model: Figure | None) -> LayoutEngine | None:
    """The layout of `model`, where it has the same axes and titles as `figure`; else the figure's own. Whoever was
    given a figure may have added to it, and knows nothing of the other one."""
    if model is None or len(model.axes) != len(figure.axes) or words_of(model) != words_of(figure):
        return figure.get_layout_engine()
    return LayoutOf(model)


def words_of(figure: Figure) -> list[str]:
    """What the texts say that are the figure's own, not its axes'."""
    return [text.get_text() for text in figure.texts]
