"""How models and their training data have grown since 2012, each line ten times the one below it."""

from __future__ import annotations

from typing import NamedTuple

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


class Model(NamedTuple):
    """A model as its paper describes it. weights, data: counts; data of images or of tokens; None where not
    said, or drawn already."""

    name: str
    year: float
    weights: float
    data: float | None
    of: str
    paper: str
    side: str = "left"  # of its point, on which its name stands


MODELS = (
    Model("AlexNet", 2012.9, 60e6, 1.2e6, "images", "Krizhevsky et al., NIPS 2012", "above"),
    Model("VGG-16", 2014.7, 138e6, 1.3e6, "images", "Simonyan and Zisserman 2014, arXiv:1409.1556", "right"),
    Model("GoogLeNet", 2014.7, 6.8e6, None, "images", "Szegedy et al. 2014, arXiv:1409.4842", "right"),
    Model("ResNet-152", 2015.9, 60e6, None, "images", "He et al. 2015, arXiv:1512.03385", "right"),
    Model("Transformer", 2017.5, 213e6, None, "tokens", "Vaswani et al. 2017, arXiv:1706.03762", "right"),
    Model("BERT", 2018.8, 340e6, 3.3e9, "words", "Devlin et al. 2018, arXiv:1810.04805"),
    Model("GPT-2", 2019.1, 1.5e9, None, "tokens", "Radford et al. 2019, OpenAI"),
    Model("T5", 2019.8, 11e9, 1e12, "tokens", "Raffel et al. 2019, arXiv:1910.10683"),
    Model("GPT-3", 2020.4, 175e9, 300e9, "tokens", "Brown et al. 2020, arXiv:2005.14165"),
    Model("PaLM", 2022.3, 540e9, 780e9, "tokens", "Chowdhery et al. 2022, arXiv:2204.02311", "above"),
    Model("Llama 3.1", 2024.6, 405e9, 15.6e12, "tokens", "Grattafiori et al. 2024, arXiv:2407.21783", "below"),
)


SIDES = {
    "left": ((-8, 0), "right"),
    "right": ((8, 0), "left"),
    "above": ((0, 13), "center"),
    "below": ((0, -13), "center"),
}


@on_both_grounds
def growth_picture(*, ground: Ground) -> Picture:
    """Weights and training data by year, both on a log scale."""
    told = ", ".join(f"{model.name} {model.weights:.3g}" for model in MODELS)
    figure, panels = new_figure(8.6, 4.2, columns=2, alt=f"Weights of models since 2012: {told}.", ground=ground)
    for axes, what, title in zip(panels, ("weights", "data"), ("Weights", "Images, words or tokens read"), strict=True):
        shown = [model for model in MODELS if getattr(model, what)]
        for model in shown:
            colour = COLOURS[1] if model.of == "images" else COLOURS[0]
            axes.plot(model.year, getattr(model, what), "o", color=colour, markersize=7)
            offset, anchor = SIDES[model.side]
            place = {"xytext": offset, "textcoords": "offset points", "va": "center", "ha": anchor}
            axes.annotate(model.name, (model.year, getattr(model, what)), **place)
        axes.set(yscale="log", xlim=(2011, 2026), title=title)
        axes.set_xticks(range(2012, 2026, 4))
        quiet_grid(axes)
    panels[0].plot([], [], "o", color=COLOURS[1], label="pictures")
    panels[0].plot([], [], "o", color=COLOURS[0], label="language")
    panels[0].legend(loc="lower right")
    return figure
