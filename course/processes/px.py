"""Mends ipyparallel's ``%px``, which does not wait for ranks that are being replaced, and loses some output.

Cells with Horovod in them wait for it, too, where it is still being compiled.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from course.processes.horovod_setup import HorovodMissing, wait_for_horovod


class Processes(Protocol):
    """What `before_cell` needs of `course.processes.rank_processes.RankProcesses`."""

    running: bool
    perhaps_busy: bool

    def ready(self) -> None:
        """Return when all ranks are up."""


def before_cell(processes: weakref.ref[Processes]) -> Callable[[Any], None]:
    """A hook for a notebook to call before each cell: before ``%px``, it waits until all ranks are up.

    Before a cell that names Horovod, it waits until that is compiled.
    """

    def wait(info: Any) -> None:
        if "horovod" in info.raw_cell:
            try:
                wait_for_horovod()
            except HorovodMissing as missing:
                print(missing)  # the cell will say by itself that the module is missing
        alive = processes()
        if alive is not None and alive.running and "%px" in info.raw_cell:
            alive.ready()
            alive.perhaps_busy = True

    return wait


def point_at(view: Any, processes: weakref.ref[Processes], known: bool) -> bool:
    """Point ``%px`` and ``%%px`` at the ranks of `view`, in its order, where there is a notebook. Returns whether there
    is one. known: it calls `before_cell` already."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        return False
    view.block = True
    view.activate()
    if not known:
        tell_outputs_apart()
        shell.events.register("pre_run_cell", before_cell(processes))
    return True


def tell_outputs_apart() -> None:
    """Patch ipyparallel 9.2 to show what each rank printed before it looked; it shows the last rank's output only.

    It tells outputs apart by the message they answer, and does not pass that on for outputs that have already arrived.
    """
    from ipyparallel.client.asyncresult import AsyncResult

    show = AsyncResult._iopub_streaming_output_callback
    if hasattr(show, "__wrapped__"):  # already patched
        return

    @functools.wraps(show)
    def show_named(self: AsyncResult, engine: int, message_future: Any, message: dict) -> None:
        show(self, engine, message_future, {"parent_header": {"msg_id": message_future.msg_id}, **message})

    AsyncResult._iopub_streaming_output_callback = show_named
