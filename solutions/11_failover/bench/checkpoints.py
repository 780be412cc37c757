"""What checkpoints and failures cost together in this lab's training, against the steps between two checkpoints.

    python solutions/11_failover/bench/checkpoints.py [--turns 4] [--length 4]

Two ranks train the lab's model by its solution, and write its checkpoints. At moments drawn from an exponential
distribution they are struck: all of them drop what they have, model and optimizer included, and start again from the
file, in the same processes (how long new processes take: restarts.py). Lost is the time of saves, of restarts, and of
steps that have to be made again; it is divided by the time of the steps that are kept. Runs with different numbers of
steps between checkpoints take turns.

So many failures as a smooth curve needs would take hours. The curve is a replay: the measured times of a step, a save
and a restart, and thousands of drawn failures. Beside it are the best intervals of Young (CACM 17, 1974, 530-531) and
of Daly (Future Generation Computer Systems 22, 2006, 303-312). Drawn beside this file.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from math import exp, sqrt
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from autograde.making.solved import solved_notebook
from course.figures.failures import young
from course.figures.style import COLOURS, look, new_figure, quiet_grid
from course.processes.surroundings.machine import cores
from course.world import RANK, World

HERE = Path(__file__).resolve().parent
LAB = HERE.parent.name
RANKS = 2
EPOCH = 12  # steps in the lab's epoch
APART = {"failures are rare": 100, "failures are frequent": 20}  # mean time between two, in times of a save
NEVER = 1e9  # seconds between failures
AROUND = (1 / 6, 1 / 2.5, 1, 2.5, 6)  # steps between checkpoints in the runs, by Young's best
WIDE = 8  # the curve goes from Young's best over this to Young's best times this
STRUCK = 4000  # failures in each point of the curve


@dataclass(frozen=True)
class Costs:
    """Seconds of a step, of a save, and from a failure until all is loaded again."""

    step: float
    save: float
    restart: float


class Struck(Exception):
    """All ranks have failed."""


class Run:
    """A training through failures on a rank, from its beginning to its end; stands where `train` has its Preemption.

    lab: what the notebook's cells define. mean: seconds between two failures. Their moments are drawn on rank 0, and
    the ranks agree on them by an all-reduce. A failure comes to be known after the step, the save or the restart in
    which it falls, and undoes that.
    Afterwards `lost` and `kept` are seconds of rank 0, the first start left out, and `steps`, `saves` and `restarts`
    lists of them: of the steps that are kept, of all saves, of the times until all is loaded.
    """

    def __init__(self, lab: dict[str, Any], mean: float, rank: int, rng: Random) -> None:
        self.lab, self.mean, self.rank, self.rng = lab, mean, rank, rng
        self.load, self.save = lab["load_checkpoint"], lab["save_checkpoint"]
        self.steps: list[float] = []
        self.since: list[float] = []  # the last checkpoint: seconds of steps that the next failure would undo
        self.saves: list[float] = []
        self.restarts: list[float] = []
        self.strike = self.now = self.began = 0.0

    def lap(self) -> float:
        """Seconds since the last call."""
        before, self.now = self.now, time.perf_counter()
        return self.now - before

    def survive(self) -> None:
        """Raises Struck on all ranks if the moment of the next failure has come."""
        import torch
        import torch.distributed as dist

        struck = torch.tensor([float(self.rank == 0 and time.perf_counter() >= self.strike)])
        dist.all_reduce(struck, dist.ReduceOp.MAX)
        if struck.item():
            raise Struck

    def agreed(self) -> bool:
        """A step is made. False: nobody asks the ranks to leave."""
        self.survive()
        self.since.append(self.lap())
        return False

    def loading(self, *args: Any) -> tuple[int, int]:
        """In place of `load_checkpoint`."""
        place = self.load(*args)
        self.survive()
        self.restarts.append(self.lap())
        self.began = self.began or self.now
        return place

    def saving(self, path: str, *args: Any) -> None:
        """In place of `save_checkpoint`: what is struck while it is written is not there."""
        self.save(f"{path}.new", *args)
        self.survive()
        if self.rank == 0:
            os.replace(f"{path}.new", path)
        self.saves.append(self.lap())
        self.steps += self.since
        self.since.clear()

    def train(self, path: Path, every: int, epochs: int) -> None:
        """Train to the end, however often it takes a new start."""
        from torch.nn.functional import cross_entropy

        self.lap()
        self.lab.update(load_checkpoint=self.loading, save_checkpoint=self.saving)  # what the lab's `train` calls
        try:
            done = False
            while not done:
                self.strike = self.now + self.rng.expovariate(1 / self.mean)
                with suppress(Struck):
                    model, optimizer, loader = self.lab["build"](self.lab["IMAGES"])
                    self.lab["train"](model, loader, optimizer, cross_entropy, epochs, every, str(path), self)
                    done = True
                if not done:
                    self.since.clear()
                    self.lap()
        finally:
            self.lab.update(load_checkpoint=self.load, save_checkpoint=self.save)
        assert len(self.steps) == epochs * EPOCH, "each step is kept once"
        self.kept = sum(self.steps)
        self.lost = time.perf_counter() - self.began - self.kept


def runs_of(notebook: Path, wanted: list[tuple[int, int, float, int]], rank: int) -> list[dict[str, Any]]:
    """Runs on each rank: one training after the other, and what each has measured. wanted: of each its steps between
    checkpoints, its epochs, the mean time between failures, and the seed of these."""
    import torch

    from course.batch.torchrun_rank import definitions

    torch.set_num_threads(1)
    lab, found = definitions(notebook, "train"), []
    for every, epochs, mean, seed in wanted:
        run, path = Run(lab, mean, rank, Random(seed)), notebook.with_name("checkpoint.pt")
        run.train(path, every, epochs)
        found.append({name: getattr(run, name) for name in ("lost", "kept", "steps", "saves", "restarts")})
        torch.distributed.barrier()
        if rank == 0:
            path.unlink()
        torch.distributed.barrier()
    return found


def replayed(costs: Costs, every: int, mean: float, rng: Random, failures: int = STRUCK) -> float:
    """Seconds of a training through drawn failures, by the seconds of its steps, less 1. The training is so long that
    about so many failures strike it."""
    segment = every * costs.step + costs.save
    segments = max(1, round(failures * mean / segment))
    now, failure = 0.0, rng.expovariate(1 / mean)
    for _ in range(segments):
        while now + segment > failure:
            now, failure = failure, failure + rng.expovariate(1 / mean)
            while now + costs.restart > failure:
                now, failure = failure, failure + rng.expovariate(1 / mean)
            now += costs.restart
        now += segment
    return now / (segments * every * costs.step) - 1


def expected(costs: Costs, every: float, mean: float) -> float:
    """What `replayed` comes to with more and more failures (Daly 2006, equation 20)."""
    interval = every * costs.step
    return mean * exp(costs.restart / mean) * (exp((interval + costs.save) / mean) - 1) / interval - 1


def youngs(costs: Costs, mean: float) -> int:
    """Young's best number of steps between checkpoints."""
    return young.least(costs.step, costs.save, mean)


def dalys(costs: Costs, mean: float) -> int:
    """Daly's best number of steps between checkpoints (equation 37)."""
    if costs.save >= 2 * mean:
        return max(1, round(mean / costs.step))
    part = sqrt(costs.save / (2 * mean))
    return max(1, round((sqrt(2 * costs.save * mean) * (1 + part / 3 + part**2 / 9) - costs.save) / costs.step))


def steps_tried(best: int) -> list[int]:
    """The numbers of steps between checkpoints in real runs."""
    return sorted({max(1, round(best * factor)) for factor in AROUND})


def costs_of(runs: list[dict[str, Any]]) -> Costs:
    """Means of all that was measured."""
    return Costs(*(fmean(second for run in runs for second in run[of]) for of in ("steps", "saves", "restarts")))


def drawn(panels: list[dict[str, Any]], folder: Path) -> None:
    """Draw time lost against steps between checkpoints. panels: their `title`, `costs`, `mean`, and `runs`: for each
    number of steps, the time lost in each turn and in all of them together."""
    figure, places = new_figure(9.6, 4.2, len(panels))
    for axes, panel in zip(places, panels, strict=True):
        costs, mean, runs = panel["costs"], panel["mean"], panel["runs"]
        best, dalys_best = youngs(costs, mean), dalys(costs, mean)
        low, high = max(1.0, min(best / WIDE, *runs)), max(best * WIDE, *runs)
        ks = sorted({round(k) for k in np.geomspace(low, high, 30)})
        rng = Random(0)
        curve = [100 * replayed(costs, k, mean, rng) for k in ks]
        axes.plot(ks, curve, color=figure.ground.ink, linewidth=2, label="replay of drawn failures")
        axes.axvline(best, color=COLOURS[1], linewidth=2, linestyle="--", label="Young's best")
        axes.axvline(dalys_best, color=COLOURS[2], linewidth=2, linestyle=":", label="Daly's best")
        for k, (turns, together) in runs.items():
            axes.plot([k] * len(turns), [100 * lost for lost in turns], "_", color=COLOURS[5], markersize=9, alpha=0.8)
            axes.plot(k, 100 * together, "o", color=COLOURS[0], markersize=8, zorder=4)
        axes.plot([], [], "o", color=COLOURS[0], label="real runs, all turns together")
        axes.plot([], [], "_", color=COLOURS[5], markersize=9, label="each turn of these")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set(ylim=(0, 1.25 * max(*curve, *(100 * together for _, together in runs.values()))))
        axes.set(title=panel["title"], xlabel="k: steps between two checkpoints")
        quiet_grid(axes)
    places[0].set_ylabel("time lost, % of the time of the steps kept")
    figure.legend(*places[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    folder.mkdir(exist_ok=True)
    (folder / "checkpoints.png").write_bytes(figure.png())


def measured(world: World, notebook: Path, apart: int, turns: int, length: float) -> dict[str, Any]:
    """Runs with several numbers of steps between checkpoints, in turns.

    apart: mean time between failures, in times of a save. length: of a run's steps, in mean times between failures.
    Returns the `costs`, the `mean` in seconds, the steps of a run, and `runs`, see `drawn`.
    """

    def run(wanted: list[tuple[int, int, float, int]]) -> list[dict]:
        return world.run(runs_of, notebook, wanted, RANK, init="torch", watch=False, deadline=300)[0]

    guess = costs_of(run([(EPOCH, 20, NEVER, 0)] * 2))
    mean = apart * guess.save
    epochs = max(2, round(length * mean / guess.step / EPOCH))
    tried = steps_tried(youngs(guess, mean))
    found = [run([(k, epochs, mean, turn) for k in tried]) for turn in range(turns)]
    runs = {}
    for k, of_k in zip(tried, zip(*found, strict=True), strict=True):
        by_turn = [each["lost"] / each["kept"] for each in of_k]
        runs[k] = by_turn, sum(each["lost"] for each in of_k) / sum(each["kept"] for each in of_k)
    costs = costs_of([each for of_turn in found for each in of_turn])
    return {"costs": costs, "mean": mean, "steps": epochs * EPOCH, "runs": runs}


def told(panel: dict[str, Any]) -> str:
    """What was measured, as a table."""
    costs, mean = panel["costs"], panel["mean"]
    rng = Random(0)
    lines = [
        f"{panel['title']}: one in {mean / costs.save:.0f} saves, or {mean / costs.step:.0f} steps, on average",
        f"a save takes {costs.save / costs.step:.1f} steps, a restart {costs.restart / costs.step:.1f}; "
        f"a run has {panel['steps']} steps; best k: Young's {youngs(costs, mean)}, Daly's {dalys(costs, mean)}",
        "steps between checkpoints   lost in real runs   in the replay   by Daly's formula",
    ]
    for k, (_, together) in panel["runs"].items():
        again, formula = replayed(costs, k, mean, rng), expected(costs, k, mean)
        lines.append(f"{k:25} {100 * together:17.0f} % {100 * again:13.0f} % {100 * formula:17.0f} %")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=4, help="of each number of steps (default: 4)")
    parser.add_argument(
        "--length", type=float, default=4.0, help="of runs, in mean times between failures (default: 4)"
    )
    parser.add_argument("--pictures", type=Path, default=HERE, help="folder of the plot (default: that of this file)")
    chosen = parser.parse_args()
    print(f"{RANKS} ranks of one thread on {cores()} cores, {chosen.turns} turns")
    panels = []
    with tempfile.TemporaryDirectory() as folder, World(RANKS, progress=False) as world:
        notebook = solved_notebook(LAB, Path(folder))
        for title, apart in APART.items():
            panels.append({"title": title, **measured(world, notebook, apart, chosen.turns, chosen.length)})
            print(f"\n{told(panels[-1])}", flush=True)
    with look():
        drawn(panels, chosen.pictures)


if __name__ == "__main__":
    main()
