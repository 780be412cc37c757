"""The paths of several ranks over one loss: one, if they keep together, or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds
from course.figures.training.loss_surface import best_line, draw_path, draw_surface, drawable, note, window


@on_both_grounds
def rank_paths_picture(
    x: torch.Tensor, y: torch.Tensor, runs: Mapping[str, Sequence[Sequence]], *, ground: Ground
) -> Picture:
    """The paths of each run over the loss of all samples x, y [n], in panels side by side.

    runs: by name, the path of each rank, a sequence of points (m, n). Equal paths are drawn once, with their number.
    """
    paths = {
        name: [
            path
            for _, path in drawable(
                [(0, torch.tensor([list(point) for point in own], dtype=x.dtype)) for own in of_run]
            )
        ]
        for name, of_run in runs.items()
    }
    every = torch.cat([path for of_run in paths.values() for path in of_run] + [best_line(x, y)[None]])
    ranges = window(every)
    told = []
    width = {1: 5.4, 2: 8.4}.get(len(paths), 10.4)
    figure, axes = new_figure(width, 3.9, columns=len(paths), alt="", ground=ground)
    for panel, (name, of_run) in zip([axes] if len(paths) == 1 else axes, paths.items(), strict=True):
        draw_surface(panel, x, y, ranges, ground)
        different = list({tuple(map(tuple, path.tolist())): path for path in of_run}.values())
        ends = ", ".join(f"({path[-1, 0]:.2f}, {path[-1, 1]:.2f})" for path in different)
        told.append(f"{name}: {len(different)} path{'s' * (len(different) > 1)}, ending at {ends}")
        for rank, path in enumerate(different):
            draw_path(panel, path, ground.text(COLOURS[rank % len(COLOURS)]), ground)
            if len(of_run) > 1:
                label = f"rank {rank}" if len(different) > 1 else f"all {len(of_run)} ranks"
                note(panel, label, path[0].tolist(), (4, -13), ground)
        panel.set_title(name)
        if panel is not (axes if len(paths) == 1 else axes[0]):
            panel.set_ylabel("")
    figure.alt = f"Paths over the loss. {'; '.join(told)}."
    return figure
