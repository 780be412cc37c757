"""Where CNNs compute, and where their weights are, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

from ..models.layer_costs import LayerCost

KINDS = {"convolution": COLOURS[0], "dense": COLOURS[1]}


@on_both_grounds
def cnn_layers_picture(costs: Mapping[str, Sequence[LayerCost]], *, ground: Ground) -> Picture:
    """Two bars for each network: its arithmetic, and its weights; each is cut at the layers, in their order.

    costs: by the network's name, its layers.
    """
    told = []
    for name, layers in costs.items():
        dense = [layer for layer in layers if layer.kind == "dense"]
        shares = [share(dense, layers, what) for what in ("flops", "weights")]
        told.append(f"{name}: dense layers have {shares[0]:.1%} of the arithmetic and {shares[1]:.0%} of the weights")
    figure, axes = new_figure(7.6, 3.9, alt="; ".join(told) + ".", ground=ground)
    places, labels = [], []
    for number, (name, layers) in enumerate(costs.items()):
        for row, (what, words) in enumerate((("flops", "arithmetic"), ("weights", "weights"))):
            place, left, total = 3 * number + row, 0.0, sum(getattr(layer, what) for layer in layers)
            for layer in layers:
                width = 100 * getattr(layer, what) / total
                given = {"facecolor": KINDS[layer.kind], "edgecolor": ground.paper, "linewidth": 0.4}
                axes.barh(place, width, 0.8, left, **given)
                left += width
            places.append(place)
            labels.append(f"{name}: {words}")
    axes.set(yticks=places, yticklabels=labels, xlim=(0, 100), xlabel="percent, from the first layer to the last")
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.spines["left"].set_visible(False)
    handles = [axes.plot([], [], linewidth=8, color=colour)[0] for colour in KINDS.values()]
    figure.legend(handles, [f"{kind} layers" for kind in KINDS], loc="outside lower center", ncols=2)
    axes.set_title("Where CNNs compute, and where their weights are")
    return figure


def share(some: Sequence[LayerCost], all_of_them: Sequence[LayerCost], what: str) -> float:
    """How much of `what` some layers have."""
    return sum(getattr(layer, what) for layer in some) / sum(getattr(layer, what) for layer in all_of_them)
