"""What ranks note while they train: steps, checkpoints and a kill, also of a run that goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import cloudpickle
import pytest
import torch

from ..figures.noted_steps import NotedSteps, attempt_of

SAMPLES, OF_EPOCH = 4, 10  # of a step on all ranks, and of an epoch, which has three steps


class Calm:
    """A Preemption of which nobody has heard, but in the step `until`."""

    def __init__(self, until: int) -> None:
        self.until, self.asked = until, 0

    def agreed(self) -> bool:
        self.asked += 1
        return self.asked == self.until


def save(path: Path, epoch: int, consumed: int) -> None:
    """Write a checkpoint as the lab's."""
    torch.save({"epoch": epoch, "consumed": consumed}, path)
    stamp = time.time_ns()
    os.utime(path, ns=(stamp, stamp))  # a file system's own clock may be coarse


def train(folder: Path, rank: int, kill_at: int = 0, until: int = 3) -> list[bool]:
    """Steps as `train` makes them: a loss, then `agreed`, then a checkpoint after every second one, by rank 0."""
    computed: list[int] = []
    notes = NotedSteps(
        str(folder), rank, str(folder / "c.pt"), SAMPLES, OF_EPOCH, kill_at, lambda: computed.append(notes.step)
    )
    loss_fn, preemption, answers = notes.loss(torch.nn.functional.mse_loss), notes.asking(Calm(until)), []
    first = notes.step
    for step in range(first + 1, first + until + 1):
        assert loss_fn(torch.tensor([float(step)]), torch.tensor([0.0])).item() == step**2
        answers.append(preemption.agreed())
        if step % 2 == 0 and rank == 0:
            save(folder / "c.pt", step // 3, SAMPLES * (step % 3))
    notes.look()
    assert computed == [*range(first, first + until)]
    return answers


def test_steps_losses_and_checkpoints_are_noted_and_the_preemption_is_asked(tmp_path):
    began = time.time()
    assert [train(tmp_path, rank) for rank in (1, 0)] == [[False, False, True]] * 2
    attempt = attempt_of(str(tmp_path), 2, began, noticed=1.0)
    assert [[(number, loss) for _, number, loss in own] for own in attempt.steps] == [[(1, 1), (2, 4), (3, 9)]] * 2
    assert [number for _, number in attempt.saves] == [2]
    assert (attempt.killed, attempt.noticed) == (None, None), "nobody was killed, so nothing was noticed"
    assert began <= attempt.ready <= attempt.loaded <= attempt.steps[0][0][0] <= attempt.saves[0][0] <= time.time()


def test_a_kill_is_noted_and_whoever_goes_on_counts_from_the_checkpoint(tmp_path):
    code = "import sys, cloudpickle; cloudpickle.load(sys.stdin.buffer)()"
    first = subprocess.run([sys.executable, "-c", code], input=cloudpickle.dumps(partial(train, tmp_path, 0, 6, 7)))
    assert first.returncode == -signal.SIGKILL
    attempt = attempt_of(str(tmp_path), 1, 0.0, noticed=5.0)
    assert [number for _, number, _ in attempt.steps[0]] == [1, 2, 3, 4, 5]
    assert [number for _, number in attempt.saves] == [2, 4]
    assert attempt.killed[1] == 0 and attempt.killed[0] >= attempt.steps[0][-1][0]
    assert attempt.noticed == 5.0
    (tmp_path / "rank-0").unlink()
    train(tmp_path, 0)
    again = attempt_of(str(tmp_path), 1, 0.0)
    assert [number for _, number, _ in again.steps[0]] == [5, 6, 7], "after step 4: one epoch, and one step of the next"


@pytest.mark.parametrize(
    ("place", "steps"), [(None, 0), ((0, 4), 1), ((0, 10), 3), ((1, 0), 3), ((1, 8), 5), ((2, 0), 6)]
)
def test_the_steps_in_a_checkpoint_follow_from_its_place(tmp_path, place, steps):
    if place:
        save(tmp_path / "c.pt", *place)
    assert NotedSteps(str(tmp_path), 0, str(tmp_path / "c.pt"), SAMPLES, OF_EPOCH).step == steps
