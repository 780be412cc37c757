"""What ``%px`` lacks: it knows nothing of ranks that die and are replaced, and loses what some of them print."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, Protocol


class Processes(Protocol):
    """What is asked of `course.ranks.RankProcesses`."""

    running: bool
    perhaps_busy: bool

    def ready(self) -> None:
        """Return when all ranks are up."""


def before_cell(processes: weakref.ref[Processes]) -> Callable[[Any], None]:
    """What a notebook calls before each cell: ``%px`` does not know of ranks that are being replaced, so we wait."""

    def wait(info: Any) -> None:
        living = processes()
        if living is not None and living.running and "%px" in info.raw_cell:
            living.ready()
            living.perhaps_busy = True

    return wait


def tell_outputs_apart() -> None:
    """Mend ipyparallel 9.2, for which what several ranks printed before it looked is one output: the last replaces all.

    It tells outputs apart by the message they answer, and forgets to name that for those that were there already.
    """
    from ipyparallel.client.asyncresult import AsyncResult

    show = AsyncResult._iopub_streaming_output_callback
    if hasattr(show, "__wrapped__"):  # mended already
        return

    @functools.wraps(show)
    def show_named(self: AsyncResult, engine: int, message_future: Any, message: dict) -> None:
        show(self, engine, message_future, {"parent_header": {"msg_id": message_future.msg_id}, **message})

    AsyncResult._iopub_streaming_output_callback = show_named
