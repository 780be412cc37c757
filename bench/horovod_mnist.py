"""Speed-up of lab 07's training by a second rank, with Horovod and with DistributedDataParallel, in one run.

    python bench/horovod_mnist.py [--images 28] [--batch 64] [--seconds 4]

Every rank has one thread and its own batches of the same size, so ideally two ranks train on twice as many images per
second as the plain loop on one rank. Methods take turns, and the best turn of each counts.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from torch import nn
from tqdm import tqdm

from course.processes.surroundings.machine import cores
from course.world import COMM, World

METHODS = {"plain loop": None, "Horovod": "horovod", "DistributedDataParallel": "torch"}
TURNS = 3
WARM_UP = 5  # steps: buckets are built and tensors negotiated in the first


def digit_model() -> nn.Module:
    """Lab 07's model: images [B, 1, H, W] -> logits [B, 10]."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()),
        *(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10)),
    )


def images_per_second(comm: Any, method: str, side: int, batch: int, seconds: float) -> float:
    """Images per second of this rank while it trains with SGD on random images [batch, 1, side, side]."""
    torch.manual_seed(comm.rank)
    model, images, labels = digit_model(), torch.rand(batch, 1, side, side), torch.randint(10, (batch,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    if method == "Horovod":
        import horovod.torch as hvd

        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    elif method == "DistributedDataParallel":
        model = torch.nn.parallel.DistributedDataParallel(model)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    for _ in range(WARM_UP):
        step()
    comm.Barrier()
    began, steps = time.perf_counter(), 0
    # All ranks make equally many steps: after every ten, rank 0 decides whether there is time for more.
    while comm.bcast(time.perf_counter() - began < seconds):
        for _ in range(10):
            step()
        steps += 10
    return steps * batch / (time.perf_counter() - began)


def measured(side: int, batch: int, seconds: float) -> dict[tuple[str, int], float]:
    """Images per second of all ranks together, by method and number of ranks: the best of TURNS."""
    best: dict[tuple[str, int], float] = {}
    turns = [(method, size) for _ in range(TURNS) for method in METHODS for size in (1, 2)]
    with World(2, progress=False) as world:
        for method, size in tqdm(turns, unit="turn"):
            # Two plain loops do not communicate: they show the best that this machine can do with two processes.
            options = {"size": size, "init": METHODS[method], "watch": False, "deadline": 60 + 3 * seconds}
            rate = sum(world.run(images_per_second, COMM, method, side, batch, seconds, **options))
            best[method, size] = max(rate, best.get((method, size), 0))
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=28, help="height and width of an image (default: 28, as MNIST)")
    parser.add_argument("--batch", type=int, default=64, help="images in a batch of one rank (default: 64)")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a turn (default: 4)")
    chosen = parser.parse_args()
    best = measured(chosen.images, chosen.batch, chosen.seconds)
    alone = best["plain loop", 1]
    print(f"lab 07's model, {chosen.images} x {chosen.images}, {chosen.batch} images a rank and step, {cores()} cores")
    print(f"{'':24} {'1 rank':>9} {'2 ranks':>9}   of the ideal, 2 x the plain loop's {alone:.0f} images/s")
    for method in METHODS:
        one, two = best[method, 1], best[method, 2]
        print(f"{method:24} {one:9.0f} {two:9.0f}   {two / (2 * alone):.2f}")
    print(f"Horovod beside DistributedDataParallel, 2 ranks: {best['Horovod', 2] / best[[*METHODS][2], 2]:.2f}")


if __name__ == "__main__":
    main()
