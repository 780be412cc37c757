"""Probes that call a student's function on ranks: what a module of a lab's `probes/` sets as PROBE, or for several
TODOs as PROBES, by TODO.

A probe's module holds all of a lab's code that runs beside the student's: it is shown to the sandbox as it is, so there
is no case, no expected value and no criterion in it::

    class Seen(Evidence):
        result: Array

    def call(swap, rank, case):
        mine = rank.argument("array", drawn(case["seed"], rank.rank))
        return Seen(rank.returned(swap(rank.comm, mine), array=mine))

    PROBE = CallProbe(Seen, call)

A case is plain JSON. It says where it runs: on ``size`` ranks, the first ones, or on ``ranks``, in this order; else on
one. ``calls`` are the arguments of one call after another; between two of them the ranks meet. With ``late``, the rank
of this number begins its first call a little later than the others. In a call with ``sends_wait``, no message is kept:
each send waits for its receive.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from autograde.contract.call_rank import CallRank
from autograde.contract.calls import meet, nothing_starts_or_ends, progress_until, torch_as_it_was
from autograde.contract.evidence import Evidence, encoded
from autograde.contract.gpu import ON_GPU, on_gpu
from autograde.contract.lab_package import LabPackage, package_of
from course.simulated.safe import safe
from course.watch.recorder import unwatched
from course.world import COMM

SENDS_WAIT = "sends_wait"  # argument of a call
LATE = 0.05  # seconds that one rank comes late, so that a result nobody waited for is not there by luck
SETTLING = 0.03  # seconds from the beginning of a call until the next, where one comes late


class Rerun(Evidence):
    """The first epochs of a run on record, once more: see `Check.again`. losses: of the epochs; None where there is no
    history. data: a fingerprint of what was trained on."""

    losses: list[float | None] | None
    data: str


def no_names(rank: CallRank, case: dict) -> Mapping[str, Any]:
    """The student's cell finds no names but its own."""
    return {}


@dataclass(frozen=True)
class CallProbe:
    """Calls the student's function on each rank of a case, once for each of the case's `calls`.

    seen: what a call shows on a rank. call: runs on each rank, with the student's function, the `CallRank` and the
    arguments of the call; returns `seen`. names: runs on each rank, with the `CallRank` and the case; what the
    student's cell finds by name, such as answers to earlier TODOs. around: runs on each rank, with the `CallRank` and
    the arguments of a call; a context in which that call is made. The student's cell is then run in it, too, anew for
    each call, so that what it imports by name is what there is, such as on a simulated node. Without it, the cell is
    run once for all calls of a case. needs: "torch" or "horovod", to be ready on just these ranks. deadline: of a run,
    in seconds, where a case has none. starts: whether the student's code is to start or end libraries itself; else its
    calls that would do so are noted, and do nothing. again: repeats a run on record, in a case with ``again``, by all
    cells of the notebook that `rank.subject` has.
    """

    seen: type[Evidence]
    call: Callable[[Callable, CallRank, dict], Evidence]
    names: Callable[[CallRank, dict], Mapping[str, Any]] = no_names
    around: Callable[[CallRank, dict], AbstractContextManager] | None = None
    needs: str | None = None
    deadline: float = 15.0
    starts: bool = False
    again: Callable[[CallRank, dict], Rerun] | None = None

    def __call__(self, world: Any, subject: Any, case: dict) -> dict:
        """Run a case on ranks of `world`, with the student's cell; returns the outcome as plain data."""
        with tempfile.TemporaryDirectory() as folder:
            return self.in_folder(world, subject, case, folder)

    def in_folder(self, world: Any, subject: Any, case: dict, folder: str) -> dict:
        """The same, with a folder that all ranks see as `rank.folder`."""
        return self.on_ranks(world, subject, case, folder).plain()

    def on_ranks(self, world: Any, subject: Any, case: dict, folder: str, *around: Any) -> Any:
        """What becomes of the run. around: a function that calls `make_calls` on each rank, and its first arguments."""
        place = {"ranks": case["ranks"]} if "ranks" in case else {"size": case.get("size", 1)}
        package = package_of(self.call.__module__).beside_students()
        deadline = case.get("deadline", self.deadline)
        arguments = (*around, make_calls, package, subject, case, folder, COMM)
        return world.attempt(*arguments, init=self.needs, deadline=deadline, **place)


def make_calls(package: LabPackage, subject: Any, case: dict, folder: str, comm: Any) -> dict:
    """Runs on each rank: one call after another, or a run on record once more. Gives what each showed, which of its
    arguments it changed, what it tried to start or end, and which results were changed by later calls. folder: a new
    one, the same on all ranks."""
    probe, calls = package.probes()[subject.todo], case.get("calls", [])
    made, tried, late = [], [], case.get("late")
    # A communicator for each call: a collective that a rank leaves out must not meet the next call's.
    dup = unwatched(type(comm).Dup)
    rank = CallRank(comm, folder, on_gpu=case.get(ON_GPU, False), subject=subject)
    communicators = [dup(comm) for _ in calls]
    alone = nullcontext() if probe.starts else nothing_starts_or_ends(tried)
    with torch_as_it_was(), on_gpu(case, comm, subject.filename), alone:
        if "again" in case:
            return encoded(probe.again(rank, case))

        def loaded() -> Callable:
            return subject.salted(comm.rank).load(**probe.names(rank, case))

        function = None if probe.around else loaded()
        for number, (communicator, arguments) in enumerate(zip(communicators, calls, strict=True)):
            rank.comm, rank.number = safe(communicator) if arguments.get(SENDS_WAIT) else communicator, number
            if number:
                meet(comm)
            began = time.monotonic()
            if number == 0 and late is not None:
                began += LATE
                time.sleep(LATE if comm.rank == late else 0)
            with probe.around(rank, arguments) if probe.around else nullcontext() as rank.surroundings:
                seen = encoded(probe.call(loaded() if probe.around else function, rank, arguments))
            made.append({"seen": seen, "changed": rank.changed(), "tried": [*tried]})
            tried.clear()
            if late is not None:
                progress_until(comm, began + SETTLING)
    return {"calls": made, "overwritten": rank.overwritten()}
