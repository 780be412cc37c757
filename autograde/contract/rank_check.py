"""Checks that run a student's function on the ranks: what their probes have in common.

`RankCheck` runs one function of the lab's on each rank of a case. `CallCheck` is for the usual kind of that: the
student's function is called some times, and between two calls all ranks meet. Evidence is judged on the other side, by
`JudgedRun` and `JudgedCalls` of `autograde.verdicts.judged`, which a check has as its second base::

    class Total(CallCheck, JudgedCalls):
        todo, points = "total", 3

        def cases(self, rng):
            return [{"size": 3, "calls": [{"x": rng.randrange(99)}, {"x": 0}]}]

        @staticmethod
        def call(total, rank, call):
            return {"value": described(total(rank.comm, call["x"] + rank.rank))}

        def judge(self, case, call): ...

A case says where it runs: on ``size`` ranks, the first ones, or on ``ranks``, in this order; else on one. With
``late``, the rank of this number begins its first call a little later than the others.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from autograde.contract.calls import meet, nothing_starts_or_ends, progress_until, torch_as_it_was
from autograde.contract.check import Check
from autograde.contract.gpu import ON_GPU, on_gpu
from course.watch.recorder import unwatched
from course.world import COMM

LATE = 0.05  # seconds that one rank comes late, so that a result nobody waited for is not there by luck
SETTLING = 0.03  # seconds from the beginning of a call until the next, where one comes late


@dataclass
class Rank:
    """This rank, as a check's functions on it see it.

    comm: communicator of the ranks of the run, one of its own for each call. folder: a new one, the same on all ranks,
    that goes when the run has ended; not for `CallCheck.call`. notes: for what `given` and `call` share. on_gpu:
    whether the case is to run on a GPU.
    """

    comm: Any
    folder: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    on_gpu: bool = False
    arguments: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        """Its number among the ranks of the run."""
        return self.comm.rank

    @property
    def size(self) -> int:
        """How many ranks the run has."""
        return self.comm.size

    @property
    def device(self) -> str:
        """The kind of device to compute on: "cuda" where the case is to run there, or where torch.distributed
        communicates from there; else "cpu"."""
        import torch.distributed as dist

        return "cuda" if self.on_gpu or (dist.is_initialized() and dist.get_backend() == "nccl") else "cpu"

    @property
    def torch_device(self) -> Any:
        """This `device`, with the number of the current GPU, as a torch.device."""
        import torch

        return torch.device("cuda", torch.cuda.current_device()) if self.device == "cuda" else torch.device("cpu")

    def tensor(self, values: Any, dtype: Any = None) -> Any:
        """A tensor of `values` on this rank's device."""
        import torch

        return torch.tensor(values, dtype=dtype, device=self.device)

    def argument(self, name: str, value: Any) -> Any:
        """`value`, a tensor or an array, of which the check is to see whether the call leaves it as it is. name: of the
        parameter. Raises TypeError for anything else."""
        if not hasattr(value, "shape"):
            raise TypeError(f"argument({name!r}, ...) looks at arrays and tensors; this is {type(value).__name__}")
        self.arguments[name] = value, value.detach().clone() if hasattr(value, "detach") else value.copy()
        return value

    def meet(self) -> None:
        """Wait for all ranks of the run."""
        meet(self.comm)

    def changed(self) -> list[str]:
        """Names of the arguments of the last call that are not what they were."""
        names = [name for name, (now, before) in self.arguments.items() if not alike(now, before)]
        self.arguments.clear()
        return names


def alike(now: Any, before: Any) -> bool:
    """Whether a tensor or an array is what it was."""
    if hasattr(now, "detach"):
        import torch

        return torch.equal(now.detach(), before)
    import numpy as np

    same = now.dtype == before.dtype and now.shape == before.shape
    return same and np.array_equal(now, before, equal_nan=now.dtype.kind in "fc")


class RankCheck(Check):
    """A check whose probe runs one function, `run`, on each rank of a case.

    needs: "torch" or "horovod", to be ready on just these ranks. deadline: of a run, in seconds, where a case has no
    `deadline` of its own.
    """

    needs: str | None = None
    deadline: float = 15.0

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> Any:
        """Runs on each rank: what the student's code, `subject.load()`, does there, as plain data."""
        raise NotImplementedError

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The run on the ranks of the case."""
        with tempfile.TemporaryDirectory() as folder:
            return self.on_ranks(world, case, run_on_rank, type(self).run, subject, case, folder, COMM)

    def on_ranks(self, world: Any, case: dict, function: Callable, *arguments: Any) -> dict:
        """What becomes of a function on the ranks of the case."""
        place = {"ranks": case["ranks"]} if "ranks" in case else {"size": case.get("size", 1)}
        deadline = case.get("deadline", self.deadline)
        return world.attempt(function, *arguments, init=self.needs, deadline=deadline, **place).plain()


class CallCheck(RankCheck):
    """A check that calls the student's function on each rank once for each of the case's `calls`.

    Between two calls the ranks meet. What would start or end a library is noted, and does nothing.
    """

    def calls(self, case: dict) -> list[dict]:
        """What tells one call from another; plain JSON."""
        return case["calls"]

    @staticmethod
    def given(rank: Rank, case: dict) -> Mapping[str, Any]:
        """Runs on each rank: what the student's cell finds by name, such as stand-ins for earlier TODOs."""
        return {}

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """Runs on each rank: one call of the student's function. What is seen, as plain data that fits `shape`."""
        raise NotImplementedError

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The calls on the ranks of the case."""
        own = type(self)
        return self.on_ranks(world, case, make_calls, own.call, own.given, self.calls(case), subject, case, COMM)


def run_on_rank(run: Callable, subject: Any, case: dict, folder: str, comm: Any) -> Any:
    """Runs on each rank: a check's own function."""
    with torch_as_it_was(), on_gpu(case, comm, subject.filename):
        return run(Rank(comm, folder, on_gpu=case.get(ON_GPU, False)), subject.salted(comm.rank), case)


def make_calls(call: Callable, given: Callable, calls: list[dict], subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: one call after another. Gives what each showed, and what was tried to start or end."""
    made, tried, late = [], [], case.get("late")
    # A communicator for each call: a collective that a rank leaves out must not meet the next call's.
    dup = unwatched(type(comm).Dup)
    rank, communicators = Rank(comm, on_gpu=case.get(ON_GPU, False)), [dup(comm) for _ in calls]
    with torch_as_it_was(), on_gpu(case, comm, subject.filename), nothing_starts_or_ends(tried):
        function = subject.salted(comm.rank).load(**given(rank, case))
        for number, (communicator, plan) in enumerate(zip(communicators, calls, strict=True)):
            rank.comm = communicator
            if number:
                meet(comm)
            began = time.monotonic()
            if number == 0 and late is not None:
                began += LATE
                time.sleep(LATE if comm.rank == late else 0)
            shown = call(function, rank, plan)
            made.append({"shown": shown, "changed": rank.changed()})
            if late is not None:
                progress_until(comm, began + SETTLING)
    return {"calls": made, "tried": tried}
