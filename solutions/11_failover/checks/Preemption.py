"""The check of `Preemption`."""

from __future__ import annotations

import contextlib
import io
import operator
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from autograde.contract.calls import with_article
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.collectives import named
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run

finding = Findings("""
gives-no-self 1
`with Preemption(...) as preemption` gives {kind}, not the Preemption itself.

signal-not-taken 2
In the block, {names} still has the handler from before. All the signals that were named have to be taken.

other-signal-taken 1
In the block, {names} has another handler, too, though it was not named.

taken-too-early 1.5
{names} is taken by `Preemption(...)` already, before `with` begins the block. What comes until then belongs to the
handler from before.

handler-raises 2
When the signal comes, {kind} is raised in the middle of what the rank is doing. The handler is to take a note, and
nothing else: the step has to come to its end.

handler-ends-the-rank 3
When the signal comes, the rank ends at once, and the others wait for it. Who has saved its step?

handler-communicates 3
A deadlock: the rank that was signalled makes a collective call that no other rank makes. In the handler, nobody else
knows of its signal: so that cannot communicate. In `agreed()`, all ranks have to make the call, signalled or not.

signalled-leaves-alone 3
A deadlock: the rank that was signalled returns from `agreed()` without the all-reduce in which the others wait. How are
they to hear of its signal?

handler-prints 0.5
When the signal comes, the rank prints something. A handler runs between any two instructions, also those of a print.

old-handler-called 1
When the signal comes, the handler from before runs as well. In the block the signal is only noted.

handlers-left 1.5
After the block, {names} does not have the handler from before.

handlers-left-by-an-error 1.5
After a block that an exception has ended, {names} does not have the handler from before.

handler-of-the-making 1.5
After the block, {names} has the handler that it had when `Preemption(...)` was called. Another one was there when the
block began: when does your class look?

default-not-before 1.5
After the block, {names} has the system's default again, and not the handler from before.

exception-swallowed 1
An exception in the block has disappeared. The caller has to see it.

not-a-bool 0.5
`agreed()` returns a value of type {kind}; a bool is expected.

each-rank-for-itself 3
Rank {signalled} was signalled, and only there `agreed()` says so. It would leave, and the others would wait for it.

rank-0-decides 3
All ranks follow rank 0. Rank {signalled} was signalled, and nobody leaves.

all-have-to-be-signalled 3
Rank {signalled} was signalled, and `agreed()` is True nowhere. One signalled rank is enough.

forgets 2
`agreed()` was True, and later it is False again, though nobody has taken the signal back.

remembers-another-block 2
Nobody was signalled in this block, and yet `agreed()` is True: a new Preemption knows of the signals of an older one.

agreed-otherwise 3
After {signals}, `agreed()` says {actual} on the ranks; expected is {expected}.

not-once 1
{calls} calls of `agreed()` make {count} calls of torch.distributed on a rank. Each should make one all-reduce.

no-all-reduce 1
The ranks call {ops}. Each call of `agreed()` should make one all-reduce, and nothing else.

more-than-one-number 0.5
The all-reduce carries {count} bytes. One number is enough.
""")

SIGNALS = ("SIGTERM", "SIGUSR2")
HELD_UP = 0.1  # seconds that the others wait in a collective in which one of them is signalled


class Preemption(CallCheck, JudgedCalls):
    """Blocks in which some rank is signalled, between two collectives or in one, and `agreed` after each.

    A call has `signals`, by name; `ignored`, whether they are ignored before the block; `rounds`, for each `agreed` the
    signal before it, [rank, name, whether in a collective], or None; `fails`, whether an exception ends the block.
    """

    todo, points, needs = "Preemption", 3, "torch"
    consolidation = (
        "A signal handler takes a note, and the program looks at it where it suits. One small all-reduce turns one "
        "rank's note into a decision of all."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """The last rank, or rank 0 alone; in a collective and between two; nobody; a block that fails."""

        def block(rounds: list, *names: str, ignored: bool = False, fails: bool = False) -> dict:
            return {"signals": [*names] or [*SIGNALS], "rounds": rounds, "ignored": ignored, "fails": fails}

        def case(size: int) -> dict:
            one, other = rng.sample(SIGNALS, 2)
            last, calm = size - 1, [None] * rng.randint(1, 2)
            calls = [block([*calm, [last, one, False], None, None]), block([None, None])]
            calls += [block([*calm, [0, other, False], None]), block([None, [last, other, True], None])]
            calls += [block([None], one, fails=True), block([[last, other, False], None], other, ignored=True)]
            return {"size": size, "calls": calls}

        cases = [case(4), case(2)]
        ### BEGIN HIDDEN CASES
        cases += [case(3)]
        ### END HIDDEN CASES
        return cases

    def gpu_case(self, rng: random.Random) -> dict | None:
        """One block, in which nobody is signalled."""
        return {"size": 2, "calls": [{"signals": [*SIGNALS], "rounds": [None], "ignored": False, "fails": False}]}

    @staticmethod
    def call(function: Any, rank: Rank, call: dict) -> dict:
        """What becomes of one block on this rank."""
        seen: dict[str, list] = {"old": [], "raised": [], "kinds": [], "answers": []}
        numbers = {name: getattr(signal, name) for name in SIGNALS}

        def older(number: int, frame: Any) -> None:
            seen["old"].append(signal.Signals(number).name)

        def old(number: int, frame: Any) -> None:
            older(number, frame)

        outer = {number: signal.signal(number, older) for number in numbers.values()}
        said, fails, shown = io.StringIO(), ValueError("the block fails"), {}
        try:
            with contextlib.suppress(ValueError) if call["fails"] else contextlib.nullcontext():
                given = function([numbers[name] for name in call["signals"]])
                shown["early"] = [name for name in SIGNALS if signal.getsignal(numbers[name]) is not older]
                if not shown["early"]:  # another handler comes between the making and the block
                    for name in SIGNALS:
                        ignored = call["ignored"] and name in call["signals"]
                        signal.signal(numbers[name], signal.SIG_IGN if ignored else old)
                before = {name: signal.getsignal(number) for name, number in numbers.items()}
                with given as preemption:
                    shown["given"] = "" if preemption is given else type(preemption).__name__
                    shown["taken"] = [name for name in SIGNALS if signal.getsignal(numbers[name]) is not before[name]]
                    for planned in call["rounds"]:
                        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                            if planned:
                                send(rank, planned, numbers, seen["raised"])
                        answer = given.agreed()
                        seen["kinds"].append(type(answer).__name__)
                        seen["answers"].append(bool(answer))
                    if call["fails"]:
                        raise fails
                shown["ended"] = True
            after = {name: signal.getsignal(number) for name, number in numbers.items()}
        finally:
            for number, handler in outer.items():
                signal.signal(number, handler)
        shown["left"] = [name for name in SIGNALS if after[name] is not before[name]]
        shown["default"] = [name for name in SIGNALS if after[name] is signal.SIG_DFL]
        shown["older"] = [name for name in SIGNALS if after[name] is older]
        return {**shown, **seen, "ended": shown.get("ended", False), "said": said.getvalue()[:200]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Answers and their types, and what became of the signals."""
        rounds, names = len(call["rounds"]), array(string(), most=50)
        lists = {name: names for name in ("early", "taken", "left", "default", "older", "old", "raised")}
        shown = {"given": string(), "said": string(), "ended": boolean(), **lists}
        return {**shown, "kinds": array(string(), rounds), "answers": array(boolean(), rounds)}

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """The handler ends its rank, or a signalled rank makes a call that others do not, or leaves out one."""
        if run.state == "rank-died":
            return [finding("handler-ends-the-rank", run.report)]
        if run.state != "hang" or run.reached >= len(case["calls"]):
            return []
        counts = [sum(event["line"] is not None for event in events) for events in run.of_call(run.reached)]
        signalled = [each[0] for each in case["calls"][run.reached]["rounds"] if each]
        waits = [rank["call"] for rank in run.ranks]
        if any(counts[rank] < max(counts) for rank in signalled):
            return [finding("signalled-leaves-alone", run.report)]
        alone = [rank for rank in signalled if counts[rank] > min(counts) or waits.count(waits[rank]) == 1 < len(waits)]
        return [finding("handler-communicates", run.report)] if alone else []

    def judge(self, case: dict, call: Call) -> Iterator[Finding | Diagnosis]:
        """The block on all ranks."""
        shown, names = call.shown, call.plan["signals"]
        yield from block_mistakes(shown, names, call.plan["fails"])
        rounds = call.plan["rounds"]
        signals = [place for place, planned in enumerate(rounds) if planned]
        kinds = {kind for each in shown for kind in each["kinds"]}
        if kinds - {"bool"}:
            yield finding("not-a-bool", kind=sorted(kinds - {"bool"})[0])
        actual, size = call.of("answers"), call.size
        first = signals[0] if signals else len(rounds)
        sender = rounds[first][0] if signals else None
        after = [place >= first for place in range(len(rounds))]
        never, expected = [False] * len(rounds), [after] * size
        moment = [place == first for place in range(len(rounds))]
        own = [after if rank == sender else never for rank in range(size)]
        candidates = {
            "each-rank-for-itself": own,
            "each-rank-for-itself/once": [moment if rank == sender else never for rank in range(size)],
            "rank-0-decides": [after if sender == 0 else never] * size,
            "all-have-to-be-signalled": [after if size == 1 and signals else never] * size,
            "forgets": [moment] * size,
            "remembers-another-block": [[True] * len(rounds)] * size if call.number else expected,
        }
        told = f"a signal to rank {sender} before call {first + 1}" if signals else "no signal"
        about = partial(finding, signalled=sender, signals=told, actual=actual, expected=expected)
        yield diagnose("answers", actual, expected, candidates, about, "agreed-otherwise", operator.eq)
        if actual == expected:
            yield from communication_mistakes(call, len(rounds))


def send(rank: Rank, planned: list, numbers: dict, raised: list[str]) -> None:
    """Let a rank get a signal: now, or while it waits for the others in a collective."""
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


def block_mistakes(shown: list[dict], names: list[str], fails: bool) -> Iterator[Finding]:
    """What is wrong with the signals of a block. shown: by rank. names: of the signals to be taken."""
    for each in shown:
        if each["given"]:
            yield finding("gives-no-self", kind=with_article(each["given"]))
        if each["early"]:
            yield finding("taken-too-early", names=" and ".join(each["early"]))
            if each["raised"]:
                yield finding("handler-raises", kind=each["raised"][0])
            continue
        if missing := [name for name in names if name not in each["taken"]]:
            yield finding("signal-not-taken", names=" and ".join(missing))
        if others := [name for name in each["taken"] if name not in names]:
            yield finding("other-signal-taken", names=" and ".join(others))
        if each["raised"]:
            yield finding("handler-raises", kind=each["raised"][0])
        if each["said"]:
            yield finding("handler-prints")
        if each["old"] and not missing:
            yield finding("old-handler-called")
        if fails and each["ended"]:
            yield finding("exception-swallowed")
    left, default, older = ({name for each in shown for name in each[kind]} for kind in ("left", "default", "older"))
    if left:
        key = "default-not-before" if left <= default else "handlers-left-by-an-error" if fails else "handlers-left"
        key = "handler-of-the-making" if left <= older else key
        if key.startswith("handlers-left") or not any(each["early"] for each in shown):
            yield finding(key, names=" and ".join(sorted(left)))


def communication_mistakes(call: Call, rounds: int) -> Iterator[Finding]:
    """What is wrong with what `agreed` communicates, where its answers are right."""
    logs = [[event for event in events if event["line"] is not None] for events in call.events]
    events = [event for log in logs for event in log]
    if ops := [event for event in events if event["library"] != "torch" or event["kind"] != "allreduce"]:
        yield finding("no-all-reduce", ops=named(ops))
    elif wrong := [log for log in logs if len(log) != rounds]:
        yield finding("not-once", calls=rounds, count=len(wrong[0]))
    elif (most := max(event["bytes"] or 0 for event in events)) > 8:
        yield finding("more-than-one-number", count=most)


CHECK = Preemption()
