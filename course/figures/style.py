"""The look that all figures share, with an opaque light background that suits a light and a dark JupyterLab.

No ink has a contrast of 4.5 to both of JupyterLab's grounds, #FFF and #111: a figure that is to look at home on both is
drawn twice, see `Picture.dark`.

Figures are made without pyplot, so there is no global state. A notebook shows a figure that is the value of a cell, or
is passed to `display`.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colours, distinguishable with every kind of colour vision; https://jfly.uni-koeln.de/color/
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
INK = "#2B2B2B"  # text and axes
FAINT = "#8A8A8A"  # grid, ticks and other aids
GROUND = "#FCFCFA"

DOTS_PER_INCH = 110
SHARPNESS = 2  # dots drawn per dot shown, for high-density screens

LOOK = MappingProxyType(
    {
        "figure.facecolor": GROUND,
        "axes.facecolor": GROUND,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
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
        "text.color": INK,
        "xtick.color": FAINT,
        "ytick.color": FAINT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "legend.frameon": False,
        "lines.solid_capstyle": "round",
        "hatch.linewidth": 0.6,
    }
)
DARK_LOOK = MappingProxyType(
    {
        **LOOK,
        **dict.fromkeys(("figure.facecolor", "axes.facecolor"), "none"),  # JupyterLab's own ground
        **dict.fromkeys(
            ("axes.labelcolor", "axes.titlecolor", "text.color", "xtick.labelcolor", "ytick.labelcolor"), "#E3E3E3"
        ),
    }
)
LOOKS = MappingProxyType({"light": LOOK, "dark": DARK_LOOK})

# JupyterLab and nbconvert say on their page's body which theme it has. Without a style, e.g. in a notebook that is not
# trusted, the attribute `hidden` keeps the second image out of sight; JupyterLab drops one without a value.
BY_THEME = """<style>
[data-jp-theme-light="false"] .on-light-ground {{ display: none; }}
[data-jp-theme-light="false"] .on-dark-ground {{ display: inline !important; }}
</style><span class="on-light-ground">{}</span><span class="on-dark-ground" hidden="hidden">{}</span>"""


class Picture(Figure):
    """A figure that a notebook shows as a sharp image. alt: what it shows, for those who cannot see it.

    Its HTML carries the description, which JupyterLab drops from a PNG; its PNG is for places that take no HTML.
    ground: "light" or "dark", for which it is drawn. dark: the same figure for a dark ground, if there is one.
    """

    def __init__(self, *args: Any, alt: str = "", ground: str = "light", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.alt = alt
        self.ground = ground
        self.dark: Picture | None = None

    def png(self, sharpness: float = 1) -> bytes:
        """The figure as PNG, with `sharpness` x DOTS_PER_INCH dots per inch."""
        stream = io.BytesIO()
        with look(self.ground):
            self.savefig(stream, format="png", dpi=DOTS_PER_INCH * sharpness)
        return stream.getvalue()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        width, height = (round(inches * DOTS_PER_INCH) for inches in self.get_size_inches())
        data = base64.b64encode(self.png(SHARPNESS)).decode()
        shown = {"text/html": image_html("png", data, width, self.alt), "image/png": data}
        if self.dark is not None:
            on_dark = base64.b64encode(self.dark.png(SHARPNESS)).decode()
            shown["text/html"] = BY_THEME.format(shown["text/html"], image_html("png", on_dark, width, self.alt))
        return shown, {"image/png": {"width": width, "height": height, "alt": self.alt}}


def image_html(kind: str, data: str, width: int, alt: str) -> str:
    """An image as HTML. kind: "png" or "gif". data: the image in base64. width: in CSS pixels."""
    return f'<img width="{width}" alt="{html.escape(alt)}" src="data:image/{kind};base64,{data}">'


@contextmanager
def look(ground: str = "light") -> Iterator[None]:
    """Give everything that is drawn in this block the shared look, for a "light" or a "dark" ground."""
    with matplotlib.rc_context(dict(LOOKS[ground])):
        yield


def new_figure(
    width: float = 7.2,
    height: float = 4.2,
    columns: int | Sequence[float] = 1,
    alt: str = "",
    ground: str = "light",
) -> tuple[Picture, Any]:
    """An empty figure and its axes: one Axes, or a tuple of them, side by side, if `columns` is not 1.

    width, height: inches. columns: how many, or their relative widths. alt: what the figure shows, in words.
    ground: "light" or "dark", what it is drawn for.
    """
    ratios = [1.0] * columns if isinstance(columns, int) else list(columns)
    with look(ground):
        figure = Picture(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained", alt=alt, ground=ground)
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, wspace=0.06)
        axes = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
    return figure, axes[0] if len(ratios) == 1 else tuple(axes)


def quiet_grid(axes: Axes, axis: str = "both") -> None:
    """Draw faint lines at the ticks, behind everything else."""
    axes.grid(True, axis=axis, color=FAINT, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
