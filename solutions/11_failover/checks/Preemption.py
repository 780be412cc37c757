"""The check of `Preemption`: the signals of a block, and what the ranks make of them together."""

from __future__ import annotations

import random

from autograde.contract.calls import with_article
from autograde.rubric.check import CallCheck, on_its_device
from autograde.rubric.criterion import Call, Criterion, MistakesGiving, first_of, of_record
from autograde.rubric.judges.conduct import nothing_starts_or_ends
from autograde.rubric.run import Run
from autograde.rubric.words import Ranks, Words, Wrong
from autograde.verdicts.collectives import named

from ..probes import Preemption as probe

words = Words("""
gives-no-self: `with Preemption(...) as preemption` gives {kind}, not the Preemption itself.

signal-not-taken: In the block, the handler from before is still there for {names}. All the signals that were named have
to be taken.

other-signal-taken: In the block, there is another handler for {names}, too, though it was not named.

taken-too-early: {names} taken by `Preemption(...)` already, before `with` begins the block. What comes until then
belongs to the handler from before.

handler-raises: When the signal comes, {kind} is raised in the middle of what the rank is doing. The handler is to take
a note, and nothing else: the step has to come to its end.

handler-ends-the-rank: When the signal comes, the rank ends at once, and whoever waits for it waits in vain. Who has
saved its step?

handler-communicates: A deadlock: the rank that was signalled makes a collective call that no other rank makes. In the
handler, nobody else knows of its signal: so that cannot communicate. In `agreed()`, all ranks have to make the call,
signalled or not.

signalled-leaves-alone: A deadlock: the rank that was signalled returns from `agreed()` without the all-reduce in which
{others:waits|wait}. How are they to hear of its signal?

handler-prints: When the signal comes, the rank prints something. A handler runs between any two instructions, also
those of a print.

old-handler-called: When the signal comes, the handler from before runs as well. In the block the signal is only noted.

handlers-left: After the block, the handler from before is not there again for {names}.

handlers-left-by-an-error: After a block that an exception has ended, the handler from before is not there again for
{names}.

handler-of-the-making: After the block, there is the handler for {names} that was there when `Preemption(...)` was
called. Another one was there when the block began: when does your class look?

default-not-before: After the block, the system's default is there again for {names}, and not the handler from before.

exception-swallowed: An exception in the block has disappeared. The caller has to see it.

not-a-bool: `agreed()` returns a value of type {kind}; a bool is expected.

agreed-otherwise: After {sent}, the calls of `agreed()` say {actual} on rank {rank}; expected is {expected}.

not-once: {calls:call} of `agreed()` make {n:call} of torch.distributed on a rank. Each should make one all-reduce.

no-all-reduce: The ranks call {ops}. Each call of `agreed()` should make one all-reduce, and nothing else.

more-than-one-number: The all-reduce carries {nbytes:byte}. One number is enough.
""")


def sender_of(rounds: list) -> tuple[int, int | None]:
    """Before which `agreed()` the signal comes, and to which rank; if to none, their number and None."""
    return next(((at, planned[0]) for at, planned in enumerate(rounds) if planned), (len(rounds), None))


def begun(call: Call) -> Wrong | None:
    """From the beginning of the block on, the signals are taken that were named, and no others."""
    names = call.arguments["signals"]
    for seen in call.seen:
        if seen.entered:
            return words("gives-no-self", kind=with_article(seen.entered))
        if seen.early:
            verb = "is" if len(seen.early) == 1 else "are"
            return words("taken-too-early", names=f"{' and '.join(seen.early)} {verb}")
        if missing := [name for name in names if name not in seen.taken]:
            return words("signal-not-taken", names=missing)
        if others := [name for name in seen.taken if name not in names]:
            return words("other-signal-taken", names=others)
    return None


def noted(call: Call) -> Wrong | None:
    """Nothing happens in the moment of a signal."""
    for seen in call.seen:
        if seen.raised:
            return words("handler-raises", kind=seen.raised[0])
        if seen.said:
            return words("handler-prints")
        if seen.old and {*call.arguments["signals"]} <= {*seen.taken, *seen.early}:
            return words("old-handler-called")
    return None


def ended(call: Call) -> Wrong | None:
    """After the block all is as it was before."""
    fails = call.arguments["fails"]
    if any(seen.ended for seen in call.seen):
        return words("exception-swallowed")
    left, default, outer = ({name for own in call.of(kind) for name in own} for kind in ("left", "default", "outer"))
    key = "handlers-left-by-an-error" if fails else "handlers-left"
    key = "handler-of-the-making" if left <= outer else "default-not-before" if left <= default else key
    return words(key, names=sorted(left)) if left else None


def agreed(call: Call) -> Wrong | None:
    """Answers of all ranks; then their types."""
    rounds = call.arguments["rounds"]
    first, sender = sender_of(rounds)
    expected = [place >= first for place in range(len(rounds))]
    for rank, actual in enumerate(call.of("answers")):
        if actual != expected:
            sent = "no signal" if sender is None else f"a signal to rank {sender} before call {first + 1}"
            about = {"actual": actual, "expected": expected, "signalled": sender}
            return words("agreed-otherwise", compared=True, rank=rank, sent=sent, **about)
    other = sorted({kind for kinds in call.of("kinds") for kind in kinds} - {"bool"})
    return words("not-a-bool", kind=other[0]) if other else None


def given_by_mistake(call: Call) -> dict[str, tuple[list[list[bool]], ...]]:
    """The answers that known mistakes give, by rank."""
    rounds, size = call.arguments["rounds"], call.size
    first, sender = sender_of(rounds)
    after, once = ([at >= first if on else at == first for at in range(len(rounds))] for on in (True, False))
    never = [False] * len(rounds)
    own, own_once = ([row if rank == sender else never for rank in range(size)] for row in (after, once))
    return {
        "each-rank-for-itself": (own, own_once),
        "rank-0-decides": ([after if sender == 0 else never] * size,),
        "all-have-to-be-signalled": ([never] * size,),
        "forgets": ([once] * size,),
        "remembers-another-block": ([[call.number > 0 or answer for answer in after]] * size,),
    }


agreed.gives = lambda call, value: call.of("answers") == value
MISTAKES = MistakesGiving(
    """
    each-rank-for-itself: Rank {signalled} was signalled, and only there `agreed()` says so. It would leave, and the
    others would wait for it.

    rank-0-decides: All ranks follow rank 0. Rank {signalled} was signalled, and nobody leaves.

    all-have-to-be-signalled: Rank {signalled} was signalled, and `agreed()` is True nowhere. One signalled rank is
    enough.

    forgets: `agreed()` was True, and later it is False again, though nobody has taken the signal back.

    remembers-another-block: Nobody was signalled in this block, and yet `agreed()` is True: a new Preemption knows of
    the signals of an older one.
    """,
    given_by_mistake,
)


@of_record
def one_all_reduce(call: Call) -> Wrong | None:
    """One in each `agreed()`, of one number."""
    rounds = len(call.arguments["rounds"])
    logs = [[event for event in events if event["line"] is not None] for events in call.events]
    events = [event for log in logs for event in log]
    if any(event["library"] != "torch" or event["kind"] != "allreduce" for event in events):
        return words("no-all-reduce", ops=named(events))
    for log in logs:
        if len(log) != rounds:
            return words("not-once", calls=rounds, n=len(log), absent=len(log) < rounds)
    most = max(event["bytes"] or 0 for event in events)
    return words("more-than-one-number", nbytes=most) if most > 8 else None


class Preemption(CallCheck):
    """Blocks in which some rank is signalled, between two collectives or in one, and `agreed` after each.

    A call has `signals`, by name; `ignored`, whether they are ignored before the block; `rounds`, for each `agreed` the
    signal before it, [rank, name, whether in a collective], or None; `fails`, whether an exception ends the block.
    """

    todo, probe = "Preemption", probe.PROBE
    consolidation = (
        "A signal handler takes a note, and the program looks at it where it suits. One small all-reduce turns one "
        "rank's note into a decision of all."
    )
    criteria = (
        Criterion(
            "noted",
            1,
            "in the block each of these signals is noted, and nothing else happens: no exception, no output, no "
            "communication",
            first_of(begun, noted),
        ),
        Criterion(
            "agreed",
            1,
            "`agreed()` is whether any rank has been signalled in the block, the same bool on all ranks",
            agreed,
            MISTAKES,
            after=("noted",),
        ),
        Criterion(
            "ends",
            0.5,
            "after the block, each signal has the handler again that it had before the block",
            ended,
            after=("noted",),
        ),
        Criterion(
            "all-reduce",
            0.25,
            "each call of `agreed()` makes exactly one all-reduce of one number",
            first_of(one_all_reduce, nothing_starts_or_ends),
            after=("agreed",),
        ),
        Criterion(
            "device",
            0.25,
            'the number that is reduced is on the current GPU if the group\'s backend is "nccl", else on the CPU',
            on_its_device,
        ),
    )

    def broke_off(self, run: Run) -> Wrong | None:
        """The handler ends its rank, or a signalled rank makes a call that others do not, or leaves out one."""
        if run.state == "rank-died":
            return words("handler-ends-the-rank", run.report)
        if run.state != "hang" or run.full:
            return None
        counts = [sum(event["line"] is not None for event in events) for events in run.of_call(run.reached)]
        _, sender = sender_of(run.broken["rounds"])
        if sender is None:
            return None
        waits = [rank["call"] for rank in run.ranks]
        if counts[sender] < max(counts):
            others = Ranks(rank for rank, number in enumerate(counts) if number > counts[sender])
            return words("signalled-leaves-alone", run.report, others=others)
        alone = counts[sender] > min(counts) or waits.count(waits[sender]) == 1 < len(waits)
        return words("handler-communicates", run.report) if alone else None

    def fits(self, case: dict, arguments: dict, seen: probe.Seen) -> bool:
        """An answer for each round."""
        return len(seen.answers) == len(seen.kinds) == len(arguments["rounds"])

    def cases(self, rng: random.Random) -> list[dict]:
        """The last rank, or rank 0 alone; in a collective and between two; nobody; a block that fails."""

        def block(rounds: list, *names: str, ignored: bool = False, fails: bool = False) -> dict:
            return {"signals": [*names] or [*probe.SIGNALS], "rounds": rounds, "ignored": ignored, "fails": fails}

        def case(size: int) -> dict:
            one, other = rng.sample(probe.SIGNALS, 2)
            last, calm = size - 1, [None] * rng.randint(1, 2)
            calls = [block([*calm, [last, one, False], None, None]), block([None, None])]
            calls += [block([*calm, [0, other, False], None]), block([None, [last, other, True], None])]
            calls += [block([None], one, fails=True), block([[last, other, False], None], other, ignored=True)]
            return {"size": size, "calls": calls}

        return [case(size) for size in (4, 2, 3)]

    def gpu_case(self, rng: random.Random) -> dict:
        """One block, in which nobody is signalled."""
        return {"size": 2, "calls": [{"signals": [*probe.SIGNALS], "rounds": [None], "ignored": False, "fails": False}]}


CHECK = Preemption()
