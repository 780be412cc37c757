"""Collectives of one's own, in mpi4py's buffer messages, beside those of MPI and gloo.

    python bench/collectives.py

Prints, and draws in bench/pictures/, as ratios in one run: the time of a ring all-reduce beside that of MPI's and of
gloo's, and of a binomial tree's broadcast beside MPI_Bcast, by size and number of ranks; and the bytes through the
busiest rank of a parameter server beside those through each rank of a ring, as the watch counts them. The ways take
turns, and the least time of each counts, as other programs only ever make a run slower.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from course.figures.style import COLOURS, Picture, look, new_figure, quiet_grid
from course.processes.surroundings.machine import cores
from course.watch.events import Event
from course.world import COMM, World

PICTURES = Path(__file__).parent / "pictures"
SIZES = [1024 * 4**power for power in range(9)]  # bytes: 1 kB to 64 MB
RANKS = (2, 4)
SERVED = (2, 4, 8)  # ranks with a parameter server
GRADIENT = 250_000  # numbers in the gradient that is summed; float32
SWEEPS = 2  # through all sizes and numbers of ranks, so that one busy moment does not decide
OWN_RING, OWN_TREE, MPI_S, GLOO_S = "own ring", "own tree", "MPI's", "gloo's"


def ring_allreduce(comm: Any, array: np.ndarray) -> np.ndarray:
    """The sum of all ranks' arrays [n]: a reduce-scatter and an all-gather round a ring (Patarasuk and Yuan 2009)."""
    rank, size = comm.rank, comm.size
    right, left = (rank + 1) % size, (rank - 1) % size
    total = array.copy()
    chunks = np.array_split(total, size)  # views
    space = np.empty_like(chunks[0])
    for step in range(size - 1):
        into = chunks[(rank - step - 1) % size]
        comm.Sendrecv(chunks[(rank - step) % size], right, 0, space[: len(into)], left, 0)
        into += space[: len(into)]
    for step in range(size - 1):
        comm.Sendrecv(chunks[(rank + 1 - step) % size], right, 0, chunks[(rank - step) % size], left, 0)
    return total


def tree_broadcast(comm: Any, array: np.ndarray) -> None:
    """Fill every rank's array with rank 0's: in each round, all ranks that have it send it to one that has not."""
    have = 1
    while have < comm.size:
        if comm.rank < have and comm.rank + have < comm.size:
            comm.Send(array, comm.rank + have)
        elif have <= comm.rank < 2 * have:
            comm.Recv(array, comm.rank - have)
        have *= 2


def serve_once(comm: Any, gradient: np.ndarray) -> None:
    """A step with a parameter server: rank 0 adds up the others' gradients, and sends each of them the sum."""
    if comm.rank:
        comm.Send(gradient, 0)
        comm.Recv(gradient, 0)
        return
    space = np.empty_like(gradient)
    for worker in range(1, comm.size):
        comm.Recv(space, worker)
        gradient += space
    for worker in range(1, comm.size):
        comm.Send(gradient, worker)


def allreduces(comm: Any, nbytes: int) -> dict[str, Callable[[], object]]:
    """Ways to sum arrays of so many bytes."""
    import torch
    import torch.distributed as dist

    array = np.full(nbytes // 4, comm.rank + 1, dtype=np.float32)
    total, tensor = np.empty_like(array), torch.zeros(nbytes // 4)
    correct = comm.size * (comm.size + 1) / 2
    assert (ring_allreduce(comm, array) == correct).all()
    return {
        OWN_RING: lambda: ring_allreduce(comm, array),
        MPI_S: lambda: comm.Allreduce(array, total),
        GLOO_S: lambda: dist.all_reduce(tensor),
    }


def broadcasts(comm: Any, nbytes: int) -> dict[str, Callable[[], object]]:
    """Ways to send rank 0's array of so many bytes to all ranks."""
    array = np.full(nbytes // 4, comm.rank, dtype=np.float32)
    tree_broadcast(comm, array)
    assert (array == 0).all()
    return {OWN_TREE: lambda: tree_broadcast(comm, array), MPI_S: lambda: comm.Bcast(array)}


def timed(comm: Any, make: Callable[[Any, int], dict], nbytes: int, at_least: float) -> dict[str, list[float]]:
    """Runs on each rank: seconds of each turn, by way. Each way has one turn more, unmeasured, to warm up.

    at_least: seconds for the turns of all ways.
    """
    ways = make(comm, nbytes)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    until = time.monotonic() + at_least
    while comm.bcast(time.monotonic() < until) or min(map(len, seconds.values())) < 2:
        for name, way in ways.items():
            comm.Barrier()
            began = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - began)
    return {name: times[1:] for name, times in seconds.items()}


def least(world: World, make: Callable, ranks: int, nbytes: int, at_least: float) -> dict[str, float]:
    """Seconds of each way's best turn, which lasts until the last rank is done."""
    results = world.run(timed, COMM, make, nbytes, at_least, size=ranks, init="torch", watch=False, deadline=300)
    return {name: min(map(max, zip(*(each[name] for each in results), strict=True))) for name in results[0]}


def busiest(events: list[list[Event]]) -> int:
    """Bytes through the busiest rank of a run: those that it sent, and those that it received."""
    return max(sum((event["bytes"] or 0) + (event["received"] or 0) for event in of_rank) for of_rank in events)


def traffic(world: World, function: Callable, ranks: int) -> int:
    """Bytes through the busiest rank while `function(comm, gradient)` sums gradients."""
    world.run(function, COMM, np.ones(GRADIENT, dtype=np.float32), size=ranks)
    return busiest(world.events)


def size_name(nbytes: int) -> str:
    """A number of bytes, in words."""
    return f"{nbytes >> 20} MB" if nbytes >= 2**20 else f"{nbytes >> 10} kB"


def machine() -> str:
    """What was measured on."""
    return f"{platform.machine()}, {cores()} cores, load {os.getloadavg()[0]:.0f}"


def drawn_times(title: str, found: dict[int, dict[int, dict[str, float]]], own: str) -> Picture:
    """Draw how many times as long as others' one's own takes. found: seconds by ranks, size in bytes and way."""
    figure, panels = new_figure(8, 3.8, len(RANKS))
    for axes, ranks in zip(panels, RANKS, strict=True):
        others = [way for way in found[ranks][SIZES[0]] if way != own]
        for way, colour, marker in zip(others, COLOURS, "os", strict=False):
            ratios = [found[ranks][size][own] / found[ranks][size][way] for size in SIZES]
            axes.plot(SIZES, ratios, marker=marker, color=colour, label=f"{own} / {way}")
        axes.axhline(1, color=figure.ground.faint, linewidth=1, linestyle="--")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(SIZES[::2], [size_name(size) for size in SIZES[::2]])
        axes.yaxis.set_major_formatter("{x:g}")
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 0.45), max(high, 2.2))  # so that there are ticks below and above 1
        axes.set(title=f"{title}, {ranks} ranks", xlabel="size of the array", ylabel="times as long")
        quiet_grid(axes)
        axes.legend()
    return figure


def drawn_traffic(found: dict[int, tuple[int, int]]) -> Picture:
    """Draw bytes through the busiest rank, in gradients. found: by ranks, those of the server and of the ring."""
    figure, axes = new_figure(6, 3.8)
    places = np.arange(len(found))
    for offset, label, colour, column in ((-0.2, "parameter server", COLOURS[0], 0), (0.2, "ring", COLOURS[1], 1)):
        heights = [both[column] / (4 * GRADIENT) for both in found.values()]
        axes.bar_label(axes.bar(places + offset, heights, 0.38, color=colour, label=label), fmt="%.2f")
    axes.set_xticks(places, [f"{ranks} ranks" for ranks in found])
    axes.set(title="Through the busiest rank, sent and received", ylabel="gradients' worth of bytes")
    axes.legend()
    return figure


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="at least, for all ways with one size in a sweep (default: 1)"
    )
    parser.add_argument("--pictures", type=Path, default=PICTURES, help="folder of the plots (default: bench/pictures)")
    chosen = parser.parse_args()
    drawn = {}
    print(machine())
    with World(max(SERVED), progress=False) as world:
        for name, title, make, own in (
            ("allreduce", "All-reduce", allreduces, OWN_RING),
            ("broadcast", "Broadcast", broadcasts, OWN_TREE),
        ):
            found: dict[int, dict[int, dict[str, float]]] = {ranks: {} for ranks in RANKS}
            for ranks, size in list(product(RANKS, SIZES)) * SWEEPS:
                seconds, before = least(world, make, ranks, size, chosen.seconds), found[ranks].get(size, {})
                found[ranks][size] = {way: min(s, before.get(way, s)) for way, s in seconds.items()}
            for ranks, by_size in found.items():
                for size, seconds in by_size.items():
                    ratios = ", ".join(f"{seconds[own] / s:.2f} x {way}" for way, s in seconds.items() if way != own)
                    print(
                        f"{title}, {ranks} ranks, {size_name(size):>6}: {own} {seconds[own] * 1e3:8.3f} ms = {ratios}"
                    )
            with look():
                drawn[name] = drawn_times(title, found, own)
        sent = {n: (traffic(world, serve_once, n), traffic(world, ring_allreduce, n)) for n in SERVED}
    for ranks, (server, ring) in sent.items():
        print(f"busiest rank of {ranks}: server {server} B, ring {ring} B, ratio {server / ring:.2f}")
    with look():
        drawn["busiest_rank"] = drawn_traffic(sent)
        chosen.pictures.mkdir(exist_ok=True)
        for name, figure in drawn.items():  # their own light ground makes them legible on a dark page, too
            (chosen.pictures / f"{name}.png").write_bytes(figure.png())


if __name__ == "__main__":
    main()
