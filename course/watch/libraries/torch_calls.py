"""Records the calls of torch.distributed: its functions, process groups' own methods, and functional collectives.

https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from course.watch.events import ANY, kind_of
from course.watch.libraries.torch_handles import Handles
from course.watch.libraries.torch_ops import FUNCTIONAL, watched_operators
from course.watch.payload import ALIASES, EMPTY, bound, describe, flat, name_of, numbers
from course.watch.recorder import Recorder, Said, Told, said
from course.watch.unseen import unseen_functions, unseen_methods

# Names of the arguments of each function, in order; "payload" is what this rank sends, "out" where it receives, "peer"
# another rank of the default group, "place" one of the group.
FUNCTIONS = flat(
    {
        "all_reduce all_reduce_coalesced": "payload op group",
        "reduce": "payload peer op group async place",
        "broadcast": "payload peer group async place",
        "broadcast_object_list": "payload peer group device place",
        "send isend": "payload peer group tag place",
        "recv irecv": "out peer group tag place",
        "send_object_list": "payload peer group device place",
        "recv_object_list": "out peer group device place",
        "gather": "payload out peer group async place",
        "scatter": "out payload peer group async place",
        "gather_object": "payload out peer group place",
        "scatter_object_list": "out payload peer group place",
        "all_gather all_gather_into_tensor all_gather_single all_gather_coalesced": "out payload group",
        "all_gather_object": "out payload group",
        "reduce_scatter reduce_scatter_tensor reduce_scatter_single": "out payload op group",
        "all_to_all": "out payload group",
        "all_to_all_single": "out payload outs ins group",
        "barrier monitored_barrier": "group",
    }
)
METHODS = flat(
    {
        "allreduce allreduce_coalesced": "group payload op",
        "broadcast": "group payload place",
        "reduce": "group payload place op",
        "allgather _allgather_base all_gather_single": "group out payload",
        "allgather_coalesced allgather_into_tensor_coalesced all_gather_single_coalesced": "group out payload",
        "gather scatter": "group out payload place",
        "reduce_scatter _reduce_scatter_base reduce_scatter_single": "group out payload op",
        "reduce_scatter_tensor_coalesced reduce_scatter_single_coalesced": "group out payload op",
        "alltoall alltoall_base all_to_all_single": "group out payload",
        "barrier monitored_barrier": "group",
        "send": "group payload place tag",
        "recv": "group out place tag",
        "recv_anysource": "group out tag",
    }
)


class WatchedTorch:
    """What takes the place of torch.distributed's functions and methods during a run.

    functions: by the function that it replaces. methods: (class or namespace, name, method).
    """

    def __init__(self, recorder: Recorder) -> None:
        import torch
        import torch.distributed as dist
        from torch.distributed import _functional_collectives as functional
        from torch.utils.weak import WeakIdKeyDictionary

        self.recorder, self.dist, self.handles = recorder, dist, Handles(recorder)
        self.groups = WeakIdKeyDictionary()  # members of process groups, and the number by which calls name them
        self.world: tuple = (lambda: self, (None, None), None)  # a reference to the default group; its own; our rank
        self.reductions = {id(op): name for name, op in dist.ReduceOp.RedOpType.__members__.items()}  # these live on
        self.functions: dict[Callable, Callable] = {}
        for module, table in (dist, FUNCTIONS), (functional, FUNCTIONAL):
            for operation, names in table.items():
                if function := getattr(module, operation, None):
                    self.functions[function] = self.watched(operation, names, function)
        self.functions |= unseen_functions(recorder)
        self.functions[functional.wait_tensor] = self.handles.waiting(functional.wait_tensor, "dist.wait_tensor")
        self.methods = [*self.of_groups(), *self.handles.methods()]
        of_operators = partial(self.watched, waited_for=torch.Tensor)
        self.methods += watched_operators(of_operators, self.handles.waiting, recorder.unseen)
        self.methods += unseen_methods(recorder)

    def watched(self, operation: str, names: tuple[str, ...], function: Callable, waited_for: Any = ()) -> Callable:
        """A function that records its calls. waited_for: classes of results that are there once somebody waits."""
        later = partial(self.handles.later, waited_for or self.handles.kinds)
        return self.recorder.wrap("torch", operation, function, self.about(operation, names), later)

    def of_groups(self) -> Iterator[tuple[type, str, Callable]]:
        """The methods of process groups and their backends."""
        from torch._C._distributed_c10d import Backend

        for owner in (self.dist.ProcessGroup, Backend):
            for operation, names in METHODS.items():
                if function := getattr(owner, operation, None):
                    yield owner, operation, self.watched(operation, names, function)

    def named_group(self, group: Any) -> tuple[list[int] | None, int | None]:
        """The ranks of a group, in its order, and the number by which calls name it; None of a backend's, which does
        not know its ranks. group: in any of the forms that torch takes."""
        try:
            if group is None:
                return self.default()[1]
            if isinstance(group, list):
                return group, self.recorder.group(group)
            if isinstance(group, tuple):
                group = group[0].get_group(group[1])
            elif hasattr(group, "get_group"):
                group = group.get_group()
            elif isinstance(group, str):
                group = self.dist.distributed_c10d._resolve_process_group(group)
            if (known := self.groups.get(group)) is None:
                members = self.dist.get_process_group_ranks(group)
                known = self.groups[group] = members, self.recorder.group(members, self.context(group, members))
        except Exception:
            return None, None
        return known

    def default(self) -> tuple:
        """The default group: a reference to it, what `named_group` says of it, and this rank's number in it."""
        group = self.dist.group.WORLD
        if group is not self.world[0]():
            self.world = weakref.ref(group), self.named_group(group), self.dist.get_rank()
        return self.world

    def reduction(self, op: Any) -> str:
        """The name of a reduction's operation; torch takes a microsecond to make it. op: in any of torch's forms."""
        if op is None:
            return "SUM"
        if (name := self.reductions.get(id(op))) is None:
            op = getattr(op, "reduceOp", op)  # of options
            name = str(getattr(op, "op", op)).rpartition(".")[2].upper()
        return name

    def context(self, group: Any, members: list[int]) -> int:
        """Which of the groups with these members this is; they are made in the same order on all ranks."""
        groups = self.dist.distributed_c10d._world.pg_group_ranks
        alike = [other for other, ranks in groups.items() if [*ranks] == members]
        return next((number for number, other in enumerate(alike) if other is group), 0)

    def about(self, operation: str, names: tuple[str, ...]) -> Callable[[tuple, dict], Said]:
        """A function that says what a call says, see `Recorder.wrap`. names: of its arguments."""
        if {"peer", "place", "tag"}.isdisjoint(names):
            return self.about_equals(names)
        kind, sends, reduces = kind_of(operation), "payload" in names, "op" in names
        rooted = kind in {"gather", "scatter"}

        def about(args: tuple, kwargs: dict) -> Said:
            given = bound(names, args, kwargs)
            members, group = self.named_group(given.get("group"))
            peer, place = given.get("peer"), given.get("place", given.get("root", given.get("opts")))
            if place is not None:
                peer = members[getattr(place, "rootRank", place)] if members else None
            elif peer is None and rooted:
                peer = 0
            tag = given.get("tag", 0) if kind in {"send", "recv"} else None
            reduction = self.reduction(given.get("op", given.get("opts"))) if reduces else None
            out = given.get("out", given.get("payload"))

            def finished(result: Any) -> Told:
                if kind == "recv":
                    source = result if peer is None and isinstance(result, int) else None
                    return {"received": describe(out).bytes, "peer": source}
                return results_of(out, result)

            payload, room, tells = describe(given.get("payload")) if sends else EMPTY, None, reduces or kind == "recv"
            if kind == "recv":
                room, dtype, _ = describe(out)
                payload = EMPTY._replace(dtype=dtype)
            if kind in ("broadcast", "reduce"):
                is_root = peer is None or peer == self.default()[2]
                room = payload.bytes if kind == "broadcast" else None
                payload = payload if is_root or kind == "reduce" else EMPTY._replace(dtype=payload.dtype)
                tells = tells and is_root
            asked = (ANY if peer is None else peer, tag) if kind == "recv" else (None, None)
            return said(peer, None, tag, reduction, group, payload, finished if tells else None, asked, room)

        return about

    def about_equals(self, names: tuple[str, ...]) -> Callable[[tuple, dict], Said]:
        """See `about`; of what has neither a root nor a peer. Reads arguments by their places, as it is called where
        microseconds count."""
        missing = (None,) * (len(names) + 1)  # the last one stands for what it has not
        places = {name: place for place, name in enumerate(names)}
        payload_at, group_at, op_at = (places.get(name, -1) for name in ("payload", "group", "op"))
        out_at = places.get("out", payload_at)
        keywords = {"opts": op_at} | {name: places.get(ours, -1) for name, ours in ALIASES.items()} | places

        def about(args: tuple, kwargs: dict) -> Said:
            args += missing
            for name, value in kwargs.items():
                if (place := keywords.get(name, -1)) >= 0:
                    args = (*args[:place], value, *args[place + 1 :])
            group = self.named_group(args[group_at])[1]
            payload = args[payload_at]
            try:
                size, dtype, values = payload.nbytes, name_of(payload.dtype), numbers(payload)
            except Exception:  # several tensors, an object, or nothing
                size, dtype, values = describe(payload)
            reduction, finished = None, None
            if op_at >= 0:
                reduction, finished = self.reduction(args[op_at]), partial(results_of, args[out_at])
            return (None, None, None, None, None, reduction, group, size, None, dtype), values, finished

        return about


def results_of(out: Any, result: Any) -> list[float | None] | None:
    """The numbers that come out of a reduction. out: where its result goes, unless it is returned."""
    if result is not None and hasattr(result, "dtype"):
        out = result
    return numbers(out) if hasattr(out, "dtype") else describe(out).values
