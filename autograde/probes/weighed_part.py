"""Runs a student's function once more in a world where one rank's part of each sum weighs more.

What comes out of a reduction then is another number. A result that is made of it is another one, too; one that was
found elsewhere stays what it is. The second run is made only where nothing but small sums and averages, to all ranks,
goes from rank to rank, so that no other number means something else than before; and it counts only if it comes to its
end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist

from autograde.contract.call_probe import CallProbe
from course.watch.notes import note, note_of
from course.watch.payload import FEW

WEIGHED = "weighed"  # key of a case that is run so; and the note by which a call tells that it was
# By so much more a part weighs, and each number by so much more than the one before it. With few samples on few ranks,
# most others let out what the right result could be made of as well: a half or a quarter of it, or a percentage.
MORE, APART = 17, 23
SUMS = frozenset({"SUM", "AVERAGE", "AVG"})
SILENT = frozenset({"barrier", "communicator", "probe", "note"})  # kinds of events that carry no number


class WeighedProbe(CallProbe):
    """Calls, or in a case with the mark WEIGHED those of a second run, if there is one.

    Its judges ask `was_weighed(call.case, call.notes)`. What an optimizer communicates is left alone, see `alone`.
    """

    def alone(self, event: dict) -> bool:
        """Whether this event is none of the student's sums, so that it does not matter which numbers it carries."""
        return False

    def __call__(self, world: Any, subject: Any, case: dict) -> dict:
        """See `CallProbe`; the second run has a new folder."""
        evidence = super().__call__(world, subject, case)
        logs = [[event for event in rank["events"] if not self.alone(event)] for rank in evidence["ranks"]]
        rank = heaviest(logs) if case.get(WEIGHED) and evidence["state"] == "ok" else None
        if rank is None:
            return evidence
        with TemporaryDirectory() as folder:
            second = self.on_ranks(world, subject, case, folder, with_weighed_part, rank).plain()
        return second if second["state"] == "ok" else evidence


def was_weighed(case: dict, noted: Sequence[Sequence[dict]]) -> bool:
    """Whether this is what a second run gave. noted: events by rank, with notes."""
    return case.get(WEIGHED, False) and any(note_of(event) == WEIGHED for log in noted for event in log)


def heaviest(logs: Sequence[Sequence[dict]]) -> int | None:
    """The rank that puts in the largest numbers; None where there is more than small sums and averages."""
    logs = [[event for event in log if event["kind"] not in SILENT] for log in logs]
    numbers = {len(log) for log in logs}
    if len(logs) < 2 or numbers == {0} or len(numbers) > 1 or not all(plain_sum(each) for log in logs for each in log):
        return None
    weights = [sum(abs(number or 0) for event in log for number in event["values"]) for log in logs]
    return weights.index(max(weights))


def plain_sum(event: dict) -> bool:
    """Whether this is a small sum of torch's or Horovod's, or an average, to all ranks."""
    return bool(event["kind"] == "allreduce" and event["reduction"] in SUMS and event["values"]) and (
        event["library"] != "mpi4py" and event["dtype"] != "bool"
    )


def with_weighed_part(rank: int, function: Callable, *arguments: Any) -> Any:
    """Runs on each rank: a function, in which the parts of rank number `rank` weigh more. Its last argument is the
    communicator."""
    comm = arguments[-1]
    with weighing(comm) if comm.rank == rank else nullcontext():
        return function(*arguments)


@contextmanager
def weighing(comm: Any) -> Iterator[None]:
    """In this block, the first number that this rank puts into a small reduction weighs 18 on its way, the next one
    392, and so on. Each time a note is made. An optimizer's own reductions are left as they are."""
    numbers = count()

    def more(tensor: torch.Tensor) -> torch.Tensor:
        """The tensor, or if it is a small one, another one in its place."""
        if tensor.numel() > FEW or tensor.dtype == torch.bool:
            return tensor
        note(comm, WEIGHED)
        weights = torch.tensor([1 + MORE * APART ** next(numbers) for _ in range(tensor.numel())])
        return tensor.detach() * weights.reshape(tensor.shape).to(tensor)

    def changed(function: Callable, *parts: torch.Tensor) -> Callable:
        """The function, once these tensors hold what weighs more; where it would have been put all the same."""
        with torch.no_grad():
            for part in parts:
                part.copy_(more(part))
        return function

    def of_group(plain: Callable) -> Callable:
        def allreduce(group: Any, tensors: Any, *args: Any, **kwargs: Any) -> Any:
            parts = [tensors] if isinstance(tensors, torch.Tensor) else tensors
            return changed(plain, *parts)(group, tensors, *args, **kwargs)

        return allreduce

    def of_horovod(plain: Callable) -> Callable:
        return lambda tensor, *args, **kwargs: plain(more(tensor), *args, **kwargs)

    def of_horovod_in_place(plain: Callable) -> Callable:
        return lambda tensor, *args, **kwargs: changed(plain, tensor)(tensor, *args, **kwargs)

    # An optimizer has Horovod's functions under names of its own.
    places = [(module, "allreduce_async", of_horovod) for module in horovods()]
    places += [(module, "allreduce_async_", of_horovod_in_place) for module in horovods()]
    with ExitStack() as stack:
        for owner, name, make in (*places, (dist.ProcessGroup, "allreduce", of_group)):
            stack.enter_context(mock.patch.object(owner, name, make(getattr(owner, name))))
        yield


def horovods() -> list[Any]:
    """The modules that hold Horovod's functions for its users; none where it is not imported."""
    return [sys.modules[name] for name in ("horovod.torch", "horovod.torch.mpi_ops") if name in sys.modules]
