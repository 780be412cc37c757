"""The matrix products of a small Transformer, in the order in which a token goes through them."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

WEIGHTS, ATTENTION = COLOURS[5], COLOURS[4]
PRODUCTS = (
    ("queries", "width\n× width", WEIGHTS),
    ("keys", "width\n× width", WEIGHTS),
    ("values", "width\n× width", WEIGHTS),
    ("scores", "a query\n· each key", ATTENTION),
    ("attended", "a score\n· each value", ATTENTION),
    ("output", "width\n× width", WEIGHTS),
    ("up", "width\n× hidden", WEIGHTS),
    ("down", "hidden\n× width", WEIGHTS),
)
WIDTH, APART, HEIGHT = 1.0, 0.12, 1.0


@on_both_grounds
def products_picture(*, ground: Ground) -> Picture:
    """A look-up, the products of a layer, and the head. Colours tell products with weights from those of attention."""
    alt = (
        "A token is looked up in the embedding. Each layer multiplies it with six matrices of weights: for queries, "
        "keys and values, for the output of attention, and up and down. Between them are two products of attention, "
        "without weights: of its query with the keys of all tokens, and of what comes of that with their values. A "
        "last matrix gives the scores."
    )
    figure, axes = new_figure(8.8, 2.1, alt=alt, ground=ground)
    boxes = [("embedding", "looked up", ground.pale), *PRODUCTS, ("head", "width ×\nvocabulary", WEIGHTS)]
    for number, (name, size, colour) in enumerate(boxes):
        left = number * (WIDTH + APART) + 0.2 * (number > 0) + 0.2 * (number == len(boxes) - 1)
        axes.add_patch(Rectangle((left, 0), WIDTH, HEIGHT, color=colour, linewidth=0))
        ink = ground.ink if colour == ground.pale else ink_on(colour)
        axes.text(left + WIDTH / 2, 0.76, name, ha="center", va="center", color=ink, fontsize=8, weight="bold")
        axes.text(left + WIDTH / 2, 0.34, size, ha="center", va="center", color=ink, fontsize=7.5)
    first, last = WIDTH + APART + 0.14, 9 * (WIDTH + APART) + 0.14
    frame = Rectangle((first, -0.12), last - first, HEIGHT + 0.24, fill=False, edgecolor=ground.faint, linewidth=1)
    axes.add_patch(frame)
    axes.text(first, HEIGHT + 0.22, "in each layer", color=ground.ink, fontsize=9)
    axes.set(xlim=(-0.1, 10 * (WIDTH + APART) + 0.5), ylim=(-0.2, 1.6), aspect="equal")
    axes.axis("off")
    handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in (WEIGHTS, ATTENTION)]
    names = "product with weights", "product of attention, without weights"
    figure.legend(handles, names, loc="outside lower center", ncols=2)
    return figure
