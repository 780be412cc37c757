"""The loss of a training as a curve that grows in the notebook while the ranks train.

It is drawn as a few lines of SVG, which takes the machine a millisecond: the ranks need its cores. Its colours are
those of JupyterLab's theme, light or dark.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from IPython.display import DisplayHandle

from course.figures.theme_colours import ACCENT, EDGE, INK

from ..models.noted_losses import noted_losses

EVERY = 0.5  # seconds between two looks at the file
WIDTH, HEIGHT, LEFT, BELOW = 640, 180, 40, 22  # of the curve, and for its numbers, in CSS pixels


class LiveLoss:
    """Shows the losses in a file of `..models.noted_losses.noting` as long as this context is open.

    path: of the file. steps: that the training will make. micro_batches: in each. At the end one line of text stays.
    """

    def __init__(self, path: str, steps: int, micro_batches: int) -> None:
        self.path, self.steps, self.micro_batches = path, steps, micro_batches
        self.handle = DisplayHandle()
        self.losses: list[float] = []
        self.began = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> LiveLoss:
        self.began = time.monotonic()
        self.show("Waiting for the first step", "")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self.losses = noted_losses(self.path, self.micro_batches)
        self.show(f"{len(self.losses)} steps in {time.monotonic() - self.began:.1f} s" if self.losses else "", "")

    def _follow(self) -> None:
        """Look at the file again and again, and show what is new."""
        while not self._end.wait(EVERY):
            losses = noted_losses(self.path, self.micro_batches)
            if len(losses) > len(self.losses):
                self.losses = losses
                line = f"step {len(losses)} of {self.steps}, loss per token {losses[-1]:.2f}"
                self.show(line, curve(losses, self.steps, line))

    def show(self, line: str, drawn: str) -> None:
        """Show a line of text, and a curve where there is one, in place of what was shown before."""
        html = f'<div style="color:{INK}">{line}</div>{drawn}'
        show = self.handle.update if self._thread.is_alive() or self._end.is_set() else self.handle.display
        show({"text/plain": line, "text/html": html}, raw=True)


def curve(losses: Sequence[float], steps: int, alt: str) -> str:
    """The losses of some of `steps` steps as an SVG. alt: what it shows, in words."""
    top = max(1.0, max(losses))

    def across(step: float) -> float:
        return LEFT + (WIDTH - LEFT - 4) * step / max(1, steps)

    def down(loss: float) -> float:
        return 6 + (HEIGHT - BELOW - 6) * (1 - loss / top)

    points = " ".join(f"{across(step):.1f},{down(loss):.1f}" for step, loss in enumerate(losses, 1))
    levels = [level for level in range(0, int(top) + 1, max(1, int(top) // 4))]
    grid = "".join(
        f'<line x1="{LEFT}" x2="{WIDTH}" y1="{down(level):.1f}" y2="{down(level):.1f}" stroke="{EDGE}"/>'
        f'<text x="{LEFT - 6}" y="{down(level) + 4:.1f}" text-anchor="end">{level}</text>'
        for level in levels
    )
    ends = f'<text x="{LEFT}" y="{HEIGHT - 4}">0</text>'
    ends += f'<text x="{WIDTH - 4}" y="{HEIGHT - 4}" text-anchor="end">step {steps}</text>'
    path = f'<polyline points="{points}" fill="none" stroke="{ACCENT}" stroke-width="2"/>'
    return (
        f'<svg role="img" aria-label="{alt}" width="{WIDTH}" height="{HEIGHT}" '
        f'style="fill:{INK};font-size:12px">{grid}{ends}{path}</svg>'
    )
