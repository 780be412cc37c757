"""Whether the words of a figure can be read: none over another, none cut off at the edge."""

from __future__ import annotations

import base64
import html
import io
from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from course.figures.style import Picture

SLACK = 1.5  # dots: boxes are a little larger than the ink in them


def words(figure: Figure) -> list[tuple[str, Bbox]]:
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
    return [(text.get_text(), text.get_window_extent(renderer)) for text in shown if text not in hidden]


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
    data, metadata = figure._repr_mimebundle_()
    shown = metadata["image/png"]
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGBA")
    assert image.width >= 2 * shown["width"] - 2
    assert shown["alt"]
    assert f'<img width="{shown["width"]}" alt="{html.escape(shown["alt"])}" src=' in data["text/html"]
    corner = image.getpixel((2, 2))
    assert corner[3] == 255 and min(corner[:3]) > 240
