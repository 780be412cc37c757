"""A network between ranks, with a latency and a bandwidth: messages are really sent, and then slept for.

A message of n bytes takes alpha + beta n seconds, times a factor on a slow link. Each rank has one line out and one
line in, and each line carries one message at a time:

- A message goes out when its send begins, or when the one that this rank sent before is out. A send returns, or its
  request has been waited for, when the message is out, and MPI is done with it.
- It comes in as it goes out, or after the one that its destination received before: a rank takes its messages in in
  the order in which it receives them. One that has come in before anybody asks for it is there at once.

So seven sends of one rank take seven times as long as one, seven messages to one rank as well, and a Sendrecv in a ring
as long as one. A message from a rank to itself takes no time. A rank's lines are the same in all communicators that
were made of a simulated one.

Simulated: Send, Ssend, Isend, Issend, Recv, Irecv, Sendrecv, Sendrecv_replace, Wait and Waitall. Of what asks for some
of several requests, Waitany and its like, each takes the first ones, and Test waits. As in MPI, large messages may not
move while their rank computes. Collectives, probes, and methods in small letters, which pickle, work and cost nothing.
Other sends and receives of buffers are refused.

Who sleeps: both ends, each until the message is due on its side. A stamp, which says when the message began to go out
and how long it takes, follows it on a communicator of its own. It is a time of the sender's clock, which the ranks of
one machine share. On another machine, a message counts as on its way from the moment when it is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from course.simulated.layers import Layer, layered
from course.watch.payload import describe_buffer
from course.watch.recorder import unwatched

REFUSED = (
    "Bsend Rsend Ibsend Irsend Isendrecv Isendrecv_replace Mprobe Improbe Idup Idup_with_info "
    "Send_init Ssend_init Bsend_init Rsend_init Recv_init Psend_init Precv_init"
)
# Seconds by which a rank may wake too late, and go on later, as if it had woken in time: lateness is no matter of the
# network's, and would add up over the rounds.
FORGIVEN = 1e-3
SHORTEST, LONGEST = 5e-5, 2e-3  # seconds between two looks whether a message is there


class Line:
    """One direction of a rank's connection. It carries one message at a time."""

    def __init__(self) -> None:
        self.free = 0.0

    def carry(self, begins: float, seconds: float) -> float:
        """When a message is through that begins then, or when the line is free, by time.monotonic()."""
        self.free = max(begins, self.free) + seconds
        return self.free


class Place(NamedTuple):
    """Where a rank is. number: in the communicator of which the network was made; host: its machine's name."""

    number: int
    host: str


class Ends(NamedTuple):
    """What a rank knows of a communicator. stamps: carries the stamps; own: where this rank is; places: where those
    are to whom it sends, by rank."""

    stamps: Any
    own: Place
    places: list[Place]


class Network(Layer):
    """The layer of one simulated network; see `simulated_network`."""

    def __init__(self, alpha: float, beta: float, slow: Mapping[tuple[int, int], float]) -> None:
        from mpi4py import MPI

        self.mpi, self.alpha, self.beta, self.slow = MPI, alpha, beta, dict(slow)
        self.out, self.into = Line(), Line()
        self.woke = self.late = 0.0
        # What is noticed late is on time: a message is there as soon as it is sent, and due only later.
        self.longest = min(max(alpha / 2, SHORTEST), LONGEST)
        self.ends: dict[int, Ends] = {}  # by handle, under which MPI may make another communicator after a Free

    def meet(self, communicator: Any, parent: Any = None) -> None:
        """See `Layer`."""
        plain = unwatched(self.mpi.Intercomm if communicator.Is_inter() else self.mpi.Intracomm)
        stamps = plain(communicator).Dup()  # never freed: no other communicator is to receive a stamp that is left over
        number = communicator.rank if parent is None else self.ends[parent.handle].own.number
        own = Place(number, self.mpi.Get_processor_name())
        self.ends[communicator.handle] = Ends(stamps, own, [Place(*place) for place in stamps.allgather(own)])

    def cost(self, source: int, destination: int, size: int) -> float:
        """Seconds that a message of `size` bytes takes. source, destination: numbers of places."""
        if source == destination:
            return 0.0
        return (self.alpha + self.beta * size) * self.slow.get((source, destination), 1.0)

    def now(self) -> float:
        """The time for this rank, by time.monotonic(); when it has just woken, that at which it should have."""
        now = time.monotonic()
        return now - self.late if now - self.woke < FORGIVEN else now

    def sleep_until(self, moment: float) -> None:
        """Sleep until then. What this rank has begun to send goes on meanwhile."""
        late = time.monotonic() - self.now()
        asleep = time.monotonic() < moment
        while (left := moment - time.monotonic()) > 0:
            time.sleep(min(left, LONGEST))
            unwatched(type(self.mpi.COMM_SELF).Iprobe)(self.mpi.COMM_SELF)
        self.woke = time.monotonic()
        self.late = min(self.woke - moment, FORGIVEN if asleep else late)

    def goes_out(self, own: Any, buffer: Any, destination: int, tag: int) -> float:
        """Send the stamp of a message that MPI has taken. Returns when it is out."""
        if destination == self.mpi.PROC_NULL:
            return 0.0
        ends = self.ends[own.handle]
        seconds = self.cost(ends.own.number, ends.places[destination].number, describe_buffer(buffer).bytes or 0)
        out = self.out.carry(self.now(), seconds)
        ends.stamps.send((out - seconds, seconds), destination, tag)
        return out

    def comes_in(self, own: Any, status: Any) -> float:
        """Receive the stamp of a message that is there, by its status. Returns when it is in."""
        source = status.Get_source()
        if source == self.mpi.PROC_NULL or status.Is_cancelled():
            return 0.0
        ends = self.ends[own.handle]
        began, seconds = ends.stamps.recv(source=source, tag=status.Get_tag())
        if ends.places[source].host != ends.own.host:
            began = time.monotonic()
        return self.into.carry(began, seconds)

    def methods(self, base: type) -> dict[str, Callable]:
        """See `Layer`."""
        anyone, any_tag = self.mpi.ANY_SOURCE, self.mpi.ANY_TAG

        def begin_receive(own: Any, buf: Any, source: int = anyone, tag: int = any_tag) -> Any:
            return self.request(base.Irecv(own, buf, source, tag), lambda status: self.comes_in(own, status))

        def receive(own: Any, buf: Any, source: int = anyone, tag: int = any_tag, status: Any = None) -> None:
            status = self.wait(base.Irecv(own, buf, source, tag), status)
            self.sleep_until(self.comes_in(own, status))

        def exchange(
            own: Any,
            sendbuf: Any,
            dest: int,
            sendtag: int = 0,
            recvbuf: Any = None,
            source: int = anyone,
            recvtag: int = any_tag,
            status: Any = None,
        ) -> None:
            received = base.Irecv(own, recvbuf, source, recvtag)
            sent = base.Isend(own, sendbuf, dest, sendtag)
            out = self.goes_out(own, sendbuf, dest, sendtag)
            into = self.comes_in(own, self.wait(received, status))
            self.wait(sent)
            self.sleep_until(max(out, into))

        def replace(
            own: Any,
            buf: Any,
            dest: int,
            sendtag: int = 0,
            source: int = anyone,
            recvtag: int = any_tag,
            status: Any = None,
        ) -> None:
            both = base.Isendrecv_replace(own, buf, dest, sendtag, source, recvtag)
            out = self.goes_out(own, buf, dest, sendtag)
            self.sleep_until(max(out, self.comes_in(own, self.wait(both, status))))

        methods = {"Recv": receive, "Irecv": begin_receive, "Sendrecv": exchange, "Sendrecv_replace": replace}
        for operation in ("send", "ssend"):
            begin = getattr(base, f"I{operation}")
            methods |= {operation.capitalize(): self.send(begin), f"I{operation}": self.begin_send(begin)}
        return methods | {operation: refusal(operation) for operation in REFUSED.split()}

    def send(self, begin: Callable) -> Callable:
        """A method that sends, and returns when the message is out. begin: the method that begins to send."""

        def send(own: Any, buf: Any, dest: int, tag: int = 0) -> None:
            sent = begin(own, buf, dest, tag)
            out = self.goes_out(own, buf, dest, tag)
            self.wait(sent)
            self.sleep_until(out)

        return send

    def begin_send(self, begin: Callable) -> Callable:
        """A method that begins to send. begin: likewise, below this layer."""

        def send(own: Any, buf: Any, dest: int, tag: int = 0) -> Any:
            sent = begin(own, buf, dest, tag)
            out = self.goes_out(own, buf, dest, tag)
            return self.request(sent, lambda status: out)

        return send

    def wait(self, request: Any, status: Any = None) -> Any:
        """Wait for a request of MPI's, asleep: its own Wait would keep a core busy. Returns the status."""
        status = self.mpi.Status() if status is None else status
        pause = SHORTEST
        while not request.Test(status):
            time.sleep(pause)
            pause = min(2 * pause, self.longest)
        return status

    def request(self, plain: Any, due: Callable[[Any], float]) -> Any:
        """A request that says it is complete; who waits for it then waits for `plain`, and until it is due.

        due(status): by time.monotonic().
        """
        came: list[tuple[Any, float]] = []

        def tell(asked: Any) -> None:  # called by MPI when somebody waits
            if not came:
                status = self.wait(plain)
                came.append((status, due(status)))
            status, moment = came[0]
            self.sleep_until(moment)
            asked.Set_source(status.Get_source())
            asked.Set_tag(status.Get_tag())
            asked.Set_elements(self.mpi.BYTE, status.Get_count(self.mpi.BYTE))
            asked.Set_cancelled(status.Is_cancelled())

        # A subclass's Wait would be called neither by Waitall nor by the watch. A request that is complete only when it
        # is due would take a thread to complete it, and a core, as MPI waits awake.
        own = self.mpi.Grequest.Start(tell, None, None)
        own.Complete()
        return own


def refusal(operation: str) -> Callable:
    """A method that raises NotImplementedError: its message would have no stamp, or its stamp no message."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"{operation} is not simulated: use Send, Ssend, Isend, Issend, Recv, Irecv, Sendrecv or Sendrecv_replace"
        )

    return refuse


def simulated_network(comm: Any, alpha: float, beta: float, slow: Mapping[tuple[int, int], float] | None = None) -> Any:
    """The same mpi4py communicator on a network whose messages take alpha seconds and beta seconds per byte.

    All ranks of `comm` call this. slow: {(a, b): factor}, how many times longer a message takes from rank a to rank b
    of `comm`, also in what is made of it. Messages of both ends go through the communicator that this returns. A world
    takes ranks for deadlocked that all wait longer than its `stall` (3 s): a message had better take less.
    Raises ValueError for negative times, for factors that are not positive, and for links between no ranks of `comm`.
    """
    slow = slow or {}
    if alpha < 0 or beta < 0 or any(factor <= 0 for factor in slow.values()):
        raise ValueError(f"No message takes alpha = {alpha} s, beta = {beta} s per byte, times {slow}.")
    if unknown := [link for link in slow if not all(0 <= rank < comm.size for rank in link)]:
        raise ValueError(f"There is no link {unknown[0]} among {comm.size} ranks.")
    return layered(comm, Network(alpha, beta, slow))
