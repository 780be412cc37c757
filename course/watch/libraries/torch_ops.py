"""Records torch's own operators that communicate, which its functional collectives call, and anybody else may.

https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/Functional.cpp
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from course.watch.payload import flat
from course.watch.unseen import is_unseen

# Names of the arguments of the functional collectives, see `course.watch.libraries.torch_calls`.
FUNCTIONAL = flat(
    {
        "all_reduce all_reduce_coalesced": "payload op group",
        "broadcast": "payload place group",
        "all_gather_tensor all_gather_tensor_autograd": "payload dim group",
        "all_gather_single all_gather_single_autograd": "payload dim group",
        "reduce_scatter_tensor reduce_scatter_single": "payload op dim group",
        "reduce_scatter_tensor_autograd reduce_scatter_single_autograd": "payload op dim group",
        "reduce_scatter_tensor_coalesced reduce_scatter_single_coalesced": "payload op dim group",
        "all_gather_into_tensor_coalesced all_gather_single_coalesced": "payload group",
        "all_to_all_single all_to_all_single_autograd": "payload outs ins group",
        "permute_tensor": "payload pairs group",
    }
)
# The same of the operators, by namespace.
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
}


@lru_cache(maxsize=2)
def operators_of(owner: type) -> dict[int, tuple[str, tuple[str, ...]]]:
    """The operators of one of torch's two classes of them: operation and names of its arguments, by identity."""
    import torch
    from torch._ops import OpOverloadPacket

    found = {}
    for namespace, operators in OPERATORS.items():
        for operation, names in operators.items():
            packet = getattr(getattr(torch.ops, namespace), operation, None)
            if packet is not None:
                found[id(packet if owner is OpOverloadPacket else packet.default)] = operation, ("operator", *names)
    return found


def watched_operators(
    watched: Callable[[str, tuple[str, ...], Callable], Callable],
    waiting: Callable[[Callable, str], Callable],
    unseen: Callable[[], None],
) -> Iterator[tuple[type, str, Callable]]:
    """What takes the place of the methods by which operators, and overloads of them, are called: (class, name, method).

    The operators themselves stay where they are: torch keeps pointers to what it finds under their names.
    watched(operation, names, function), waiting(function, name): make functions that record their calls. unseen():
    notes that an operator is called which is not recorded.
    """
    import torch
    from torch._ops import OpOverload, OpOverloadPacket

    wait = torch.ops._c10d_functional.wait_tensor
    for owner, waits in ((OpOverloadPacket, wait), (OpOverload, wait.default)):
        plain = owner.__call__
        known = {id(waits): waiting(partial(plain, waits), "dist.wait_tensor")}
        yield owner, "__call__", calling(operators_of(owner), known, watched, plain, unseen)


def calling(
    operators: Mapping[int, tuple],
    waits: Mapping[int, Callable],
    watched: Callable,
    plain: Callable,
    unseen: Callable[[], None],
) -> Callable:
    """The method of a class of operators that records the calls of some. operators: as of `operators_of`. waits: the
    one that waits for a tensor, which knows its operator."""
    made: dict[int, Callable] = {}
    silent: dict[int, bool] = {}  # whether an operator does not communicate

    def call(operator: Any, /, *args: Any, **kwargs: Any) -> Any:
        number = id(operator)
        if number in waits:
            return waits[number](*args, **kwargs)
        if number not in operators:
            if number not in silent:
                silent[number] = not is_unseen(operator)
            if not silent[number]:
                unseen()
            return plain(operator, *args, **kwargs)
        if number not in made:
            made[number] = watched(*operators[number], plain)
        return made[number](operator, *args, **kwargs)

    return call
