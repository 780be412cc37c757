"""Ports of this machine that nobody else gets until a program of our own listens on them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def reserved_ports(number: int) -> Iterator[list[int]]:
    """Ports that are free, and that the system chooses for nobody else meanwhile.

    A program that is told one of them can listen on it if it sets SO_REUSEADDR, as ZeroMQ does: Linux lets it share a
    port with a socket that has this option and does not listen. Set before, others would be given the same port.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("", 0))
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield [one.getsockname()[1] for one in sockets]
