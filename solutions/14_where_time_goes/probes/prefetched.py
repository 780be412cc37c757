"""Calls of `prefetched` with a loader that notes who fetches what, and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from unittest import mock

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence

DEADLINE = 4.0  # seconds until what has to come is taken not to come
LOOKING = 0.3  # seconds in which a thread that fetches too far would do so
ENDLESS = 300  # batches after which even a loader without an end ends


class Planned(Exception):
    """The loader's error."""


class Seen(Evidence):
    """got: the number of each batch that came. ended: how that ended, see `Consumer`. own: how many batches the
    consumer's thread fetched. behind: how many were in use while not as many as due were fetched. most: fetched ahead
    of the one in use. together: whether two threads called `next` at once. left: threads that stayed."""

    got: list[int]
    ended: str
    own: int
    behind: int
    most: int
    together: bool
    left: int


class Loader:
    """Fetches batches (number, number) from `first` on. count: of them, None: without an end. fails: the place in which
    an error is raised, or None."""

    def __init__(self, first: int, count: int | None, fails: int | None) -> None:
        self.first, self.fails, self.over = first, fails, False
        self.count = min(ENDLESS if count is None else count, ENDLESS if fails is None else fails + 1)
        self.changed, self.busy = threading.Condition(), threading.Lock()
        self.fetched, self.threads, self.together, self.error = 0, [], False, Planned("the loader's error")

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Itself: it is gone through once."""
        return self

    def __next__(self) -> torch.Tensor:
        """The next batch."""
        if not self.busy.acquire(blocking=False):
            self.together = True
            self.busy.acquire()
        try:
            number = self.fetched
            if self.over or number >= self.count:
                raise StopIteration
            time.sleep(0)  # lets other threads come in between
            with self.changed:
                self.threads.append(threading.get_ident())
                self.fetched += 1
                self.changed.notify_all()
            if number == self.fails:
                raise self.error
            return torch.full((2,), self.first + number)
        finally:
            self.busy.release()

    def reached(self, count: int, seconds: float) -> bool:
        """Whether so many batches are fetched, or are within so many seconds."""
        with self.changed:
            return self.changed.wait_for(lambda: self.fetched >= count, seconds)


class Consumer(threading.Thread):
    """Uses the batches of a call in a thread of its own, so that one that never comes stops nothing else.

    ended: how it ended. "it waits forever" for a batch, or "waits in close"; else "the batches just end", "stopped" as
    planned, "an error is raised", the loader's, or "another error is raised". raised: another error of the student's
    code, to be raised again where the call is made.
    """

    def __init__(self, prefetched: Callable, loader: Loader, case: dict, patient: bool) -> None:
        super().__init__(daemon=True)
        self.prefetched, self.loader, self.case, self.patient = prefetched, loader, case, patient
        self.got, self.ended, self.behind, self.most, self.raised = [], "it waits forever", 0, 0, None

    def run(self) -> None:
        """Go through the batches."""
        try:
            self.ended = self.consumed()
        except BaseException as error:
            self.raised = error

    def consumed(self) -> str:
        """Ask for one batch after the other, until they end, or until it is time to stop. Returns how that ended."""
        batches = iter(self.prefetched(self.loader, self.case["depth"]))
        while self.case["stops"] is None or len(self.got) < self.case["stops"]:
            try:
                batch = next(batches)
            except StopIteration:
                return "the batches just end"
            except Exception as raised:
                if self.case["fails"] is None or self.loader.fetched < self.loader.count:
                    raise
                return "an error is raised" if raised is self.loader.error else "another error is raised"
            self.got.append(int(batch[0]))
            self.use(len(self.got))
        self.ended = "waits in close"
        if hasattr(batches, "close"):
            batches.close()
        return "stopped"

    def use(self, number: int) -> None:
        """Use batch `number`, counted from 1, until as many as are due are fetched; look once whether more are."""
        due = min(number + self.case["depth"], self.loader.count)
        if not self.loader.reached(due, DEADLINE if self.patient else 0):
            self.behind, self.patient = self.behind + 1, False
        if number == 1 and self.patient:
            self.loader.reached(due + 2, LOOKING)
        self.most = max(self.most, self.loader.fetched - number)


def but_for_the_planned_one(args: threading.ExceptHookArgs) -> None:
    """Prints an error that ended a thread, unless it is the loader's: that is judged, and told in words."""
    if args.exc_type is not Planned:
        threading.__excepthook__(args)


def call(prefetched: Callable, rank: CallRank, case: dict) -> Seen:
    """One call, with a loader and a consumer of its own."""
    loader, before = Loader(case["first"], case["count"], case["fails"]), {*threading.enumerate()}
    consumer = Consumer(prefetched, loader, case, rank.notes.get("ahead", True))
    patience = rank.notes.get("patience", 1)
    with mock.patch.object(threading, "excepthook", but_for_the_planned_one):
        consumer.start()
        consumer.join(2 * DEADLINE * patience)
    until = time.monotonic() + DEADLINE * patience
    others = {*threading.enumerate()} - before - {consumer}
    for thread in others:
        thread.join(max(0.0, until - time.monotonic()))
    left = sum(thread.is_alive() for thread in others)
    rank.notes |= {"ahead": consumer.patient, "patience": 0.1 if left or consumer.is_alive() else patience}
    loader.over = True
    if consumer.raised is not None:
        raise consumer.raised
    own = loader.threads.count(consumer.ident)
    return Seen(consumer.got, consumer.ended, own, consumer.behind, consumer.most, loader.together, left)


PROBE = CallProbe(Seen, call, deadline=40)
