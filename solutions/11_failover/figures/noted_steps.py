"""What a rank notes while it trains, so that a killed run can be drawn: when each step ended, and what was saved."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from course.figures.failures.attempts import Attempt


class NotedSteps:
    """Stands around a loss function and a Preemption, and writes a line to the rank's file for what it sees there.

    folder: all ranks' files are in it. rank: this one's number. checkpoint: the file that the training writes. samples:
    of a step, on all ranks together. of_epoch: samples of an epoch. kill_at: number of the step, in the whole run, in
    which this process kills itself; 0: in none. compute: called in each step, before its loss.
    """

    def __init__(
        self,
        folder: str,
        rank: int,
        checkpoint: str,
        samples: int,
        of_epoch: int,
        kill_at: int = 0,
        compute: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = Path(folder, f"rank-{rank}")
        self.checkpoint, self.samples, self.of_epoch = checkpoint, samples, of_epoch
        self.kill_at, self.compute = kill_at, compute
        self.step, self.loss_now, self.saved = self.made(), 0.0, self.stamp()
        self.loaded = False
        self.note("ready")

    def made(self) -> int:
        """How many steps of the run are in the checkpoint."""
        if not os.path.exists(self.checkpoint):
            return 0
        kept = torch.load(self.checkpoint, map_location="cpu", weights_only=True)
        each = -(-self.of_epoch // self.samples)
        return each * kept["epoch"] + -(-kept["consumed"] // self.samples)

    def stamp(self) -> int | None:
        """What tells one checkpoint from the next; None where there is none."""
        return os.stat(self.checkpoint).st_mtime_ns if os.path.exists(self.checkpoint) else None

    def note(self, what: str, *values: Any) -> None:
        """Add a line; the file is closed after each, so that a kill loses nothing."""
        with self.path.open("a") as file:
            file.write(json.dumps([what, time.time(), *values]) + "\n")

    def look(self) -> None:
        """Note a checkpoint that is new since the last look."""
        if (stamp := self.stamp()) != self.saved:
            self.saved = stamp
            self.note("save", self.step)

    def loss(self, loss_fn: Callable) -> Callable:
        """`loss_fn`, before which this process may be killed."""

        def noted(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            if not self.loaded:
                self.loaded = True
                self.note("loaded")
            self.look()
            self.compute()
            if self.step + 1 == self.kill_at:
                self.note("killed")
                os.kill(os.getpid(), signal.SIGKILL)
            loss = loss_fn(outputs, targets)
            self.loss_now = loss.item()
            return loss

        return noted

    def asking(self, preemption: Any) -> Any:
        """`preemption`, whose `agreed` is asked after each step, and notes that."""
        return Asked(self, preemption)


class Asked:
    """A Preemption that notes each step."""

    def __init__(self, notes: NotedSteps, preemption: Any) -> None:
        self.notes, self.preemption = notes, preemption

    def agreed(self) -> bool:
        """What the Preemption says."""
        self.notes.step += 1
        self.notes.note("step", self.notes.step, self.notes.loss_now)
        return self.preemption.agreed()


def attempt_of(folder: str, size: int, began: float, noticed: float | None = None) -> Attempt:
    """What the ranks noted in one attempt. began: when they were asked for. noticed: when a kill came to be known."""
    texts = [Path(folder, f"rank-{rank}").read_text() for rank in range(size)]
    lines = [[json.loads(line) for line in text.splitlines()] for text in texts]

    def of(rank: int, what: str) -> list[list]:
        return [line[1:] for line in lines[rank] if line[0] == what]

    kills = [(when, rank) for rank in range(size) for (when,) in of(rank, "killed")]
    return Attempt(
        began=began,
        ready=max(of(rank, "ready")[0][0] for rank in range(size)),
        loaded=max((of(rank, "loaded") or of(rank, "ready"))[0][0] for rank in range(size)),
        steps=[[tuple(line) for line in of(rank, "step")] for rank in range(size)],
        saves=[tuple(line) for line in of(0, "save")],
        killed=kills[0] if kills else None,
        noticed=noticed if kills else None,
    )
