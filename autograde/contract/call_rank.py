"""One rank of a run, as the functions of a probe see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from autograde.cells.subject import describe
from autograde.contract.calls import meet
from autograde.contract.evidence import Array
from course.watch.recorder import unwatched


@dataclass
class CallRank:
    """This rank in a `CallProbe`.

    comm: communicator of the ranks of the run, one of its own for each call. folder: a new one, the same on all ranks,
    that goes when the run has ended. notes: for what the probe's functions share. on_gpu: whether the case is to run on
    a GPU. subject: the student's cell, with Python's own `hash`, for what runs it once more elsewhere. number: of the
    call, from 0. surroundings: what the probe's `around` gives for the call. arguments: of the call, each with a copy.
    results: what calls returned, by number of the call, each with a copy.
    """

    comm: Any
    folder: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    on_gpu: bool = False
    subject: Any = None
    number: int = 0
    surroundings: Any = None
    arguments: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    results: list[tuple[int, Any, Any]] = field(default_factory=list)

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

    def returned(self, value: Any, **arguments: Any) -> Array:
        """An array or tensor that the call returned, as evidence; at the end it is looked at once more.

        arguments: those that it should not share memory with, by name.
        """
        seen = Array.of(value, **arguments)
        if seen.is_array and hasattr(value, "copy" if seen.kind == "array" else "clone"):
            self.results.append((self.number, value, value.detach().clone() if seen.kind == "tensor" else value.copy()))
        return seen

    def changed(self) -> list[str]:
        """Names of the arguments of the last call that are not what they were."""
        names = [name for name, (now, before) in self.arguments.items() if not alike(now, before)]
        self.arguments.clear()
        return names

    def overwritten(self) -> list[int]:
        """Numbers of the calls whose results are not any more what they were when they were returned."""
        return sorted({number for number, now, then in self.results if not alike(now, then)})

    def meet(self) -> None:
        """Wait for all ranks in the middle of a call. This is not recorded, unlike what ends the call."""
        barrier = unwatched(type(self.comm).Barrier)
        meet(SimpleNamespace(Barrier=lambda: barrier(self.comm)))

    def in_words(self, error: BaseException) -> str:
        """One line on an error that the student's code raised, with the line of the cell."""
        return describe(error, self.subject.filename)


def alike(now: Any, before: Any) -> bool:
    """Whether a tensor or an array is what it was."""
    if hasattr(now, "detach"):
        import torch

        return torch.equal(now.detach(), before)
    import numpy as np

    same = now.dtype == before.dtype and now.shape == before.shape
    return same and np.array_equal(now, before, equal_nan=now.dtype.kind in "fc")
