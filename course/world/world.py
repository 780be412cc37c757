"""The set of MPI ranks behind a notebook.

    world = World(4)                              # started by mpiexec, or by srun in a Slurm job
    world.run(fn, *args, size=3, deadline=20)     # fn on the first 3 ranks; their results in rank order
    %%px                                          # plain ipyparallel works on the same ranks

Every run has a deadline. A run that hangs, dies or raises is reported rank by rank, the ranks are replaced if
necessary, and the next run finds a healthy world. When the owner of the world dies, its reaper ends all its processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import cloudpickle

from course.calls.sent_call import packed
from course.processes.horovod_setup import wait_for_horovod
from course.processes.launchers.local import Local
from course.processes.launchers.mpi import WorldError
from course.processes.rank_processes import RankProcesses
from course.watch.differences import in_words
from course.watch.events import Event
from course.world import subworld
from course.world.deadline import Deadline, Loss
from course.world.hosts import host
from course.world.interrupts import StopButton
from course.world.rank_report import RankReport
from course.world.report import Outcome, judge_state
from course.world.stuck import StallDetector
from course.world.subworld import Plan

__all__ = ["Interrupted", "NotEnoughRanks", "RanksFailed", "World", "WorldError"]

GRACE = 1.0  # seconds that the other ranks get once one has raised, before those that wait for it count as stuck
POLL = 0.01  # seconds between two looks at the results
OPENING = 60.0  # seconds that torch, Horovod or a communicator may take to start
CLOSING = 10.0  # seconds that they may take to end
RANKS = "LOCKSTEP_RANKS"  # overrides the size of every world: a batch job's number of tasks


class RanksFailed(RuntimeError):
    """Not every rank returned from a run. `outcome` tells what each rank did."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__(f"{outcome.detail}\n\n{outcome.explained}")

    def _render_traceback_(self) -> list[str]:
        """In a notebook: the report and the ranks' own tracebacks, without the frames of this module."""
        lines = [f"{type(self).__name__}: {self}"]
        tracebacks = {rank.error["traceback"]: rank.rank for rank in reversed(self.outcome.ranks) if rank.error}
        for text, rank in tracebacks.items():
            lines += ["", f"Traceback of rank {rank}:", text]
        return lines


class NotEnoughRanks(ValueError):
    """A run asked for more ranks than the world has, or for one that it does not have."""


class Interrupted(KeyboardInterrupt):
    """The user stopped a run. The message says where each rank stood."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class World:
    """`size` MPI ranks. The constructor starts them, and returns when they are ready.

    size: number of ranks; a batch job's number of tasks overrides it. launcher: "mpiexec" starts them on this machine;
    "slurm" by srun, in the Slurm job that this process is part of, else in a new job, which is cancelled at the end;
    None: "slurm" in a job that has not ended, else "mpiexec". nodes: of a new job. stall: a run counts as deadlocked
    after so many seconds without progress while all unfinished ranks wait in communication calls. progress: whether to
    show a progress bar. warm: whether to fork the ranks from this very process, so that they are ready at once; it must
    have imported their libraries, and have been started with room for their mark (see `course.processes.reaper`).
    Raises WorldError or course.processes.launchers.mpi.MissingMPI, which say what is missing, if the ranks cannot be
    started.
    """

    def __init__(
        self,
        size: int = 4,
        *,
        launcher: str | None = None,
        nodes: int | None = None,
        stall: float = 3.0,
        progress: bool = True,
        warm: bool = False,
    ) -> None:
        size = size if warm else int(os.environ.get(RANKS) or size)
        if size < 1:
            raise ValueError(f"A world has at least one rank, not {size}.")
        self.size = size
        self.stall = stall
        self.outcome: Outcome | None = None
        self._runs = 0
        self._processes = RankProcesses(size, progress, host(size, launcher, nodes, warm, progress))

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"World of {self.size} ranks: {self._processes.host.description}"

    @property
    def events(self) -> list[list[Event]]:
        """Each rank's communication calls in the last run."""
        return self.outcome.events if self.outcome else []

    @property
    def pids(self) -> list[int]:
        """Process ids of the ranks on this machine."""
        return self._processes.pids()

    def run(self, function: Callable, *args: Any, **options: Any) -> list[Any]:
        """Like `attempt`, but returns the results in rank order. Raises RanksFailed, with the report, if a rank fails.

        Prints what the ranks printed, with their numbers, and what differs between them, though it should not.
        """
        outcome = self.attempt(function, *args, **options)
        for rank in outcome.ranks:
            for line in rank.stdout.splitlines():
                print(f"[rank {rank.rank}] {line}")
        if not outcome.ok:
            raise RanksFailed(outcome)
        if words := in_words(outcome.differences):
            print(words)
        return outcome.results

    def attempt(
        self,
        function: Callable,
        *args: Any,
        ranks: Sequence[int] | None = None,
        size: int | None = None,
        deadline: float = 20.0,
        init: str | None = None,
        watch: bool = True,
    ) -> Outcome:
        """Run ``function(*args)`` on some ranks, and return how it ended, well or badly.

        Among `args`, COMM, RANK and SIZE stand for the communicator of these ranks, and the rank and size in it.
        ranks: which ones, in the order of the sub-world; or size: the first `size`; else all. deadline: in seconds, not
        counting the start of libraries, nor time in which other programs had the cores. init: "torch" or "horovod", to
        be initialised on just these ranks. watch: whether to record what they communicate.
        Raises ValueError for ranks that do not exist, TypeError for a function or argument that cannot be sent,
        WorldError if the ranks cannot be started, Interrupted if the user interrupts, and HorovodMissing if Horovod was
        to be compiled beside JupyterLab, and was not.
        """
        members = self._members(ranks, size)
        if init not in (None, "torch", "horovod"):
            raise ValueError(f'init is None, "torch" or "horovod", not {init!r}')
        try:
            payload = packed(function, args)
        except Exception as error:
            raise TypeError(f"Cannot send {getattr(function, '__name__', function)!r} to the ranks: {error}") from error
        if init == "horovod":
            wait_for_horovod(self._processes.progress)
        self._processes.ready()
        self._runs += 1
        log = f"{self._processes.folder}/run-{self._runs}-{{rank}}.jsonl"
        plan = Plan(self._runs, tuple(members), init, log if watch else None)
        with StopButton() as stop:
            self._all(members, stop, OPENING, subworld.open_subworld, plan)
            self.outcome, still_open = self._watch_over(members, stop, payload, deadline, log)
            if all(rank.state in ("returned", "raised") for rank in self.outcome.ranks):
                with suppress(WorldError):  # what a run has left under way may end its ranks; its outcome is known
                    self._all(still_open, stop, CLOSING, subworld.close_subworld)
            else:
                self._processes.replace()
            for member in members:
                Path(log.format(rank=member)).unlink(missing_ok=True)
            if stop.pressed:
                raise Interrupted(f"stopped by you\n\n{self.outcome.explained}")
        return self.outcome

    def stop(self) -> None:
        """End the ranks and everything that belongs to them. A stopped world starts again on its next use."""
        self._processes.stop()

    def _members(self, ranks: Sequence[int] | None, size: int | None) -> list[int]:
        if ranks is not None and size is not None:
            raise ValueError("Give ranks or size, not both.")
        members = list(range(self.size if size is None else size)) if ranks is None else list(ranks)
        if len(members) > self.size:
            raise NotEnoughRanks(
                f"This takes {len(members)} ranks, and there are {self.size}"
                + (f": sbatch --ntasks={len(members)} run.sh has enough." if RANKS in os.environ else ".")
            )
        if members and max(members) >= self.size:
            raise NotEnoughRanks(f"This takes rank {max(members)}, and there are ranks 0 to {self.size - 1}.")
        if not members or len(set(members)) != len(members) or not set(members) <= set(range(self.size)):
            raise ValueError(f"No such ranks in a world of {self.size}: {members}")
        return members

    def _all(self, members: list[int], stop: StopButton, seconds: float, function: Callable, *args: Any) -> None:
        """Run one of our own functions on the ranks. If it fails or takes too long, replace the ranks and raise
        WorldError; if the user stops it, Interrupted."""
        pending = [self._processes.send(member, function, *args) for member in members]
        end = time.monotonic() + seconds
        try:
            for result in pending:
                while not result.ready() and not self._processes.dead(members) and time.monotonic() < end:
                    if stop.pressed:
                        self._processes.replace()
                        raise Interrupted("stopped by you, between two runs")
                    result.wait(POLL)
                result.get(0)
        except Exception as error:
            self._processes.replace()
            raise WorldError(f"The ranks could not do {function.__name__}: {error}") from error

    def _watch_over(
        self, members: list[int], stop: StopButton, payload: bytes, deadline: float, log: str
    ) -> tuple[Outcome, list[int]]:
        """Send the call, wait for the results, and find out where the ranks stand that do not return in time. Returns
        also the members that are to be closed."""
        began = time.monotonic()
        zero = time.time()
        send = self._processes.send
        pending = {rank: send(member, subworld.call, payload, zero) for rank, member in enumerate(members)}
        reports = {rank: RankReport(rank, member, "running") for rank, member in enumerate(members)}
        stall = StallDetector([log.format(rank=member) for member in members], self.stall)
        stalled, still_open = False, []
        own = self._processes.pids if isinstance(self._processes.host, Local) else tuple  # a job has its cores
        limit = Deadline(deadline, Loss(own).seconds)
        while pending and not limit.passed() and not stop.pressed:
            for rank in [rank for rank, result in pending.items() if result.ready()]:
                if self._take(reports[rank], pending.pop(rank)):
                    still_open.append(members[rank])
                if reports[rank].state == "raised":
                    limit.bring_forward(GRACE)
            if self._processes.dead([members[rank] for rank in pending]):
                break
            if stalled := stall.stalled(pending, [rank for rank in reports if reports[rank].state == "returned"]):
                break
            if pending:
                next(iter(pending.values())).wait(POLL)
        stopped = bool(pending) and stop.pressed
        self._locate([reports[rank] for rank in pending], pending)
        self._explain([*reports.values()])
        for report in reports.values():
            report.read(log.format(rank=report.world_rank))
        ranks = list(reports.values())
        state = "interrupted" if stopped else judge_state(ranks, stalled)
        return Outcome(state, ranks, time.monotonic() - began), still_open

    def _take(self, report: RankReport, result: Any) -> bool:
        """Fill in the report of a rank that has returned or raised. Returns whether it is to be closed."""
        try:
            answer = result.get(0)
        except Exception as error:  # the engine itself died
            self._die(report)
            report.stdout = str(error) if report.code is None else ""
            return False
        result.wait_for_output(1.0)  # output comes over another channel, perhaps later
        report.stdout, report.seconds = result.stdout or "", answer["seconds"]
        if answer["error"]:
            report.fail(answer["error"])
        else:
            report.state = "returned"
            try:
                report.result = cloudpickle.loads(answer["result"])
            except Exception as error:
                report.refuse(f"What rank {report.rank} returned cannot be read: {type(error).__name__}: {error}")
        return answer["open"]

    def _locate(self, reports: list[RankReport], results: dict[int, Any]) -> None:
        """Fill in the reports of ranks that have not returned: dead, or where they stand."""
        stacks = self._processes.stacks([report.world_rank for report in reports])
        loss = self._processes.loss() if len(stacks) < len(reports) else None
        for report in reports:
            metadata = results[report.rank].metadata
            report.stdout = metadata.get("stdout", "") if isinstance(metadata, dict) else ""
            stack = stacks.get(report.world_rank)
            if stack is None:
                self._die(report)
                report.loss = loss if report.code is None else report.loss
            else:
                report.stand_at(stack)

    def _die(self, report: RankReport) -> None:
        """Fill in the report of a rank whose process has ended."""
        report.die(self._processes.exit_code(report.world_rank), self._processes.ran_out(report.world_rank))

    def _explain(self, reports: list[RankReport]) -> None:
        """Where ranks were killed as their host ended, tell that of all whom it took along, or is about to."""
        if any(report.killed for report in reports) and (end := self._processes.end_of_host()):
            for report in reports:
                report.end_with_host(end)
