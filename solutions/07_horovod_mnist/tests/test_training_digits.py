"""Lab 07's training is real: 4 ranks learn the digits, and make the same steps as one rank with the whole batch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from torch.utils.data import Subset

from autograde.labs.folder import find_lab
from autograde.labs.places import REPOSITORY
from autograde.labs.questions import is_todo
from autograde.making.build import instructor_notebook
from course.data import digits
from course.world import RANK, World


@cache
def program() -> str:
    """The lab's model and its solutions."""
    cells = instructor_notebook(find_lab(REPOSITORY, "07_horovod_mnist")).cells
    wanted = [cell for cell in cells if is_todo(cell.metadata.get("nbgrader", {}))]
    return "from course.models.digits import digit_model\n" + "\n".join(cell.source for cell in wanted)


def history(source: str, rank: int, images: int | None, epochs: int, batch_size: int, lr: float, path: str) -> list:
    """What `train` returns, with another model on each rank, on the first `images` images."""
    lab: dict = {}
    exec(source, lab)
    train_set, test_set = digits()
    chosen = Subset(train_set, range(images or len(train_set)))
    return lab["train"](lab["digit_model"](rank), chosen, test_set, epochs, batch_size, lr, 0, path)


def run(world: World, size: int, *args: object) -> list[list[dict]]:
    return world.run(history, program(), RANK, *args, size=size, init="horovod", deadline=120)


@pytest.mark.thorough
def test_four_ranks_get_95_percent_of_the_test_set_right(world: World, tmp_path: Path) -> None:
    histories = run(world, 4, None, 8, 16, 0.015, str(tmp_path / "digits.pt"))
    assert histories[0][-1]["accuracy"] >= 0.95
    assert len({tuple((entry["loss"], entry["accuracy"]) for entry in history) for history in histories}) == 1
    assert (tmp_path / "digits.pt").is_file()


@pytest.mark.sample(1)
@pytest.mark.parametrize("size", [2, 4])
def test_ranks_make_step_by_step_what_one_makes_with_the_same_global_batch(
    world: World, tmp_path: Path, size: int
) -> None:
    # 64 images are one step, so that the loss of each epoch is that of a step.
    path = str(tmp_path / "digits.pt")
    together = run(world, size, 64, 12, 64 // size, 0.06 / size, path)[0]
    alone = run(world, 1, 64, 12, 64, 0.06, path)[0]
    losses = [entry["loss"] for entry in alone]
    assert losses[-1] < losses[0]
    assert [entry["loss"] for entry in together] == pytest.approx(losses, rel=1e-5)
    assert [entry["accuracy"] for entry in together] == [entry["accuracy"] for entry in alone]


def test_horovod_begins_on_the_ranks_of_its_run_whatever_ran_before(world: World) -> None:
    def begin() -> tuple[int, int]:
        import horovod.torch as hvd

        hvd.init()
        return hvd.rank(), hvd.size()

    def have() -> int:
        import horovod.torch as hvd

        return hvd.size()

    assert world.run(have, size=1, init="horovod") == [1]
    assert world.run(begin) == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert world.run(begin, ranks=[3, 1]) == [(0, 2), (1, 2)]
    assert world.run(begin) == [(0, 4), (1, 4), (2, 4), (3, 4)]
