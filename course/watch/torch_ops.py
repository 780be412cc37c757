"""Records torch's own operators that communicate, which its functional collectives call, and anybody else may.

https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/Functional.cpp
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from course.watch.payload import flat

# Names of their arguments, by namespace and operator; see `course.watch.torch_calls`.
OPERATORS = {
    "_c10d_functional": flat(
        {
            "all_reduce all_reduce_ all_reduce_coalesced all_reduce_coalesced_": "payload op group",
            "broadcast broadcast_": "payload place group",
            "all_gather_into_tensor all_gather_into_tensor_coalesced all_gather_into_tensor_out": "payload count group",
            "reduce_scatter_tensor reduce_scatter_tensor_coalesced": "payload op count group",
            "all_to_all_single": "payload outs ins group",
            "isend": "payload peer tag group",
            "irecv": "out peer tag group",
        }
    ),
    "_c10d_functional_autograd": flat(
        {
            "all_gather_into_tensor": "payload count group",
            "reduce_scatter_tensor": "payload op count group",
            "all_to_all_single": "payload outs ins group",
        }
    ),
    "c10d": flat(
        {
            "allreduce_ allreduce_coalesced_": "payload group op",
            "broadcast_": "payload group place",
            "reduce_": "payload group op place",
            "allgather_ _allgather_base_ allgather_into_tensor_coalesced_": "out payload group",
            "reduce_scatter_ _reduce_scatter_base_ reduce_scatter_tensor_coalesced_": "out payload group op",
            "gather_ scatter_": "out payload group place",
            "alltoall_ alltoall_base_": "out payload group",
            "send": "payload group place tag",
            "recv_": "out group place tag",
            "recv_any_source_": "out group tag",
            "barrier": "group",
        }
    ),
}


class WatchedOperator:
    """An operator, or an overload of one, whose calls go through `call`; all else is the operator's own."""

    def __init__(self, plain: Any, call: Callable) -> None:
        self.plain, self.call = plain, call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, recorded."""
        return self.call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "default":
            return WatchedOperator(self.plain.default, self.call)
        return getattr(self.plain, name)


def watched_operators(
    watched: Callable[[str, tuple[str, ...], Callable], Callable], waiting: Callable[[Callable, str], Callable]
) -> Iterator[tuple[Any, str, WatchedOperator]]:
    """What takes the place of torch's operators: namespace, name and operator.

    watched(operation, names, function), waiting(function, name): make functions that record their calls.
    """
    import torch

    for namespace, operators in OPERATORS.items():
        owner = getattr(torch.ops, namespace)
        for operation, names in operators.items():
            if (plain := getattr(owner, operation, None)) is not None:
                yield owner, operation, WatchedOperator(plain, watched(operation, names, plain))
    functional = torch.ops._c10d_functional
    yield functional, "wait_tensor", WatchedOperator(functional.wait_tensor, waiting(functional.wait_tensor, "wait"))
