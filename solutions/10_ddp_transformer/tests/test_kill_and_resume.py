"""Lab 10's own solution, with its own model, killed at any moment and resumed: it ends where it ends undisturbed."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from seeds import SEED

from autograde.labs.folder import find_lab
from autograde.labs.places import REPOSITORY
from autograde.labs.questions import is_todo
from autograde.making.build import instructor_notebook
from autograde.probes.file_watch import half_a_file
from course.models.translator.translation import build_model
from course.world import RANK, RanksFailed, World, WorldError

WORDS, BATCH, EPOCHS, CLOSE = 40, 4, 3, 1e-5
RANKS = {2: "half", 4: "written"}  # and where rank 0 is killed while it writes


@pytest.fixture(scope="module")
def cells() -> dict[str, str]:
    """The source of each TODO's cell, with the solution."""
    notebook = instructor_notebook(find_lab(REPOSITORY, "10_ddp_transformer"))
    return {cell.id: cell.source for cell in notebook.cells if is_todo(cell.metadata.get("nbgrader", {}))}


def draw_pairs(count: int = 38) -> list[tuple[list[int], list[int]]]:
    """Pairs of sentences of ids, always the same."""
    rng = random.Random(1)

    def sentence() -> list[int]:
        return [rng.randrange(3, WORDS) for _ in range(rng.randint(2, 9))]

    return [(sentence(), sentence()) for _ in range(count)]


def solution(cells: dict[str, str]) -> dict[str, Any]:
    """On a rank: what the lab's cells define."""
    from course.models.translator.sentences import PAD, collate, loss_fn

    names: dict[str, Any] = {"PAD": PAD, "collate": collate, "loss_fn": loss_fn}
    for source in cells.values():
        exec(source, names)
    return names


def die_here(marker: Path) -> None:
    """End this process as `kill -9` does; `marker` then tells that it happened here."""
    marker.touch()
    os.kill(os.getpid(), signal.SIGKILL)


def train(cells: dict[str, str], path: str, rank: int, kill: dict | None = None) -> list[float]:
    """Runs on each rank: the whole lab in a few lines. Returns the losses.

    kill: the rank that kills itself, and where: at which micro-batch, or "half" (in the middle of writing the second
    checkpoint), "written" (when that is on disk, and not yet in place).
    """
    lab = solution(cells)
    device = lab["setup"]()
    model = lab["parallelize"](build_model(WORDS, seed=rank, d_model=16, layers=1), device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loader = lab["make_loader"](draw_pairs(), batch_size=BATCH, seed=7)
    calls, loss_fn, save, replace = [], lab["loss_fn"], torch.save, os.replace

    def loss(logits: torch.Tensor, tgt_out: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        if kill and rank == kill["rank"] and len(calls) == kill["where"]:
            die_here(Path(f"{path}.killed"))
        return loss_fn(logits, tgt_out)

    def half(state: dict, file: str) -> None:
        save(state, file)
        if state["epoch"] == 1:
            os.truncate(file, os.path.getsize(file) // 2)
            die_here(Path(f"{path}.killed"))

    def written(source: str, target: str) -> None:
        if torch.load(source, weights_only=True)["epoch"] == 1:
            die_here(Path(f"{path}.killed"))
        replace(source, target)

    try:
        if kill and rank == kill["rank"] and kill["where"] in ("half", "written"):
            torch.save, os.replace = (half, replace) if kill["where"] == "half" else (save, written)
        return lab["train"](model, loader, optimizer, loss, EPOCHS, 2, path)
    finally:
        torch.save, os.replace = save, replace


def weights(path: Path) -> torch.Tensor:
    """All weights of a finished training in one row."""
    state = torch.load(path, weights_only=True)
    assert state["epoch"] == EPOCHS - 1
    return torch.cat([value.flatten() for value in state["model"].values()])


@pytest.fixture(scope="module", params=[*RANKS])
def undisturbed(request, cells, world, tmp_path_factory) -> dict:
    """A training that nobody kills: its number of ranks, its losses, and its weights at the end."""
    path, began = tmp_path_factory.mktemp("whole") / "checkpoint.pt", time.monotonic()
    losses = world.run(train, cells, str(path), RANK, size=request.param, deadline=120)[0]
    about = {"size": request.param, "losses": losses, "seconds": time.monotonic() - began}
    return {**about, "weights": weights(path)}


def resume(world: World, cells: dict[str, str], path: Path, undisturbed: dict) -> None:
    """Train again up to the same epoch, and compare everything with the training that nobody killed."""
    kept = torch.load(path, weights_only=True)["epoch"] + 1 if path.exists() else 0  # raises for half a file
    losses = world.run(train, cells, str(path), RANK, size=undisturbed["size"], deadline=120)[0]
    due = undisturbed["losses"][len(undisturbed["losses"]) * kept // EPOCHS :]
    assert losses == pytest.approx(due, rel=CLOSE)
    got = weights(path)
    if undisturbed["size"] == 2:
        assert torch.equal(got, undisturbed["weights"])
    assert float((got - undisturbed["weights"]).abs().max()) < CLOSE
    assert {each.name for each in path.parent.iterdir()} <= {path.name, f"{path.name}.killed"}


@pytest.mark.thorough
def test_a_training_whose_last_rank_is_killed_in_an_epoch_ends_where_it_ends_undisturbed(
    cells, world, undisturbed, tmp_path
):
    path, size = tmp_path / "checkpoint.pt", undisturbed["size"]
    own = -(-len(draw_pairs()) // size)  # pairs of a rank in an epoch, padding included
    micro_batches = -(-own // BATCH)
    kill = {"rank": min(2, size - 1), "where": micro_batches + random.Random(SEED).randint(2, micro_batches)}
    outcome = world.attempt(train, cells, str(path), RANK, kill, size=size, deadline=120)
    assert outcome.state == "rank-died" and Path(f"{path}.killed").exists(), outcome.report
    assert outcome.ranks[kill["rank"]].code == -signal.SIGKILL
    assert torch.load(path, weights_only=True)["epoch"] == 0, f"seed {SEED}"
    resume(world, cells, path, undisturbed)


@pytest.mark.sample(1)
def test_a_rank_0_killed_while_it_writes_a_checkpoint_leaves_the_one_before(cells, world, undisturbed, tmp_path):
    path = tmp_path / "checkpoint.pt"
    kill = {"rank": 0, "where": RANKS[undisturbed["size"]]}
    outcome = world.attempt(train, cells, str(path), RANK, kill, size=undisturbed["size"], deadline=120)
    assert outcome.state == "rank-died" and Path(f"{path}.killed").exists(), outcome.report
    assert torch.load(path, weights_only=True)["epoch"] == 0
    assert Path(f"{path}.part").exists()
    resume(world, cells, path, undisturbed)


@pytest.mark.thorough
def test_a_training_killed_from_outside_at_random_moments_ends_where_it_ends_undisturbed(
    cells, world, undisturbed, tmp_path
):
    rng, path, size = random.Random(SEED), tmp_path / "checkpoint.pt", undisturbed["size"]
    for _ in range(2):
        with suppress(WorldError):  # the one that was killed may not be missed yet
            world.run(os.getpid)
        world.run(os.getpid)  # the ranks are there before the clock runs
        victim, after = world.pids[rng.randrange(size)], rng.uniform(0.1, 0.9) * undisturbed["seconds"]
        timer = threading.Timer(after, os.kill, (victim, signal.SIGKILL))
        timer.start()
        with suppress(WorldError):  # killed before the training began
            outcome = world.attempt(train, cells, str(path), RANK, size=size, deadline=120)
            assert outcome.state in ("ok", "rank-died"), f"seed {SEED}\n{outcome.report}"
        timer.join()
    with suppress(WorldError):
        world.run(os.getpid)
    resume(world, cells, path, undisturbed)


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", ["half", "another model", "no optimizer"])
def test_a_file_that_does_not_fit_ends_the_training_with_an_error_that_names_it(cells, world, tmp_path, wrong):
    path = tmp_path / "checkpoint.pt"
    if wrong == "half":
        half_a_file(path)
    else:
        model = build_model(WORDS, d_model=16, layers=1 if wrong == "no optimizer" else 2)
        state = {"model": model.state_dict(), "optimizer": torch.optim.SGD(model.parameters(), 0.1).state_dict()}
        torch.save({**state, "optimizer": None, "epoch": 0} if wrong == "no optimizer" else {**state, "epoch": 0}, path)
    before = path.read_bytes()
    with pytest.raises(RanksFailed, match=str(path)):
        world.run(train, cells, str(path), RANK, size=2, deadline=120)
    assert path.read_bytes() == before
