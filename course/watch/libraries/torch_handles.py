"""Handles of torch.distributed's calls, their futures and the tensors of functional collectives: who waits for them.

https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.Work
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from course.watch.recorder import SILENT, Recorder, Said, named, told

UNKNOWN = (-1, SILENT)


class Handles:
    """What stands for calls that are under way, and what takes the place of the methods that wait for it.

    kinds: classes of results that are handles, or stand for one.
    """

    def __init__(self, recorder: Recorder) -> None:
        import torch
        import torch.distributed as dist
        from torch.distributed._functional_collectives import AsyncCollectiveTensor
        from torch.utils.weak import WeakIdKeyDictionary

        self.recorder, self.tensor, self.work = recorder, torch.Tensor, dist.Work
        self.kinds = dist.Work, AsyncCollectiveTensor
        self.under_way = WeakIdKeyDictionary()  # number of the call and what it said, by handle or storage
        self.futures = WeakIdKeyDictionary()  # handles

    def methods(self) -> Iterator[tuple[type, str, Callable]]:
        """The methods of handles and of their futures: class, name and method."""
        yield from self.of_handles()
        yield from self.of_futures()

    def of_handles(self) -> Iterator[tuple[type, str, Callable]]:
        """The methods of handles that wait."""
        work = self.work
        for operation in ("wait", "synchronize"):
            yield work, operation, self.waiting(getattr(work, operation), f"dist.Work.{operation}")
        is_completed, get_future = work.is_completed, work.get_future

        def completed(handle: Any) -> bool:
            result = is_completed(handle)
            if result:
                self.complete(handle)
            return result

        def future(handle: Any) -> Any:
            result = get_future(handle)
            if handle in self.under_way:
                self.futures[result] = handle
            return result

        yield work, "is_completed", completed
        yield work, "get_future", future

    def of_futures(self) -> Iterator[tuple[type, str, Callable]]:
        """The methods of a handle's future: who waits for it, or has something done with its result, waits for the
        handle."""
        from torch._C import Future

        wait, then = Future.wait, Future.then

        def waited(future: Any, *args: Any, **kwargs: Any) -> Any:
            handle = self.futures.get(future)
            self.waits(handle)
            result = wait(future, *args, **kwargs)
            self.complete(handle)
            return result

        def followed(future: Any, callback: Callable) -> Any:
            handle = self.futures.get(future)

            def after(done: Any) -> Any:
                self.complete(handle)
                return callback(done)

            return then(future, callback if handle is None else after)

        yield Future, "wait", named(waited, "dist.Future.wait")
        yield Future, "then", followed

    def waiting(self, function: Callable, name: str) -> Callable:
        """A function that waits for a handle, or a tensor, and records it."""
        under_way = self.under_way.data

        def wait(handle: Any, *args: Any, **kwargs: Any) -> Any:
            if not under_way:  # as in each call that waits by itself
                return function(handle, *args, **kwargs)
            self.waits(handle)
            result = function(handle, *args, **kwargs)
            self.complete(handle)
            return result

        return named(functools.update_wrapper(wait, function), name)

    def waits(self, handle: Any) -> None:
        """Log that the rank waits for what a handle, or a tensor, stands for."""
        if handle is not None:
            self.recorder.waits(self.under_way.get(self.known_by(handle), UNKNOWN)[0])

    def complete(self, handle: Any) -> None:
        """Log the end of what a handle, or a tensor, stands for."""
        if handle is None:
            return
        number, what = self.under_way.pop(self.known_by(handle), UNKNOWN)
        if number >= 0:
            self.recorder.end(number, told(what, handle))

    def later(self, waited_for: Any, result: Any, number: int, what: Said) -> Any:
        """See `Recorder.wrap`. waited_for: classes of results."""
        for part in result if isinstance(result, list) else [result]:
            if not isinstance(part, waited_for):
                return None
            self.under_way[self.known_by(part)] = number, what
        return result

    def known_by(self, handle: Any) -> Any:
        """What a handle, or a tensor, is known by: itself, or its storage. As in torch, who waits for a view of a
        tensor waits for the tensor; `DTensor.full_tensor` does."""
        tensor = getattr(handle, "elem", handle)  # of a functional collective, which is waited for on its first use
        return tensor.untyped_storage() if isinstance(tensor, self.tensor) else handle
