"""Records the calls of mpi4py's communicators. Their classes cannot be patched, so subclasses take their place."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import Any

from course.watch.libraries.mpi_calls import COLLECTIVES, MAKERS, MESSAGES, PERSISTENT
from course.watch.libraries.requests import Either, WatchedRequests
from course.watch.payload import EMPTY
from course.watch.ranks import Ranks
from course.watch.recorder import Recorder, Said, known_of, named, said, told

FINDERS = ("fromhandle", "fromint", "f2py", "Get_parent")


class OnFirstUse:
    """A method of a watched class that is made when it is looked up for the first time: a run uses few of a hundred.

    way: the method of `WatchedCommunicators` that makes it, from the class below, the operation and its `names`.
    """

    def __init__(self, way: str, operation: str, names: tuple[str, ...]) -> None:
        self.way, self.operation, self.names = way, operation, names

    def __get__(self, instance: Any, owner: type) -> Any:
        own = next(each for each in owner.__mro__ if vars(each).get(self.operation) is self)
        made = getattr(own.lockstep_watch, self.way)(own.plain, self.operation, self.names)
        setattr(own, self.operation, made)
        return getattr(owner if instance is None else instance, self.operation)


@lru_cache(maxsize=32)
def methods_of(base: type) -> dict[str, OnFirstUse]:
    """The watched methods of a class of communicators. What pkl5 has of its own calls MPI.Comm's, which are."""
    ways = (("call", MESSAGES), ("call", COLLECTIVES), ("prepared", PERSISTENT))
    names = {operation: (way, known) for way, table in ways for operation, known in table.items()}
    names |= {operation: ("maker", ()) for operation in MAKERS.split()}
    found = {operation: getattr(base, operation, None) for operation in names}
    return {
        operation: OnFirstUse(names[operation][0], operation, names[operation][1])
        for operation, method in found.items()
        if method is not None and not (getattr(method, "__module__", None) or "").startswith("mpi4py.util")
    }


class WatchedCommunicators:
    """Makes watched communicators, whose calls go through `recorder`.

    run: communicator of the run. `requests` has what is under way.
    """

    def __init__(self, recorder: Recorder, run: Any) -> None:
        from mpi4py import MPI

        self.recorder, self.mpi = recorder, MPI
        self.ranks = Ranks(recorder, run)
        self.requests = WatchedRequests(recorder, self.ranks.arrived)
        self.classes: dict[type, type] = {}  # made when they are needed

    def of(self, communicator: Any) -> Any:
        """The same communicator, watched."""
        return self.over(type(communicator))(communicator)

    def over(self, base: type) -> type:
        """The subclass of a class of communicators whose calls are recorded."""
        if base not in self.classes:
            self.classes[base] = self.subclass(base)
        return self.classes[base]

    def subclass(self, base: type) -> type:
        """See `over`."""

        def free(communicator: Any) -> None:
            if communicator is not self.mpi.COMM_WORLD and communicator is not self.mpi.COMM_SELF:
                self.ranks.leave(communicator)
                base.free(communicator)

        def let_go(communicator: Any) -> None:
            self.ranks.leave(communicator)
            base.Free(communicator)

        special = {"watched_over": staticmethod(self.over), "plain": base, "__module__": __name__}
        special["lockstep_watch"] = self
        special |= {"free": free, "Free": let_go, "lockstep_note": staticmethod(self.recorder.note)}
        special["lockstep_before_completion"] = staticmethod(self.requests.looks.append)
        special |= {name: self.found(base, name) for name in FINDERS if hasattr(base, name)}
        special |= methods_of(base)
        return Either(base.__name__, (base,), special)

    def found(self, base: type, operation: str) -> classmethod:
        """A class method that finds a communicator, which is watched, too."""
        plain = getattr(base, operation)
        return classmethod(lambda cls, *args: self.seen(plain(*args)))

    def seen(self, made: Any) -> Any:
        """A communicator, watched; or what else was found, or made."""
        return self.of(made) if isinstance(made, self.mpi.Comm) and not hasattr(made, "watched_over") else made

    def call(self, base: type, operation: str, names: tuple[str, ...]) -> Callable:
        """A method that communicates. A request that it returns is watched, too, and so is a message to be received."""
        about, plain = self.ranks.about(operation, names), getattr(base, operation)
        if operation.lower() in ("iprobe", "improbe"):
            return self.poll(operation, plain, about)
        goes_on = self.requests.later if operation[0] in "Ii" else None
        wrapped = self.recorder.wrap("mpi4py", operation, plain, about, goes_on)
        if operation in ("Mprobe", "mprobe"):
            return lambda own, *args, **kwargs: self.requests.message(wrapped(own, *args, **kwargs), own, self.ranks)
        return wrapped

    def poll(self, operation: str, plain: Callable, about: Callable) -> Callable:
        """A method that looks for a message and does not wait: the call that finds one is an event, and so are all
        those together that are alike and do not."""
        inside = self.recorder.inside

        def look(own: Any, *args: Any, **kwargs: Any) -> Any:
            if inside.call:
                return plain(own, *args, **kwargs)
            inside.call = True
            try:
                what = known_of(about, (own, *args), kwargs)
                result = plain(own, *args, **kwargs)
                if result:
                    self.recorder.end(self.recorder.start("mpi4py", operation, what), told(what, result))
                else:
                    self.recorder.polled("mpi4py", operation, what)
            finally:
                inside.call = False
            return self.requests.message(result, own, self.ranks)

        return named(update_wrapper(look, plain), f"comm.{operation}")

    def prepared(self, base: type, operation: str, names: tuple[str, ...]) -> Callable:
        """A method that prepares a persistent request."""
        about, plain = self.ranks.about(operation, names), getattr(base, operation)

        def prepare(*args: Any, **kwargs: Any) -> Any:
            line = self.recorder.line_of_caller()

            def describe() -> Said:
                arguments, *rest = about(args, kwargs)
                return (*arguments, line), *rest

            return self.requests.prepared(plain(*args, **kwargs), operation, describe)

        return prepare

    def maker(self, base: type, operation: str, names: tuple[str, ...]) -> Any:
        """A method, or a class method, that makes a communicator, which is watched, too."""
        plain = getattr(base, operation)
        of_class = isinstance(getattr(plain, "__self__", None), type)

        def about(args: tuple, kwargs: dict) -> Said:
            return said(group=None if of_class else self.ranks.members(args[0])[0], payload=EMPTY)

        def make(*args: Any, **kwargs: Any) -> Any:
            made = plain(*args[of_class:], **kwargs)
            if isinstance(made, tuple):  # with a request, until whose end nothing can be asked of it
                return tuple(map(self.seen, made))
            if isinstance(made, self.mpi.Comm) and made:
                self.ranks.enter(made)
            return self.seen(made)

        wrapped = self.recorder.wrap("mpi4py", operation, make, about)
        return classmethod(wrapped) if of_class else wrapped
