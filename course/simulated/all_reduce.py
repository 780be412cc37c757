"""torch.distributed's all-reduce on a network as slow as wanted, and on two that bring mistakes to light.

Each is a context manager. In its block, all ranks have another `dist.all_reduce`, with `async_op=True`, too; the
numbers are real. What is replaced is process groups' own method, below the watch: it records one event for each call,
whose end is when the rank has waited for it. DistributedDataParallel reduces in C++; with torch's
`default_hooks.allreduce_hook` it calls `dist.all_reduce` instead.
"""

from __future__ import annotations

import concurrent.futures
import platform
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PythonCallbackWork

from course.watch.recorder import unwatched

MACHINE = zlib.crc32(platform.node().encode())  # a number for it; its ranks share a clock
# AllReduce(reduce, group, tensors): reduce(tensors) is the real one, which returns a handle, as this does.
AllReduce = Callable[[Callable[[list[torch.Tensor]], Any], Any, list[torch.Tensor]], Any]


@contextmanager
def slow_all_reduce(latency: float, bandwidth: float) -> Iterator[None]:
    """All-reduces are as slow as in a ring of the group's N ranks: of n bytes, 2 (N - 1) (latency + n / N / bandwidth)
    seconds from when the last rank has called it (Patarasuk and Yuan 2009), one after the other.

    latency: in seconds; bandwidth: in bytes per second, of each rank's line. Ranks sleep, so no core is taken. A world
    takes ranks for deadlocked that all wait longer than its `stall` (3 s). Raises ValueError for what is no network.
    """
    if latency < 0 or not bandwidth > 0:
        raise ValueError(f"No network has a latency of {latency} s and a bandwidth of {bandwidth} bytes per second.")
    last: Transfer | None = None

    def all_reduce(reduce: Callable, group: Any, tensors: list[torch.Tensor]) -> Any:
        nonlocal last
        size, count = group.size(), sum(tensor.nbytes for tensor in tensors)
        seconds = 2 * (size - 1) * (latency + count / size / bandwidth)
        called = torch.tensor([time.monotonic(), MACHINE, -MACHINE], dtype=torch.float64, device=tensors[0].device)
        joined = unwatched(real)(group, [called], dist.ReduceOp.MAX)
        last = Transfer(called, joined, reduce(tensors), tensors, seconds, last)
        return last.handle

    with replaced(all_reduce) as real:
        yield


class Handle(PythonCallbackWork):
    """A handle of torch's: `wait()` waits, and raises what went wrong; `ready()` tells whether it would return at once.

    Its methods are those of torch's class, where the watch notes the calls. It may not lead to itself by what these two
    refer to: Python does not see circles that go through C++.
    """

    def __init__(self, wait: Callable[[], Any], ready: Callable[[], bool]) -> None:
        super().__init__(lambda timeout: wait() is None)
        self.ready = ready

    def wait(self, *timeout: timedelta) -> bool:
        """Wait; for as long as it takes."""
        return dist.Work.wait(self)

    def synchronize(self) -> None:
        """Wait."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether a wait would return at once."""
        if self.ready():
            unwatched(dist.Work.wait)(self)
        return dist.Work.is_completed(self)

    def get_future(self) -> Any:
        """What is set to the tensors once they are there."""
        return dist.Work.get_future(self)


class Transfer:
    """An all-reduce on its way. handle: what the rank waits for.

    called: is to become the latest time of a rank's call, the largest number of a machine, and minus the smallest one.
    joined, real: the handles that say when it has, and when the real all-reduce is complete. seconds: how long it
    takes. previous: the transfer that the line carries before it.
    """

    def __init__(
        self,
        called: torch.Tensor,
        joined: Any,
        real: Any,
        tensors: list[torch.Tensor],
        seconds: float,
        previous: Transfer | None,
    ) -> None:
        self.called, self.joined, self.real, self.tensors, self.seconds = called, joined, real, tensors, seconds
        self.free = 0.0  # when the line is free again
        self.through = threading.Event()
        self.outcome = concurrent.futures.Future()
        self.handle = Handle(self.outcome.result, self.outcome.done)
        self.future = self.handle.get_future()
        # A thread, as nobody may wait for the handle, but for its future, or look whether it is complete.
        threading.Thread(target=self.carry, args=(previous,), daemon=True).start()

    def carry(self, previous: Transfer | None) -> None:
        """Bring the transfer to its end."""
        if previous is not None:
            previous.through.wait()
            self.free = previous.free
        try:
            self.joined.wait()
            called, largest, smallest = self.called.tolist()
            if largest != -smallest:  # several machines, each with its own clock
                called = time.monotonic()
            self.free = max(called, self.free) + self.seconds
            self.real.wait()
            if self.tensors[0].is_cuda:  # there, waiting only puts in order what this very thread does
                torch.cuda.synchronize(self.tensors[0].device)
            time.sleep(max(0.0, self.free - time.monotonic()))
        except Exception as error:
            self.through.set()
            self.outcome.set_exception(error)
            return
        self.through.set()
        self.future.set_result(self.tensors)
        self.outcome.set_result(None)


@contextmanager
def late_all_reduce() -> Iterator[None]:
    """The sum is in its place when it has been waited for, and not before: who does not wait has old numbers."""

    def all_reduce(reduce: Callable, group: Any, tensors: list[torch.Tensor]) -> Any:
        sums = [tensor.clone() for tensor in tensors]
        return LateHandle(Sum(reduce(sums), sums, tensors))

    with replaced(all_reduce):
        yield


class Sum:
    """The sum of an all-reduce, which is to be copied from `sums` to `tensors`. future: is told of it."""

    def __init__(self, real: Any, sums: list[torch.Tensor], tensors: list[torch.Tensor]) -> None:
        self.real, self.sums, self.tensors = real, sums, tensors
        self.missing, self.lock = True, threading.Lock()
        self.future: Any = None

    def wait(self) -> None:
        """Wait for the sum, and put it in its place."""
        self.real.wait()
        self.put()

    def put(self, *_: Any) -> None:
        """Put the sum, which is there, in its place."""
        with self.lock, torch.no_grad():
            if self.missing:
                for tensor, total in zip(self.tensors, self.sums, strict=True):
                    tensor.copy_(total)
                self.missing = False
                self.future.set_result(self.tensors)


class LateHandle(Handle):
    """The handle of an all-reduce whose sum is in its place when somebody waits, or sees that it is complete.

    Who asks for its future gets the sum as soon as it is there.
    """

    def __init__(self, sum: Sum) -> None:
        super().__init__(sum.wait, sum.real.is_completed)
        self.sum = sum
        sum.future = super().get_future()

    def get_future(self) -> Any:
        """See `Handle`."""
        future = super().get_future()
        self.sum.real.get_future().then(self.sum.put)
        return future


@contextmanager
def quick_all_reduce() -> Iterator[None]:
    """The sum is in its place before the call returns: who reads or changes it too soon has other numbers."""

    def all_reduce(reduce: Callable, group: Any, tensors: list[torch.Tensor]) -> Any:
        handle = reduce(tensors)
        handle.wait()
        return handle

    with replaced(all_reduce):
        yield


@contextmanager
def replaced(all_reduce: AllReduce) -> Iterator[Callable]:
    """Put `all_reduce` in the place of process groups' own, which this gives, until the block ends."""
    owner = dist.ProcessGroup
    kept, real = vars(owner)["allreduce"], owner.allreduce  # kept: as a class keeps it, to be put back

    def allreduce(group: Any, tensors: Any, *args: Any, **kwargs: Any) -> Any:
        listed = tensors if isinstance(tensors, list) else [tensors]
        return all_reduce(lambda listed: real(group, listed, *args, **kwargs), group, listed)

    owner.allreduce = allreduce
    try:
        yield real
    finally:
        owner.allreduce = kept
