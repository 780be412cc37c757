"""Tools for probes that call a student's function on ranks: meetings, results as plain data, libraries kept alive.

A lab's checks use them in the functions that they send to the ranks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from autograde.cells.subject import note
from course.watch.recorder import unwatched
from course.world.meeting import is_meeting
from course.world.meeting import meet as meet

# What starts and ends the libraries of a course run; the world does that before and after it.
LIFECYCLE = {
    "mpi4py.MPI": ("Init", "Init_thread", "Finalize"),
    "torch.distributed": ("init_process_group", "destroy_process_group"),
    "horovod.torch": ("init", "shutdown"),
}
LEFT = (
    "After your code, torch {}, and so it would be for all code that comes later. It is put back here: what you "
    "switch, switch back, or use a `with` block, which does so by itself."
)
AS = {"mpi4py.MPI": "MPI", "torch.distributed": "dist", "horovod.torch": "hvd"}  # as the labs import them


def type_in_words(value: Any) -> str:
    """The type of a value, as a sentence names it: "None", "a list", "an int"."""
    return "None" if value is None else with_article(type(value).__name__)


def floats_in_words(value: Any, most: int) -> list[float | str] | str:
    """Up to so many entries of a list or tuple, of those that are no floats their types; of anything else, its type."""
    if not isinstance(value, (list, tuple)):
        return type_in_words(value)
    return [float(each) if isinstance(each, float) else type_in_words(each) for each in value[:most]]


def with_article(noun: str) -> str:
    """The noun after "a" or "an", by its first letter."""
    return f"{'an' if noun[:1].lower() in set('aeio') else 'a'} {noun}"


def calls_apart(events: list[dict]) -> list[list[dict]]:
    """The events of one rank, see `course.watch.events`, cut where it came to `meet`: what each call of the student's
    made."""
    calls: list[list[dict]] = [[]]
    for event in events:
        if is_meeting(event):
            calls.append([])
        else:
            calls[-1].append(event)
    return calls


def progress_until(comm: Any, moment: float) -> None:
    """Keep MPI going until `moment` (of time.monotonic).

    A reduction that nobody waits for must land while its buffer still exists, or the rank's memory is damaged.
    """
    while time.monotonic() < moment:
        unwatched(type(comm).Iprobe)(comm)
        time.sleep(0.005)


@contextmanager
def torch_as_it_was() -> Iterator[None]:
    """After this block torch records gradients, and has a default dtype, as before it: what code in it has switched
    must not change what another TODO's code does on the same rank. The student is told, by a remark."""
    torch = sys.modules.get("torch")
    before = (torch.is_grad_enabled(), torch.get_default_dtype()) if torch else None
    try:
        yield
    finally:
        if torch := sys.modules.get("torch"):
            records, dtype = before or (True, torch.float32)
            if torch.is_grad_enabled() is not records:
                note(LEFT.format("records no gradients any more" if records else "records gradients again"))
            if torch.get_default_dtype() != dtype:
                note(LEFT.format(f"makes tensors of {torch.get_default_dtype()}"))
            torch.set_grad_enabled(records)
            torch.set_default_dtype(dtype)


@contextmanager
def nothing_starts_or_ends(tried: list[str]) -> Iterator[None]:
    """In this block, calls that start or end MPI, the process group or Horovod are noted in `tried`, and do nothing."""

    def noting(call: str) -> Callable[..., None]:
        return lambda *args, **kwargs: tried.append(call)

    with ExitStack() as stack:
        for module, names in LIFECYCLE.items():
            for name in names if module in sys.modules else ():
                replaced = noting(f"{AS[module]}.{name}")
                stack.enter_context(mock.patch.object(sys.modules[module], name, replaced))
        yield
