"""This lab's ways to average gradients, written by hand, beside torch's DistributedDataParallel.

    python solutions/09_inside_ddp/bench/inside_ddp.py [--turns 150]

Two ranks of one thread each train Transformers of two sizes. The ways are those of its solution: an all-reduce
for each parameter or for each bucket, after the backward pass or from hooks during it. All of them start from the same
weights and see the same samples; before anything is timed, their gradients are held against those of
DistributedDataParallel. They take turns of one step, and each step's time is divided by that of DistributedDataParallel
in the same turn. Prints the median of these ratios and the ratio of the least times, and draws them beside this file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from autograde.making.solved import solved_notebook
from course.figures.style import COLOURS, look, new_figure, quiet_grid
from course.processes.surroundings.machine import cores
from course.world import RANK, World

HERE = Path(__file__).resolve().parent
LAB = HERE.parent.name
RANKS = 2
SIZES = {"small": (64, 2), "large": (256, 3)}  # numbers of a token, and layers
WORDS, SENTENCES, TOKENS = 400, 16, 12  # in the vocabulary, in a rank's batch, in a sentence
BUCKET_MIB = 1.0  # of the reducer and of DistributedDataParallel
TORCHS = "DistributedDataParallel"
NOTHING = "nothing sent"
WAYS = (
    NOTHING,
    "each parameter, after backward",
    "each parameter, during backward",
    "buckets, after backward",
    "buckets, during backward",
    TORCHS,
)

Step = Callable[[], None]


def stepping(way: str, lab: dict[str, Any], d_model: int, layers: int, rank: int) -> tuple[Any, Step]:
    """On a rank: a model, and a function that makes one step on it. lab: what the notebook's cells define."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    from course.models.translator.sentences import loss_fn
    from course.models.translator.transformer import Transformer

    torch.manual_seed(0)
    model = Transformer(WORDS, d_model=d_model, heads=4, layers=layers)
    torch.manual_seed(1 + rank)
    tokens = torch.randint(4, WORDS, (SENTENCES, TOKENS))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    forward, backward = averaging(way, lab, model, DistributedDataParallel)

    def step() -> None:
        optimizer.zero_grad()
        backward(loss_fn(forward(tokens, tokens), tokens) / tokens.numel())
        optimizer.step()

    return model, step


def averaging(way: str, lab: dict[str, Any], model: Any, wrapper: type) -> tuple[Callable, Callable[[Any], None]]:
    """The forward pass, and the backward pass of a loss after which the gradients are averaged."""
    if way == NOTHING:
        return model, lambda loss: loss.backward()
    if way == TORCHS:
        return wrapper(model, bucket_cap_mb=BUCKET_MIB), lambda loss: loss.backward()
    if way == "each parameter, after backward":
        return model, lambda loss: (loss.backward(), lab["average_gradients"](model))
    if way == "each parameter, during backward":
        finish = lab["overlap_backward"](model)
        return model, lambda loss: (loss.backward(), finish())
    sizes = [parameter.nbytes for parameter in model.parameters()]
    reducer = lab["Reducer"](model, lab["assign_buckets"](sizes, int(BUCKET_MIB * 2**20)))
    if way == "buckets, during backward":
        return model, lambda loss: (loss.backward(), reducer.finish())

    def after(loss: Any) -> None:
        with reducer.no_sync():
            loss.backward()
        reducer.finish()  # sends what has not been sent: all buckets

    return model, after


def turns_of(notebook: Path, size: tuple[int, int], turns: int, rank: int) -> dict[str, Any]:
    """Runs on each rank: how many tensors the model's parameters are, and how many numbers; by way the seconds of its
    steps."""
    import torch
    import torch.distributed as dist

    from course.batch.torchrun_rank import definitions

    torch.set_num_threads(1)
    lab = definitions(notebook, "Reducer")
    models = {way: stepping(way, lab, *size, rank) for way in WAYS}
    for _, step in models.values():
        step()
    agree(models)
    for _, step in models.values():  # DistributedDataParallel has cut its buckets anew
        step()
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(turns):
        for way in WAYS[:: -1 if turn % 2 else 1]:
            dist.barrier()
            began = time.perf_counter()
            models[way][1]()
            seconds[way].append(time.perf_counter() - began)
    parameters = [*models[TORCHS][0].parameters()]
    return {"tensors": len(parameters), "numbers": sum(each.numel() for each in parameters), "seconds": seconds}


def agree(models: dict[str, tuple[Any, Step]]) -> None:
    """Raises AssertionError unless each way's gradients are DistributedDataParallel's, except where nothing is sent."""
    import torch

    def gradients(way: str) -> torch.Tensor:
        return torch.cat([parameter.grad.flatten() for parameter in models[way][0].parameters()])

    expected = gradients(TORCHS)
    for way in WAYS:
        same = torch.allclose(gradients(way), expected, rtol=1e-4, atol=1e-7)
        assert same == (way != NOTHING), f"the gradients of '{way}' are {'' if same else 'not '}those of {TORCHS}"


def slowest(ranks: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Seconds of each turn on its slowest rank, by way. ranks: what each of them measured."""
    return {way: [*map(max, zip(*(each[way] for each in ranks), strict=True))] for way in ranks[0]}


def ratios(seconds: dict[str, list[float]]) -> dict[str, list[float]]:
    """Each turn's time by that of DistributedDataParallel in the same turn, by way."""
    return {
        way: [own / torchs for own, torchs in zip(turns, seconds[TORCHS], strict=True)]
        for way, turns in seconds.items()
    }


def of_least(seconds: dict[str, list[float]]) -> dict[str, float]:
    """The least time of each way by the least of DistributedDataParallel."""
    return {way: min(turns) / min(seconds[TORCHS]) for way, turns in seconds.items()}


def drawn(found: dict[str, dict[str, list[float]]], folder: Path) -> None:
    """Draw the ratios: of most turns, their median, and that of the least times. found: seconds, by model."""
    figure, panels = new_figure(9.2, 3.6, len(found))
    shown = [way for way in WAYS if way != TORCHS]
    heights = np.arange(len(shown))[::-1]
    for number, (axes, (model, seconds)) in enumerate(zip(panels, found.items(), strict=True)):
        by_turn, least = ratios(seconds), of_least(seconds)
        for height, way in zip(heights, shown, strict=True):
            turns = by_turn[way]
            axes.plot(np.quantile(turns, (0.1, 0.9)), [height] * 2, color=COLOURS[5], linewidth=5, alpha=0.5)
            axes.plot(median(turns), height, "o", color=COLOURS[0], markersize=8, zorder=3)
            axes.plot(least[way], height, "D", color=COLOURS[1], markersize=6, zorder=3)
        axes.axvline(1, color=figure.ground.faint, linewidth=1, linestyle="--")
        axes.set_yticks(heights, shown if number == 0 else [""] * len(shown))
        axes.tick_params(axis="y", length=0)
        axes.set(xlim=(0, None), ylim=(-0.6, len(shown) - 0.4))
        axes.set(title=model, xlabel=f"time of a step, {TORCHS} = 1")
        quiet_grid(axes, "x")
    panels[0].plot([], [], color=COLOURS[5], linewidth=5, alpha=0.5, label="8 of 10 turns")
    panels[0].plot([], [], "o", color=COLOURS[0], label="median of the turns")
    panels[0].plot([], [], "D", color=COLOURS[1], label="least times")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    (folder / "inside_ddp.png").write_bytes(figure.png())


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=150, help="of each way and model (default: 150)")
    parser.add_argument("--pictures", type=Path, default=HERE, help="folder of the plot (default: that of this file)")
    chosen = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder, World(RANKS, progress=False) as world:
        notebook = solved_notebook(LAB, Path(folder))
        print(f"{RANKS} ranks of one thread on {cores()} cores, buckets of {BUCKET_MIB:g} MiB, {chosen.turns} turns")
        for name, size in SIZES.items():
            options = {"init": "torch", "watch": False, "deadline": 600}
            results = world.run(turns_of, notebook, size, chosen.turns, RANK, **options)
            seconds = slowest([each["seconds"] for each in results])
            about = f"{results[0]['tensors']} tensors", f"{results[0]['numbers'] / 1e6:.1f} million numbers"
            print(f"\n{name} model, {', '.join(about)}\n{'':34} {'median':>7} {'least':>7}   x {TORCHS}")
            for way, turns in ratios(seconds).items():
                print(
                    f"{way:34} {median(turns):7.2f} {of_least(seconds)[way]:7.2f}   {min(seconds[way]) * 1e3:8.2f} ms"
                )
            found[f"{name} model, {about[0]},\n{about[1]}"] = seconds
    with look():
        drawn(found, chosen.pictures)


if __name__ == "__main__":
    main()
