"""MPI ranks without Lockstep, for `bench/grading.py`: a plain ipyparallel cluster in each notebook.

There is no fork server: each engine imports torch and Horovod itself. Nothing detects deadlocks: a run waits until all
ranks are back or its deadline passes; then the engines are killed, and new ones start when they are next needed.
Messages to the engines and the log of their communication are those of `course.world`, so checks get the same evidence.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import cloudpickle
import ipyparallel

from course.calls.sent_call import packed
from course.processes.rank import import_libraries, world_rank
from course.watch.events import PREFIX, Event, read_log
from course.world import COMM as COMM
from course.world import RanksFailed, subworld
from course.world.rank_report import RankReport
from course.world.report import Outcome, judge_state
from course.world.subworld import Plan

START_LIMIT = 120.0  # seconds for engines to come up and import
OPENING = 60.0  # seconds for torch or Horovod to start or end


class PlainWorld:
    """`size` MPI engines, with the part of `course.world.World`'s interface that checks and lab 03 use."""

    def __init__(self, size: int = 4) -> None:
        self.size = size
        self.outcome: Outcome | None = None
        self._runs = 0
        self._folder = tempfile.mkdtemp(prefix="plain-world-")
        self._cluster = ipyparallel.Cluster(engines="mpi", n=size)
        self._client = self._cluster.start_and_connect_sync(activate=True)
        self._take_engines(self._client.ids)

    @property
    def events(self) -> list[list[Event]]:
        """Each rank's communication calls in the last run."""
        return self.outcome.events if self.outcome else []

    def run(self, function: Callable, *args: Any, **options: Any) -> list[Any]:
        """Like `attempt`, but returns the results in rank order. Raises RanksFailed if a rank fails."""
        outcome = self.attempt(function, *args, **options)
        for rank in outcome.ranks:
            for line in rank.stdout.splitlines():
                print(f"[rank {rank.rank}] {line}")
        if not outcome.ok:
            raise RanksFailed(outcome)
        return outcome.results

    def attempt(
        self,
        function: Callable,
        *args: Any,
        ranks: Sequence[int] | None = None,
        size: int | None = None,
        deadline: float = 20.0,
        init: str | None = None,
    ) -> Outcome:
        """Run ``function(*args)`` on some ranks, and return how it ended; see `course.world.World.attempt`."""
        members = list(range(self.size if size is None else size)) if ranks is None else list(ranks)
        payload = packed(function, args)
        try:
            if not self._engines:
                self._restart()
            self._runs += 1
            log = f"{self._folder}/run-{self._runs}-{{rank}}.jsonl"
            plan = Plan(self._runs, tuple(members), init, log)
            for result in self._send(members, subworld.open_subworld, plan):
                result.get(OPENING)
            self.outcome = self._call(members, payload, deadline, log)
            if all(rank.state in ("returned", "raised") for rank in self.outcome.ranks):
                for result in self._send(members, subworld.close_subworld):
                    result.get(OPENING)
            else:
                self._kill()
        except BaseException:  # nbgrader's time limit for a cell interrupts, too
            self._kill()
            raise
        return self.outcome

    def _send(self, members: list[int], function: Callable, *args: Any) -> list[Any]:
        return [self._client[self._engines[member]].apply_async(function, *args) for member in members]

    def _call(self, members: list[int], payload: bytes, deadline: float, log: str) -> Outcome:
        """Send the call, wait for all ranks until the deadline, and report what came back."""
        began, zero = time.monotonic(), time.time()
        pending = self._send(members, subworld.call, payload, zero)
        reports = []
        for rank, (member, result) in enumerate(zip(members, pending, strict=True)):
            with suppress(TimeoutError):
                result.wait(max(0.0, began + deadline - time.monotonic()))
            report = RankReport(rank, member, "running", events=read_log(log.format(rank=member)))
            take(report, result) if result.ready() else locate(report)
            reports.append(report)
        return Outcome(judge_state(reports), reports, time.monotonic() - began)

    def _kill(self) -> None:
        """Kill the engines. Signals that Python handles would not reach a rank that waits in an MPI call."""
        for pid in self._pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._engines, self._pids = [], []

    def _restart(self) -> None:
        """Start new engines after the last ones were killed."""
        before = set(self._client._engines.values())  # identities, which are never reused, unlike engines' numbers
        self._cluster.stop_engines_sync()
        self._cluster.start_engines_sync(self.size)  # not restart_engines, which loses them if it is interrupted
        end = time.monotonic() + START_LIMIT
        while len(new := [id for id, key in self._client._engines.items() if key not in before]) < self.size:
            if time.monotonic() > end:
                raise TimeoutError(f"{len(new)} of {self.size} engines came up")
            time.sleep(0.05)
        self._take_engines(new)

    def _take_engines(self, ids: Sequence[int]) -> None:
        """Have the engines import what labs use, and keep them in the order of their ranks."""
        view = self._client[list(ids)]
        view.apply_async(import_libraries).get(START_LIMIT)
        ranks = view.apply_async(world_rank).get(START_LIMIT)
        self._engines = [engine for _, engine in sorted(zip(ranks, ids, strict=True))]
        self._pids = self._client[self._engines].apply_async(os.getpid).get(START_LIMIT)


def take(report: RankReport, result: Any) -> None:
    """Fill in the report of a rank that has returned or raised."""
    try:
        answer = result.get(0)
    except Exception:  # the engine died
        report.state = "died"
        return
    result.wait_for_output(1.0)
    report.stdout, report.seconds, report.error = result.stdout or "", answer["seconds"], answer["error"]
    report.state = "raised" if report.error else "returned"
    if report.error:
        report.line, report.source = report.error["line"], report.error["source"]
    else:
        report.result = cloudpickle.loads(answer["result"])


def locate(report: RankReport) -> None:
    """Fill in the report of a rank that has not returned, from its last call."""
    last = report.events[-1] if report.events else None
    if last is not None and last["state"] in ("called", "awaited"):
        report.state, report.call, report.line = "waiting", f"{PREFIX[last['library']]}.{last['op']}", last["line"]
