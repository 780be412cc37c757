"""The check of `work`."""

from __future__ import annotations

import random
from types import MappingProxyType
from typing import Any

from autograde.contract.evidence import Array
from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, first_of, of_record
from autograde.rubric.judges.arrays import alike
from autograde.rubric.judges.messages import messages_alone, unchanged_under_way, waited_for
from autograde.rubric.rounding import Rounding
from autograde.rubric.run import Run
from autograde.rubric.words import Words, Wrong
from autograde.verdicts.collectives import MESSAGES

from ..probes import work
from ..shared.requests import DONE, PULL, PUSH, gradient_at, parameters_of
from .waiting import open_call

NAMES = MappingProxyType({PULL: "PULL", PUSH: "PUSH", DONE: "DONE"})
NEAR = Rounding(1e-9)

words = Words("""
pulls-only-once: Rank {rank} sends {sent}. It asks for the parameters once, so all its gradients but the first are
computed with old ones.

no-done: Rank {rank} sends {sent}, and returns. How does the server know that nothing more comes from it?

other-requests: Rank {rank} sends {sent}, where {n:step} are asked for. Expected is {expected}.

waits-before-it-asks: Rank {rank} waits for a message from rank 0, and has not asked for any. Who sends the first
message?

waits-for-thanks: Rank {rank} waits for an answer to its PUSH. A gradient is not answered.

message-to-another-worker: Rank {rank} exchanges a message with rank {other}. A worker knows the server alone.

pull-not-empty: Rank {rank} sends a {tag} of {bytes:byte}. It has nothing to say: the tag is enough. (A method in small
letters pickles what it sends, and a pickle is never empty.)

not-a-gradient: Rank {rank} sends a PUSH of {bytes:byte}, where {expected} are expected: {count} float64 as they are in
memory.

pushes-parameters: Rank {rank} pushes the parameters that it pulled, or a multiple of them. What does the server
subtract?

pushes-a-step: Rank {rank} pushes something else than what `gradient` returned for the parameters pulled last: number 0
is {actual}, where the gradient is {expected:.6g}.

gradient-of-others: Rank {rank} calls `gradient` with other parameters than those it pulled last.

gradient-calls: Rank {rank} calls `gradient` {n:time} in {steps:step}. Once a step is enough, and each call is a pass
over a batch.
""")


def in_words(tags: list[int]) -> str:
    """Tags as text."""
    return ", ".join(NAMES.get(tag, str(tag)) for tag in tags[:12]) or "nothing"


def in_turn(call: Call) -> Wrong | None:
    """Each worker sends a PULL and a PUSH for each step, and a DONE at the end."""
    for rank, requests in enumerate(call.seen[0].requests[1:], 1):
        steps, tags = call.arguments["steps"][rank], [each.tag for each in requests]
        expected, sent = [PULL, PUSH] * steps + [DONE], in_words(tags)
        if steps > 1 and tags in ([PULL, *[PUSH] * steps, DONE], [PULL, *[PUSH] * steps]):
            return words("pulls-only-once", rank=rank, sent=sent)
        if tags == expected[:-1]:
            return words("no-done", rank=rank, sent=sent)
        if tags != expected:
            return words("other-requests", rank=rank, sent=sent, n=steps, expected=in_words(expected))
    return None


def gradients(call: Call) -> Wrong | None:
    """What is pushed is the gradient at the parameters that were pulled last; it is asked for once a step."""
    for rank, requests in enumerate(call.seen[0].requests[1:], 1):
        steps, asked = call.arguments["steps"][rank], call.seen[rank].asked
        if len(asked) != steps:
            return words("gradient-calls", rank=rank, n=len(asked), steps=steps)
        pushed = [each.values for each in requests if each.tag == PUSH]
        for number, (at, values) in enumerate(zip(asked, pushed, strict=False)):
            pulled = parameters_of(call.arguments, rank, number)
            if not alike(at.entries, pulled):
                return words("gradient-of-others", rank=rank)
            right = gradient_at(pulled)
            if values.is_array and not alike(values.entries, right):
                if of_parameters(values, at):
                    return words("pushes-parameters", rank=rank)
                return words("pushes-a-step", rank=rank, actual=values.entries[0], expected=right[0])
    return None


def of_parameters(values: Array, pulled: Array) -> bool:
    """Whether values are the parameters that were pulled, or a multiple of them."""
    one, other = values.entries, pulled.entries
    return None not in one and NEAR(one, [float(one[0] / other[0] * each) for each in other])


@of_record
def with_the_server(call: Call) -> Wrong | None:
    """Workers exchange messages with rank 0 alone."""
    for rank, log in enumerate(call.events):
        for other in (event[end] for event in log if event["kind"] in MESSAGES for end in ("peer", "source")):
            if rank and other is not None and other > 0:
                return words("message-to-another-worker", rank=rank, other=other)
    return None


def buffers(call: Call) -> Wrong | None:
    """A PULL and a DONE are empty; a PUSH has the gradient's numbers as they are."""
    count = call.arguments["count"]
    for rank, requests in enumerate(call.seen[0].requests):
        for each in requests:
            if each.tag != PUSH and each.bytes:
                tag = NAMES.get(each.tag, f"message with tag {each.tag}")
                return words("pull-not-empty", rank=rank, tag=tag, bytes=each.bytes)
            if each.tag == PUSH and each.bytes != 8 * count:
                return words("not-a-gradient", rank=rank, bytes=each.bytes, count=count, expected=8 * count)
    return None


class Work(CallCheck):
    """Workers beside a server that notes what they ask for."""

    todo, probe = "work", work.PROBE
    inputs = ("steps",)
    consolidation = (
        "A worker knows the server and nobody else: how many others there are, and how fast they are, does not matter "
        "to it. The parameters that it works with may be old when its gradient arrives."
    )
    criteria = (
        Criterion(
            "requests",
            0.75,
            "`steps` times (perhaps 0), it pulls the parameters, computes a gradient and pushes it; at the end, "
            "it sends DONE",
            in_turn,
        ),
        Criterion(
            "gradients",
            0.75,
            "`gradient` is called once a step: each gradient is that of the parameters pulled last",
            gradients,
            after=("requests",),
        ),
        Criterion(
            "messages",
            0.5,
            "messages are buffers of float64 with tags PULL, PUSH and DONE, to and from rank 0 only; an array "
            "that is being sent stays as it is until the send is finished",
            first_of(messages_alone, with_the_server, buffers, waited_for, unchanged_under_way),
        ),
    )

    def fits(self, case: dict, arguments: dict, seen: Any) -> bool:
        """Rank 0 says what came from each rank."""
        return len(seen.requests) in (0, len(case["ranks"]))

    def cases(self, rng: random.Random) -> list[dict]:
        """One, two and three workers with different numbers of steps, also none; few parameters and many."""

        def case(ranks: list[int], *calls: tuple[int, ...]) -> dict:
            made = [{"count": count, "steps": [0, *steps], "seed": rng.getrandbits(30)} for count, *steps in calls]
            return {"ranks": ranks, "calls": made, "late": rng.randrange(len(ranks))}

        cases = [case([0, 1, 2, 3], (3, 4, 0, 2), (1500, 1, 2, 3)), case([2, 0, 3], (3, 3, 2)), case([3, 1], (2000, 3))]
        return [*cases, case([3, 1, 0, 2], (4, 2, 5, 0), (3, 0, 1, 3)), case([1, 3], (2, 4), (2500, 2))]

    def broke_off(self, run: Run) -> Wrong | None:
        """A worker that waits for what nobody sends."""
        if run.state != "hang" or run.full:
            return None
        for rank, log in enumerate(run.of_call(run.reached)):
            waiting = open_call(log)
            if not rank or waiting is None or waiting["kind"] != "recv":
                continue
            sent = [event["tag"] for event in log if event["kind"] in ("send", "sendrecv")]
            if not sent:
                return words("waits-before-it-asks", run.report, rank=rank)
            if sent[-1] == PUSH:
                return words("waits-for-thanks", run.report, rank=rank)
        return None


CHECK = Work()
