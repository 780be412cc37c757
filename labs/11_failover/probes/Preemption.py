"""Blocks of `Preemption`, in which some rank is signalled."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence

SIGNALS = ("SIGTERM", "SIGUSR2")
HELD_UP = 0.1  # seconds that the others wait in a collective in which one of them is signalled


class Seen(Evidence):
    """What became of a block. entered: what `with` gave in place of the object itself; empty if that. early, taken:
    names of signals that had another handler before the block, and in it. left: by name, what is there in place of the
    handler from before. raised: errors in the moment of a signal. old, said: whether the old handler ran, and something
    was printed. ended: whether the block's exception disappeared. answers: of `agreed()`; of what is no bool, its
    type."""

    entered: str
    early: list[str]
    taken: list[str]
    left: dict[str, str]
    raised: list[str]
    old: bool
    said: bool
    ended: bool
    answers: list[bool | str]


def call(Preemption: Callable, rank: CallRank, call: dict) -> Seen:
    """One block. Of its signals some rank gets those in `rounds`, each before an `agreed()`."""
    called: list[int] = []
    raised: list[str] = []
    answers: list[Any] = []
    numbers = {name: getattr(signal, name) for name in SIGNALS}

    def outer(number: int, frame: Any) -> None:
        called.append(number)

    def old(number: int, frame: Any) -> None:
        called.append(number)

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
                            send(rank, planned, numbers, raised)
                    answers.append(made.agreed())
                if call["fails"]:
                    raise ValueError("the block fails")
            ended = True
        left = {name: in_words(signal.getsignal(numbers[name])) for name in others(before)}
    finally:
        for name, handler in first.items():
            signal.signal(numbers[name], handler)
    told = [each if isinstance(each, bool) else type_in_words(each) for each in answers]
    about = (entered, early, taken, left, raised, bool(called), bool(printed.getvalue()), ended and call["fails"])
    return Seen(*about, told)


def send(rank: CallRank, planned: Sequence, numbers: dict[str, int], raised: list[str]) -> None:
    """Let a rank get a signal: now, or while it waits for the others in a collective. planned: which rank, the signal's
    name, and whether in a collective. raised: where errors are noted."""
    sender, name, inside = planned
    own = rank.rank == sender
    timer = threading.Timer(HELD_UP / 2, os.kill, (os.getpid(), numbers[name]))
    try:
        if own and not inside:
            os.kill(os.getpid(), numbers[name])
        if inside:
            if own:
                timer.start()
            elif rank.rank == 0:
                time.sleep(HELD_UP)
            dist.all_reduce(torch.zeros(1, device=rank.torch_device))
            timer.join() if own else None
        time.sleep(0)
    except BaseException as error:  # also SystemExit and KeyboardInterrupt, which a handler may raise
        raised.append(type(error).__name__)


PROBE = CallProbe(Seen, call, needs="torch")
