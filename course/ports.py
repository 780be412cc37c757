"""Free TCP ports of this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """Free ports that the system assigns to nobody else while the block runs.

    A program that sets SO_REUSEADDR, as ZeroMQ does, can listen on one of them: Linux lets it share the port with a
    socket that has this option and does not listen. Our sockets set it only after all are bound; set earlier, it would
    let the system assign one port twice.
    """
    with ExitStack() as stack:
        reserving = [stack.enter_context(socket.socket()) for _ in range(count)]
        for reserved in reserving:
            reserved.bind(("", 0))
        for reserved in reserving:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield [reserved.getsockname()[1] for reserved in reserving]


def free_port() -> int:
    """A TCP port that is free now, for a program that cannot share it with us. It is not reserved."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]
