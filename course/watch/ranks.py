"""What the calls of mpi4py's communicators say: who is meant by a number of a rank, and what is sent and received."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from course.watch.events import ANY, kind_of
from course.watch.payload import EMPTY, NOTHING, Payload, bound, describe, describe_buffer, describe_pickled, part_of
from course.watch.recorder import Recorder, Said, Told, said


class Ranks:
    """Whom the ranks of a communicator are among the ranks of a run, and what its calls say.

    run: communicator of the run.
    """

    def __init__(self, recorder: Recorder, run: Any) -> None:
        from mpi4py import MPI

        self.recorder, self.mpi, self.group = recorder, MPI, run.Get_group()
        self.constants = {id(op): name for name in dir(MPI) if isinstance(op := getattr(MPI, name), MPI.Op)}
        self.operations = [(name, getattr(MPI, name)) for name in self.constants.values()]
        self.known: dict[int, tuple[int, list[int | None]]] = {}  # what `members` gives, by MPI's own name
        self.contexts: Counter[tuple[int | None, ...]] = Counter()  # how many communicators, by their members
        self.enter(run)
        self.enter(MPI.COMM_WORLD)

    def reduction(self, op: Any) -> str:
        """The name of a reduction's operation."""
        return self.constants.get(id(op)) or next((name for name, known in self.operations if known == op), "custom")

    def members(self, communicator: Any) -> tuple[int, list[int | None]]:
        """The communicator's ranks as ranks of the run, with the number by which the log knows them. Of those at the
        other end, if it has two."""
        known = getattr(communicator, "lockstep_members", None)
        if known is None:
            known = self.known.get(communicator.handle) or self.enter(communicator)
            with suppress(AttributeError):  # of a plain communicator, which has no room for it
                communicator.lockstep_members = known
        return known

    def enter(self, communicator: Any) -> tuple[int, list[int | None]]:
        """See `members`; of a communicator that is new. Those with the same members have numbers in the order in which
        they are made, which is the same on all of them."""
        group = communicator.Get_remote_group() if communicator.Is_inter() else communicator.Get_group()
        ranks = group.Translate_ranks(None, self.group)
        group.Free()
        members = [None if rank == self.mpi.UNDEFINED else rank for rank in ranks]
        context = self.contexts[tuple(members)]
        self.contexts[tuple(members)] += 1
        known = self.known[communicator.handle] = self.recorder.group(members, context), members
        return known

    def leave(self, communicator: Any) -> None:
        """A communicator is freed: the next one may have its name."""
        self.known.pop(communicator.handle, None)

    def peer(self, members: list[int | None], rank: Any) -> int | None:
        """A rank of a communicator, as one of the run."""
        return members[rank] if rank is not None and 0 <= rank < len(members) else None

    def arrived(self, members: list[int | None], status: Any, end: str = "peer") -> dict:
        """What the status of a message says."""
        found = self.found(members, status, end)
        return found | {"received": status.Get_count(self.mpi.BYTE)}

    def found(self, members: list[int | None], status: Any, end: str = "peer") -> dict:
        """What the status of a probe says."""
        source, tag = self.peer(members, status.Get_source()), status.Get_tag()
        tag = tag if tag >= 0 else None  # of a message from nobody
        return {end: source, "tag": tag if end == "peer" else None, "received_tag": tag}

    def asked(self, members: list[int | None], source: Any, tag: Any) -> tuple[int | None, int | None]:
        """What a receive or a probe asks for; nothing of a message from nobody."""
        if source == self.mpi.PROC_NULL:
            return None, None
        source = ANY if source == self.mpi.ANY_SOURCE else self.peer(members, source)
        return source, ANY if tag == self.mpi.ANY_TAG else tag

    def about(self, operation: str, names: tuple[str, ...]) -> Callable[[tuple, dict], Said]:
        """A function that says what a call of a method says. names: of its arguments."""
        if "dest" in names or "source" in names:
            return self.about_message(operation, names)
        return self.about_collective(operation, names)

    def about_collective(self, operation: str, names: tuple[str, ...]) -> Callable[[tuple, dict], Said]:
        """See `about`. Reads arguments by their places, as it is called where microseconds count."""
        payload_at, out_at, op_at, root_at = (place(names, name) for name in ("payload", "out", "op", "root"))
        missing = tuple({"op": self.mpi.SUM, "root": 0}.get(name) for name in names)
        describing, in_place, kind = describes(operation), self.mpi.IN_PLACE, kind_of(operation)
        buffers = operation[0].isupper()
        rooted, from_root = kind in {"broadcast", "gather", "scatter", "reduce"}, kind in {"broadcast", "scatter"}

        def about(args: tuple, kwargs: dict) -> Said:
            if kwargs:
                given = bound(names, args[1:], kwargs)
                args = (args[0], *(given.get(name, default) for name, default in zip(names, missing, strict=True)))
            else:
                args += missing[len(args) - 1 :]
            number, members = getattr(args[0], "lockstep_members", None) or self.members(args[0])
            root, is_root = None, True
            if rooted:
                at = args[root_at] if root_at else 0
                root, is_root = self.peer(members, at), at in (args[0].rank, self.mpi.ROOT)
            sent, out = args[payload_at] if payload_at else None, args[out_at] if out_at else None
            if from_root and not is_root:  # it has room only
                room, dtype, _ = describing(out if out_at else sent) if buffers else NOTHING
                return (root, None, None, None, None, None, number, 0, room, dtype), None, None
            if sent is not in_place:
                size, dtype, values = describing(sent) if payload_at else EMPTY
            elif kind == "gather":
                size, dtype, values = EMPTY
            else:  # what is in the receive buffer, or in this rank's part of it
                size, dtype, values = describing(out)
                if kind == "allgather":
                    size, dtype, values = part_of(Payload(size, dtype, values), out, args[0].rank, args[0].size)
            if not op_at:
                return (root, None, None, None, None, None, number, size, None, dtype), values, None

            def finished(result: Any) -> Told:
                return describing(out if out_at else result).values

            reduction = self.reduction(args[op_at])
            return (
                (root, None, None, None, None, reduction, number, size, None, dtype),
                values,
                finished if is_root else None,
            )

        return about

    def about_message(self, operation: str, names: tuple[str, ...]) -> Callable[[tuple, dict], Said]:
        """See `about`."""
        status_at, describing = place(names, "status"), describes(operation, message=True)
        sends, asks, probes = "dest" in names, "source" in names, kind_of(operation) == "probe"
        at_once = operation[0] not in "Ii" and not operation.endswith("_init")

        def about(args: tuple, kwargs: dict) -> Said:
            given = bound(names, args[1:], kwargs)
            number, members = self.members(args[0])
            dest, source = self.peer(members, given.get("dest")), self.peer(members, given.get("source", -1))
            tag = given.get("tag", 0 if sends else -1)
            wanted = given.get("recvtag", -1) if sends else tag
            asked = self.asked(members, given.get("source", self.mpi.ANY_SOURCE), wanted) if asks else (None, None)
            tag = tag if tag >= 0 else None
            status = given.get("status")
            if status_at and status is None and len(args) <= status_at:
                status = kwargs["status"] = self.mpi.Status()

            def finished(result: Any) -> dict:
                if probes:
                    return self.found(members, status)
                return self.arrived(members, status if at_once else result, "source" if sends else "peer")

            payload, room = EMPTY, None
            if "payload" in names:
                payload = describing(given.get("payload"))
            elif not probes and operation[0].isupper():
                room, dtype, _ = describing(given.get("out"))
                payload = EMPTY._replace(dtype=dtype)
            peers = (dest, source) if sends else (source, None)
            return said(*peers, tag, None, number, payload, finished if asks else None, asked, room)

        return about


def place(names: tuple[str, ...], name: str) -> int:
    """The place of an argument, counted from the communicator's, which is 0: there is none."""
    return names.index(name) + 1 if name in names else 0


def describes(operation: str, message: bool = False) -> Callable[[Any], Payload]:
    """The function that describes what a method sends. Those with a capital take buffers. message: whether it comes to
    a rank whose status says how many bytes it has."""
    if operation[0].islower():
        return describe_pickled if message else describe
    return partial(describe_buffer, vector=operation.removesuffix("_init").endswith("v"))
