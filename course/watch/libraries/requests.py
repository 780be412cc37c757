"""Records when operations of mpi4py that go on after their call are waited for, and complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from course.watch.payload import EMPTY
from course.watch.recorder import SILENT, Recorder, Said, known_of, named, said, told

ONE = ("Wait", "wait", "Test", "test")
ANY = ("Waitany", "waitany", "Testany", "testany")
SEVERAL = ("Waitall", "waitall", "Testall", "testall", "Waitsome", "waitsome", "Testsome", "testsome")


class Either(type):
    """The class of a class that takes the place of mpi4py's own, `plain`: it is equal to that, and whatever is an
    instance of that is one of this. A class that somebody derives from it is one as any other."""

    plain: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.plain) if "plain" in vars(cls) else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.plain) if "plain" in vars(cls) else super().__subclasscheck__(subclass)

    def __eq__(cls, other: object) -> bool:
        return other is cls or ("plain" in vars(cls) and other is cls.plain)

    def __hash__(cls) -> int:
        return hash(cls.plain) if "plain" in vars(cls) else super().__hash__()


def found(plain: type, operation: str) -> classmethod:
    """A class method that finds an object of mpi4py's by its number."""
    return classmethod(lambda cls, number: cls(getattr(plain, operation)(number)))


class WatchedRequests:
    """What is under way on this rank, and the classes of it. `names`: what they replace in mpi4py.

    arrived(members, status): what the status of a message says, see `course.watch.recorder.Said`. looks: called before
    an operation is recorded to be complete.
    """

    def __init__(self, recorder: Recorder, arrived: Callable) -> None:
        from mpi4py import MPI

        self.recorder, self.mpi, self.arrived = recorder, MPI, arrived
        self.pending: dict[int, Any] = {}
        self.looks: list[Callable[[], None]] = []
        self.request, self.prequest = self.watched(MPI.Request), self.watched(MPI.Prequest)
        self.prequest.Start = self.start()
        self.prequest.Startall = classmethod(self.start_all())
        self.messages = self.message_class()
        self.names = {"Request": self.request, "Prequest": self.prequest, "Message": self.messages}

    def watched(self, plain: type) -> type:
        """A subclass of a class of requests that records waits."""
        methods = {"plain": plain, "number": -1, "said": SILENT, "describe": None, "__module__": __name__}
        methods |= {name: self.one(plain, name) for name in ONE}
        methods |= {name: classmethod(self.first(plain, name)) for name in ANY}
        methods |= {name: classmethod(self.several(plain, name)) for name in SEVERAL}
        methods |= {name: self.forget(plain, name) for name in ("Free", "free")}
        methods |= {name: found(plain, name) for name in ("fromhandle", "fromint", "f2py")}
        return Either(plain.__name__, (plain,), methods)

    def under_way(self, plain: Any, number: int, what: Said) -> Any:
        """A watched request for an operation that has begun."""
        request = self.request(plain)
        self.follow(request, number, what)
        return request

    def later(self, result: Any, number: int, what: Said) -> Any:
        """See `Recorder.wrap`."""
        return self.under_way(result, number, what) if isinstance(result, self.mpi.Request) else None

    def prepared(self, plain: Any, operation: str, describe: Callable[[], Said]) -> Any:
        """A watched persistent request. describe: says what a start of it communicates."""
        request = self.prequest(plain)
        request.describe = operation, describe
        return request

    def follow(self, request: Any, number: int, what: Said) -> None:
        """Note the end of call `number` when `request` is complete."""
        request.number, request.said = number, what
        if number >= 0:
            self.pending[number] = request

    def complete(self, request: Any, status: Any) -> None:
        """Log that an operation is complete. status: of its message."""
        number = getattr(request, "number", -1)
        if number >= 0:
            request.number = -1
            self.pending.pop(number, None)
            for look in self.looks:
                look()
            self.recorder.end(number, told(request.said, status) if status is not None else None)

    def settle(self) -> None:
        """Log the end of what has completed by other ways than a watched request's."""
        for request in [*self.pending.values()]:
            if request == self.mpi.REQUEST_NULL:
                self.complete(request, None)

    def waits(self, requests: Sequence[Any]) -> None:
        """Log that this rank waits for requests."""
        for request in requests:
            self.recorder.waits(getattr(request, "number", -1))

    def one(self, plain: type, operation: str) -> Callable:
        """A method that waits for a request, or asks whether it is complete."""
        function, sure = getattr(plain, operation), operation.lower() == "wait"

        def wait(request: Any, status: Any = None) -> Any:
            if request.number < 0:
                return function(request, status)
            status = self.mpi.Status() if status is None else status
            if sure:
                self.recorder.waits(request.number)
            result = function(request, status)
            if sure or (result[0] if operation == "test" else result):
                self.complete(request, status)
            return result

        return named(wait, f"comm.Request.{operation}")

    def first(self, plain: type, operation: str) -> Callable:
        """A class method that waits for one of several requests, or asks for one."""
        function, sure = getattr(plain, operation), operation.lower() == "waitany"

        def wait(cls: type, requests: Sequence[Any], status: Any = None) -> Any:
            status = self.mpi.Status() if status is None else status
            if sure:
                self.waits(requests)
            result = function(requests, status)
            index = result[0] if isinstance(result, tuple) else result
            if (sure or result[1]) and index >= 0:
                self.complete(requests[index], status)
            return result

        return named(wait, f"comm.Request.{operation}")

    def several(self, plain: type, operation: str) -> Callable:
        """A class method that waits for all or some of several requests, or asks for them."""
        function, sure = getattr(plain, operation), operation.lower().startswith("wait")
        objects, some = operation[0].islower(), operation.endswith("some")

        def wait(cls: type, requests: Sequence[Any], statuses: Any = None) -> Any:
            statuses = [] if statuses is None else statuses
            if sure:
                self.waits(requests)
            result = function(requests, statuses)
            found = result[0] if objects and (some or not sure) else result
            everything = range(len(requests)) if not some and (sure or found) else []
            done = found or [] if some else everything
            for index, status in zip(done, statuses, strict=False):
                self.complete(requests[index], status)
            return result

        return named(wait, f"comm.Request.{operation}")

    def forget(self, plain: type, operation: str) -> Callable:
        """A method that gives a request up: nobody waits for what it began. MPI brings a send to its end then."""
        function = getattr(plain, operation)

        def free(request: Any) -> None:
            self.pending.pop(request.number, None)
            if request.describe is None and request.said[2] is None:
                self.recorder.end(request.number)
            request.number = -1
            function(request)

        return free

    def begin(self, requests: Sequence[Any], function: Callable) -> None:
        """Log that persistent requests begin, and call `function`, which starts them."""
        begun = []
        for request in requests:
            operation, describe = getattr(request, "describe", None) or ("", None)
            if describe is not None:
                what = known_of(lambda *_, describe=describe: describe(), (), {})
                begun.append((request, self.recorder.start("mpi4py", operation, what), what))
        try:
            function()
        except BaseException:
            for _, number, _ in begun:
                self.recorder.end(number, {"failed": True})
            raise
        for request, number, what in begun:
            self.recorder.returned(number)
            self.follow(request, number, what)

    def start(self) -> Callable:
        """`Prequest.Start`."""

        def start(request: Any) -> None:
            self.begin([request], lambda: self.prequest.plain.Start(request))

        return named(start, "comm.Prequest.Start")

    def start_all(self) -> Callable:
        """`Prequest.Startall`."""

        def start(cls: type, requests: Sequence[Any]) -> None:
            self.begin(requests, lambda: self.prequest.plain.Startall(requests))

        return named(start, "comm.Prequest.Startall")

    def message(self, plain: Any, communicator: Any, ranks: Any) -> Any:
        """A watched message for one that a matching probe has found. ranks: a `communicators.Ranks`."""
        if type(plain) is not self.messages.plain:
            return plain
        message = self.messages(plain)
        message.place = ranks.members(communicator)
        return message

    def message_class(self) -> type:
        """A subclass of mpi4py's Message whose receives are recorded."""
        plain = self.mpi.Message
        methods = {"plain": plain, "place": (None, []), "__module__": __name__}
        for operation in ("Recv", "recv", "Irecv", "irecv"):
            methods[operation] = self.receive(plain, operation)
        return Either("Message", (plain,), methods)

    def receive(self, plain: type, operation: str) -> Callable:
        """A method that receives a message which a probe has found."""
        place = {"Recv": 2, "recv": 1}.get(operation)

        def about(args: tuple, kwargs: dict) -> Said:
            group, members = args[0].place
            status = args[place] if place and len(args) > place else kwargs.get("status")
            if place and status is None and len(args) <= place:
                status = kwargs["status"] = self.mpi.Status()
            return said(group=group, payload=EMPTY, finished=lambda late: self.arrived(members, status or late))

        return self.recorder.wrap("mpi4py", operation, getattr(plain, operation), about, self.later)
