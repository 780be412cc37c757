"""Whether the words of a figure can be read: none over another, none cut off at the edge, none too faint."""

from __future__ import annotations

import base64
import html
import io
import re
from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from course.figures.contrast import TEXT, contrast
from course.figures.style import Picture, look

SLACK = 1.5  # dots: boxes are a little larger than the ink in them


def shown_texts(figure: Figure) -> list[tuple[Text, Bbox]]:
    """Every text that shows in `figure`, with its box in dots."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    hidden = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low <= tick.get_loc() <= high:
                    hidden |= {tick.label1, tick.label2}
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [(text, text.get_window_extent(renderer)) for text in shown if text not in hidden]


def words(figure: Figure) -> list[tuple[str, Bbox]]:
    """What the texts of `figure` say, with their boxes in dots."""
    return [(text.get_text(), box) for text, box in shown_texts(figure)]


def too_faint(figure: Picture) -> list[str]:
    """Texts with too little contrast to what lies behind most of their box."""
    texts = [(text, box, text.get_alpha()) for text, box in shown_texts(figure)]
    canvas = FigureCanvasAgg(figure)
    for text, _, _ in texts:
        text.set_alpha(0)  # its own ground, if it has one, stays
    with look(figure.ground):
        canvas.draw()
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


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that lie over one another."""
    found = []
    for (one, box), (other, other_box) in combinations(words(figure), 2):
        shared = Bbox.intersection(box, other_box)
        if shared is not None and min(shared.width, shared.height) > SLACK:
            found.append((one, other))
    return found


def cut_off(figure: Figure) -> list[str]:
    """Texts that reach over the edge of the figure."""
    width, height = figure.bbox.width + SLACK, figure.bbox.height + SLACK
    return [text for text, box in words(figure) if min(box.x0, box.y0) < -SLACK or box.x1 > width or box.y1 > height]


def assert_words_are_readable(figure: Figure) -> None:
    """No word of `figure` covers another, and none is cut off."""
    assert overlaps(figure) == []
    assert cut_off(figure) == []


def assert_sharp_on_light_ground(figure: Picture) -> None:
    """A notebook shows `figure` with two dots for one, with its text for those who cannot see it, on its own ground."""
    shown = figure._repr_mimebundle_()
    image = re.search(r'<img width="(\d+)" alt="(.*?)" src="data:image/png;base64,(.*?)">', shown["text/html"])
    width, alt, data = image.groups()
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")
    assert image.width >= 2 * int(width) - 2
    assert html.unescape(alt) == figure.alt and figure.alt in shown["text/plain"]
    corner = image.getpixel((2, 2))
    assert corner[3] == 255 and min(corner[:3]) > 240


def assert_text_stands_out(figure: Picture) -> None:
    """No word of `figure` is fainter than text may be, on whatever it stands."""
    assert too_faint(figure) == []


def assert_looks_at_home_on_a_dark_ground(figure: Picture) -> None:
    """On a dark ground there is the same figure with nothing behind it, and with the same text for the blind."""
    assert [text for text, _ in words(figure.dark)] == [text for text, _ in words(figure)]
    image = Image.open(io.BytesIO(figure.dark.png())).convert("RGBA")
    assert image.getpixel((2, 2))[3] == 0
    shown = figure._repr_mimebundle_()["text/html"]
    assert shown.count("<img ") == shown.count(f'alt="{html.escape(figure.alt)}"') == 2
