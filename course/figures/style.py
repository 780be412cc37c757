"""The look that all figures share, on a light and on a dark ground.

No ink has a contrast of 4.5 to both of JupyterLab's grounds, #FFF and #111. So each figure is drawn twice, see
`on_both_grounds`, and JupyterLab's theme chooses which of the two is seen.

Figures are made without pyplot, so there is no global state. A notebook shows a figure that is the value of a cell, or
is passed to `display`.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from course.figures.contrast import legible
from course.figures.layout import layout_for

# Okabe and Ito's colours, distinguishable with every kind of colour vision; https://jfly.uni-koeln.de/color/
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")


@dataclass(frozen=True)
class Ground:
    """What a figure is drawn on, and the inks for it.

    paper: the ground's colour. behind: what the figure brings along as its ground; "none" lets the page's show through.
    ink: of text. faint: of axes, ticks and other aids. pale: of areas that should not catch the eye.
    """

    paper: str
    behind: str
    ink: str
    faint: str
    pale: str

    def text(self, colour: str) -> str:
        """`colour` for text: as it is, or as much nearer to the ink as it takes to be read."""
        return legible(colour, self.paper, self.ink)


# The light figure brings its ground along: it is also what places without a theme show.
LIGHT = Ground(paper="#FFFFFF", behind="#FFFFFF", ink="#2B2B2B", faint="#8A8A8A", pale="#E0E0DC")
DARK = Ground(paper="#111111", behind="none", ink="#E3E3E3", faint="#8A8A8A", pale="#3A3A3A")

DOTS_PER_INCH = 110
SHARPNESS = 2  # dots drawn per dot shown, for high-density screens

LOOK = MappingProxyType(
    {
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 10,
        "axes.labelsize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
        "font.family": ["DejaVu Sans"],
        "font.size": 9.5,
        "legend.frameon": False,
        "lines.solid_capstyle": "round",
        "hatch.linewidth": 0.6,
    }
)
IN_INK = ("axes.labelcolor", "axes.titlecolor", "text.color", "xtick.labelcolor", "ytick.labelcolor")
IN_FAINT = ("axes.edgecolor", "xtick.color", "ytick.color")

# JupyterLab and nbconvert say on their page's body which theme it has. Without a style, e.g. in a notebook that is not
# trusted, the attribute `hidden` keeps the second image out of sight; JupyterLab drops one without a value.
BY_THEME = """<style>
[data-jp-theme-light="false"] .on-light-ground {{ display: none; }}
[data-jp-theme-light="false"] .on-dark-ground {{ display: inline !important; }}
</style><span class="on-light-ground">{}</span><span class="on-dark-ground" hidden="hidden">{}</span>"""


def by_theme(light: str, dark: str) -> str:
    """HTML that shows `light` or `dark`, whichever suits the page's theme. Without a theme it shows `light`."""
    return BY_THEME.format(light, dark)


class Picture(Figure):
    """A figure that a notebook shows as a sharp image. alt: what it shows, for those who cannot see it.

    A notebook stores it once for each ground, as HTML, which carries the description that JupyterLab drops from a PNG.
    Places that take no HTML show the description alone.
    ground: what it is drawn on. dark: the same figure for a dark ground, if there is one.
    """

    def __init__(self, *args: Any, alt: str = "", ground: Ground = LIGHT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.alt = alt
        self.ground = ground
        self.dark: Picture | None = None

    def png(self, sharpness: float = 1, like: Figure | None = None) -> bytes:
        """The figure as PNG, with `sharpness` x DOTS_PER_INCH dots per inch.

        like: the same figure in other colours, which was just drawn so; its layout is taken. Each figure is drawn
        once; `savefig` would draw it a second time, for its layout.
        """
        stream, before = io.BytesIO(), (self.dpi, self.get_layout_engine())
        with look(self.ground):
            self.set(dpi=DOTS_PER_INCH * sharpness, layout_engine=layout_for(self, like))
            FigureCanvasAgg(self).print_png(stream)
            self.set(dpi=before[0], layout_engine=before[1])
        return stream.getvalue()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = self.html()
        shown = shown if self.dark is None else by_theme(shown, self.dark.html(like=self))
        return {"text/html": shown, "text/plain": f"<{type(self).__name__}: {self.alt}>"}

    def html(self, like: Figure | None = None) -> str:
        """The figure on its own ground alone. like: see `png`."""
        width = round(self.get_size_inches()[0] * DOTS_PER_INCH)
        return image_html("png", base64.b64encode(self.png(SHARPNESS, like)).decode(), width, self.alt)


def image_html(kind: str, data: str, width: int, alt: str) -> str:
    """An image as HTML. kind: "png", "gif" or "webp". data: the image in base64. width: in CSS pixels."""
    size = f'width="{width}" style="--drawn: {width}px"'
    return f'<img {size} alt="{html.escape(alt)}" src="data:image/{kind};base64,{data}">'


@contextmanager
def look(ground: Ground = LIGHT) -> Iterator[None]:
    """Give everything that is drawn in this block the shared look, on this ground."""
    behind = dict.fromkeys(("figure.facecolor", "axes.facecolor"), ground.behind)
    inks = dict.fromkeys(IN_INK, ground.ink) | dict.fromkeys(IN_FAINT, ground.faint)
    with matplotlib.rc_context({**LOOK, **behind, **inks}):
        yield


def on_both_grounds(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function that draws a figure draw it twice, in the shared look.

    draw: takes the ground as its keyword `ground`, which callers leave out. What it returns for the dark ground becomes
    the attribute `dark` of what it returns for the light one.
    """

    @wraps(draw)
    def both(*args: Any, **kwargs: Any) -> Any:
        drawn = []
        for ground in (LIGHT, DARK):
            with look(ground):
                drawn.append(draw(*args, ground=ground, **kwargs))
        drawn[0].dark = drawn[1]
        return drawn[0]

    return both


def new_figure(
    width: float = 7.2,
    height: float = 4.2,
    columns: int | Sequence[float] = 1,
    alt: str = "",
    ground: Ground = LIGHT,
) -> tuple[Picture, Any]:
    """An empty figure and its axes: one Axes, or a tuple of them, side by side, if `columns` is not 1.

    width, height: inches. columns: how many, or their relative widths. alt: what the figure shows, in words.
    """
    ratios = [1.0] * columns if isinstance(columns, int) else list(columns)
    with look(ground):
        figure = Picture(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained", alt=alt, ground=ground)
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, wspace=0.06)
        axes = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
    return figure, axes[0] if len(ratios) == 1 else tuple(axes)


def quiet_grid(axes: Axes, axis: str = "both") -> None:
    """Draw faint lines at the ticks, behind everything else."""
    axes.grid(True, axis=axis, color=LIGHT.faint, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
