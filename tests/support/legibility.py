"""Whether the words of a figure can be read: none over another, none cut off at the edge, none too faint."""

from __future__ import annotations

import base64
import html
import io
import re
from functools import cached_property
from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from course.figures.contrast import TEXT, contrast
from course.figures.style import look

IMAGE = re.compile(r'<img width="(\d+)" style="[^"]*" alt="(.*?)" src="data:image/png;base64,(.*?)">')
SLACK = 1.5  # dots: boxes are a little larger than the ink in them


class Drawn:
    """A figure that is drawn once for all that is asked about it.

    texts: every text that shows, with its box in dots. words: what they say, with the same boxes. shown: what a
    notebook stores, by type. dark: the same figure on a dark ground.
    """

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    @cached_property
    def texts(self) -> list[tuple[Text, Bbox]]:
        self.figure.draw_without_rendering()
        renderer = FigureCanvasAgg(self.figure).get_renderer()
        hidden = set()
        for axes in self.figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                    if not low <= tick.get_loc() <= high:
                        hidden |= {tick.label1, tick.label2}
        shown = [text for text in self.figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
        return [(text, text.get_window_extent(renderer)) for text in shown if text not in hidden]

    @property
    def words(self) -> list[tuple[str, Bbox]]:
        return [(text.get_text(), box) for text, box in self.texts]

    @cached_property
    def shown(self) -> dict[str, str]:
        return self.figure._repr_mimebundle_()

    @cached_property
    def dark(self) -> Drawn:
        return Drawn(self.figure.dark)


def too_faint(drawn: Drawn) -> list[str]:
    """Texts with too little contrast to what lies behind most of their box."""
    figure = drawn.figure
    texts = [(text, box, text.get_alpha()) for text, box in drawn.texts]
    canvas, layout = FigureCanvasAgg(figure), figure.get_layout_engine()
    figure.set_layout_engine("none")  # it was laid out for its texts' boxes
    for text, _, _ in texts:
        text.set_alpha(0)  # its own ground, if it has one, stays
    with look(figure.ground):
        canvas.draw()
    figure.set_layout_engine(layout)
    for text, _, alpha in texts:
        text.set_alpha(alpha)
    dots = np.asarray(canvas.buffer_rgba()) / 255
    paper = np.array(to_rgb(figure.ground.paper))
    faint = []
    for text, box, _ in texts:
        top, bottom = round(dots.shape[0] - box.y1), round(dots.shape[0] - box.y0)
        behind = dots[max(0, top) : bottom, max(0, round(box.x0)) : round(box.x1)].reshape(-1, 4)
        solid = behind[:, :3] * behind[:, 3:] + paper * (1 - behind[:, 3:])
        colours, counts = np.unique(solid.round(2), axis=0, return_counts=True)
        if contrast(to_hex(text.get_color()), to_hex(colours[counts.argmax()])) < TEXT - 0.05:
            faint.append(text.get_text())
    return faint


def overlaps(drawn: Drawn) -> list[tuple[str, str]]:
    """Pairs of texts that lie over one another."""
    found = []
    for (one, box), (other, other_box) in combinations(drawn.words, 2):
        shared = Bbox.intersection(box, other_box)
        if shared is not None and min(shared.width, shared.height) > SLACK:
            found.append((one, other))
    return found


def cut_off(drawn: Drawn) -> list[str]:
    """Texts that reach over the edge of the figure."""
    width, height = drawn.figure.bbox.width + SLACK, drawn.figure.bbox.height + SLACK
    return [text for text, box in drawn.words if min(box.x0, box.y0) < -SLACK or box.x1 > width or box.y1 > height]


def assert_words_are_readable(drawn: Drawn) -> None:
    """No word of a figure covers another, and none is cut off."""
    assert overlaps(drawn) == []
    assert cut_off(drawn) == []


def assert_sharp_on_light_ground(drawn: Drawn) -> None:
    """A notebook shows a figure with two dots for one, with its text for those who cannot see it, on its own ground."""
    alt = drawn.figure.alt
    width, text, data = IMAGE.search(drawn.shown["text/html"]).groups()
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")
    assert image.width >= 2 * int(width) - 2
    assert html.unescape(text) == alt and alt in drawn.shown["text/plain"]
    corner = image.getpixel((2, 2))
    assert corner[3] == 255 and min(corner[:3]) > 240


def assert_text_stands_out(drawn: Drawn) -> None:
    """No word of a figure is fainter than text may be, on whatever it stands."""
    assert too_faint(drawn) == []


def assert_looks_at_home_on_a_dark_ground(drawn: Drawn) -> None:
    """On a dark ground there is the same figure with nothing behind it, and with the same text for the blind."""
    assert [text for text, _ in drawn.dark.words] == [text for text, _ in drawn.words]
    (_, light, _), (_, dark, data) = IMAGE.findall(drawn.shown["text/html"])
    assert html.unescape(light) == html.unescape(dark) == drawn.figure.alt
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")
    assert image.getpixel((2, 2))[3] == 0
