"""Blocks of `Preemption`, in which some rank is signalled."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence

SIGNALS = ("SIGTERM", "SIGUSR2")
HELD_UP = 0.1  # seconds that the others wait for rank 0 while one of them is signalled


class Seen(Evidence):
    """What became of a block. entered: what `with` gave in place of the object itself; empty if that. early, taken:
    names of signals that had another handler before the block, and in it. left: signals that have not the handler from
    before the block any more, with what they have. raised: errors in the moment of a signal; besides: what else
    happened then. ended: whether the block's exception disappeared. answers: of `agreed()`; of what is no bool, its
    type."""

    entered: str
    early: list[str]
    taken: list[str]
    raised: list[str]
    besides: str
    left: list[str]
    ended: bool
    answers: list[bool | str]


def call(Preemption: Callable, rank: CallRank, call: dict) -> Seen:
    """One block. Of its signals some rank gets those in `rounds`, each before an `agreed()`."""
    called: list[Any] = []
    raised, answers = [], []
    numbers = {name: getattr(signal, name) for name in SIGNALS}
    outer, old = (lambda *given: called.append(given) for _ in "ab")  # handlers

    def in_words(handler: Any) -> str:
        if handler is outer:
            return "the handler that it had when `Preemption(...)` was called"
        return "the system's default" if handler is signal.SIG_DFL else "another handler"

    def others(than: dict[str, Any]) -> list[str]:
        return [name for name in SIGNALS if signal.getsignal(numbers[name]) is not than[name]]

    first = {name: signal.signal(number, outer) for name, number in numbers.items()}
    printed, ended, entered = io.StringIO(), False, ""
    try:
        with contextlib.suppress(ValueError) if call["fails"] else contextlib.nullcontext():
            made = Preemption([numbers[name] for name in call["signals"]])
            early = others(dict.fromkeys(SIGNALS, outer))
            for name in () if early else SIGNALS:  # another handler comes between the making and the block
                ignored = call["ignored"] and name in call["signals"]
                signal.signal(numbers[name], signal.SIG_IGN if ignored else old)
            before = {name: signal.getsignal(number) for name, number in numbers.items()}
            with made as preemption:
                entered = "" if preemption is made else type(preemption).__name__
                taken = others(before)
                for planned in call["rounds"]:
                    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                        if planned:
                            send(rank, *planned, raised)
                    answers.append(made.agreed())
                if call["fails"]:
                    raise ValueError("the block fails")
            ended = True
        left = [f"{name} has {in_words(signal.getsignal(numbers[name]))}" for name in others(before)]
    finally:
        for name, handler in first.items():
            signal.signal(numbers[name], handler)
    besides = "the handler from before runs as well" if called else ""
    besides = "the rank prints something" if printed.getvalue() else besides
    told = [each if isinstance(each, bool) else type_in_words(each) for each in answers]
    return Seen(entered, early, taken, raised, besides, left, ended and call["fails"], told)


def send(rank: CallRank, sender: int, name: str, inside: bool, raised: list[str]) -> None:
    """Let a rank get a signal: now, or while it waits for rank 0. inside: whether it waits. raised: where errors are
    noted."""
    kill = functools.partial(os.kill, os.getpid(), getattr(signal, name))
    own, timer = rank.rank == sender, threading.Timer(HELD_UP / 2, kill)
    try:
        if own:
            timer.start() if inside else kill()
        if inside:
            time.sleep(HELD_UP if rank.rank == 0 else 0)
            rank.meet()
            timer.join() if own else None
        time.sleep(0)
    except BaseException as error:  # also SystemExit and KeyboardInterrupt, which a handler may raise
        raised.append(type(error).__name__)


PROBE = CallProbe(Seen, call, needs="torch")
