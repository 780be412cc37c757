"""The check of `serve`."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Mistakes, MistakesGiving, first_of, of_record
from autograde.rubric.judges.arrays import EachRankReturnsArray, alike
from autograde.rubric.judges.conduct import arrays_stay
from autograde.rubric.judges.messages import messages_alone, received, unchanged_under_way, waited_for
from autograde.rubric.judges.numbers import SINGLE, float32
from autograde.rubric.run import Run
from autograde.rubric.words import Words, Wrong
from course.watch.events import ANY

from ..probes import serve
from ..shared.requests import DONE, PULL, PUSH, TURN, drawn, gradient_of
from .waiting import open_call

words = Words("""
answer-of-another-length: Rank 0 answers a PULL with {actual:number}, where there are {count:parameter}.

other-tag: The answer to a PULL comes with tag {tag}. Tag PULL is expected, which is {pull}.

other-parameters: The answer to PULL number {number} is not what the parameters are after {pushes:gradient}.

gone-too-early: Rank 0 returns after {done} DONE of {workers:worker}, and rank {rank} still waits for it. When has a
server nothing left to do?

never-goes: All {workers:worker} have sent DONE, and rank 0 waits for another message. How does it know that it was the
last one?

waits-for-one-worker: Rank 0 waits for a message from rank {waited}, while rank {rank} asks it for the parameters or
brings a gradient. Who comes next is not known beforehand: a slow worker would keep all others waiting.

waits-for-all: Rank {rank} has asked for the parameters and gets no answer, while rank 0 waits for other messages. A
PULL is answered at once, with the parameters as they are then, whoever else has pushed or not.

answer-nobody-asked-for: Rank 0 sends a message to rank {rank}, which does not wait for one: it has asked for nothing,
or has its answer already. Only a PULL is answered, and only to the worker that sent it.

probe-then-anybody: Rank 0 probes for a message, and then receives one of another rank than the one that it has probed.
If any source will do for the receive, MPI may deliver any message. How do you receive the one that you have looked at?
""")


def replay(call: Call, factor: float = 1.0, adds: bool = True, answers: bool = True) -> list[np.ndarray]:
    """The parameters in each answer, one after the other, and at the end those that are returned.

    factor: of every step. adds: whether a gradient changes the parameters as they are, or those of the beginning.
    answers: whether with the parameters as they are then, or with those of the beginning.
    """
    first = drawn(call.arguments["seed"], call.arguments["count"])
    now, found = first, []
    for number, (_, tag) in enumerate(call.arguments["script"]):
        if tag == PUSH:
            now = (now if adds else first) - factor * call.arguments["rate"] * gradient_of(call.arguments, number)
        if tag == PULL:
            found.append(now if answers else first)
    return [*found, now]


def answers_of(call: Call) -> list[serve.Answer]:
    """What the workers got, in the order of the script."""
    return sorted((each for own in call.of("answers") for each in own), key=lambda each: each.number)


class Answers:
    """Judge of the answers, where the order in which requests come is certain."""

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        count, due = call.arguments["count"], replay(call)[:-1]
        for number, (each, parameters) in enumerate(zip(answers_of(call), due, strict=True)):
            if each.values.shape != [count]:
                return words("answer-of-another-length", actual=int(np.prod(each.values.shape)), count=count)
            if alike(each.values.entries, parameters, SINGLE) and not alike(each.values.entries, parameters):
                return float32(f"Only the first digits of the answer to PULL number {number} are right")
            if not alike(each.values.entries, parameters):
                pushes = sum(tag == PUSH for _, tag in call.arguments["script"][: each.number])
                return words("other-parameters", compared=True, number=number, pushes=pushes)
        tags = {each.tag for each in answers_of(call)} - {PULL}
        return words("other-tag", tag=min(tags), pull=PULL) if tags else None

    def gives(self, call: Call, value: list[np.ndarray]) -> bool:
        """Whether these are the answers; what else is in `value` is not looked at."""
        return all(alike(each.values.entries, due) for each, due in zip(answers_of(call), value, strict=False))


MISTAKES = MistakesGiving(
    """
    answers-with-the-first: Each PULL is answered with the parameters of the beginning. Answer with them as they are
    now: what has been pushed so far should be in them.

    divided-by-workers: Each gradient is divided by the number of workers. The server takes it as it comes: parameters
    -= rate * gradient.

    gradient-not-subtracted: The parameters move with the gradient, which points uphill.

    rate-forgotten: Each gradient is taken whole: `rate` is missing.

    only-the-last-push: The parameters follow from the last gradient alone. Every gradient changes the parameters as
    they are.
    """,
    lambda call: {
        "answers-with-the-first": replay(call, answers=False),
        "divided-by-workers": (replay(call, 1 / max(1, call.size - 1)), replay(call, 1 / call.size)),
        "gradient-not-subtracted": replay(call, -1),
        "rate-forgotten": replay(call, 1 / call.arguments["rate"]),
        "only-the-last-push": replay(call, adds=False),
    },
)
RESULT = EachRankReturnsArray(lambda call: replay(call)[-1], ranks=lambda call: [0])
RETURNED = Mistakes(
    """
    returns-the-first: The answers are right, but rank 0 returns the parameters of the beginning.
    """,
    returns_the_first=lambda call: alike(
        call.seen[0].result.entries, drawn(call.arguments["seed"], call.arguments["count"])
    ),
)


def probes_anybody(log: list[dict]) -> bool:
    """Whether a rank probes for any message, then asks for any, and so receives another rank's than it has probed."""
    pairs = pairwise(event for event in log if event["times"] is None)
    return any(
        (one["kind"], two["kind"]) == ("probe", "recv")
        and one["asked_source"] == two["asked_source"] == ANY
        and one["peer"] != two["peer"]
        for one, two in pairs
    )


@of_record
def outrun(call: Call) -> Wrong | None:
    """What is wrong with the result where a message was outrun by another rank's."""
    wrong = RESULT(call)
    return words("probe-then-anybody") if wrong and probes_anybody(call.events[0]) else wrong


def in_turns(arguments: dict) -> bool:
    """Whether each request comes when the one before it has been served."""
    return arguments["turns"]


class Serve(CallCheck):
    """Workers that follow a script, in an order of arrival that is certain, and then without any."""

    todo, probe = "serve", serve.PROBE
    consolidation = (
        "The parameters live in one place, and no worker waits for another: a slow one only keeps itself waiting. The "
        "price is that a gradient may come after others have changed what it was computed for."
    )
    criteria = (
        Criterion(
            "answers",
            1.5,
            "a PULL is answered at once, to this worker only, with the parameters [P] as they are now, with tag PULL",
            Answers(),
            MISTAKES,
            on=in_turns,
        ),
        Criterion(
            "result",
            0.5,
            "the parameters are returned when all workers are done; with no workers, a copy of them",
            RESULT,
            RETURNED,
            on=in_turns,
            after=("answers",),
        ),
        Criterion(
            "any-order",
            0.5,
            "requests are served as they come, from whichever worker",
            outrun,
            on=lambda arguments: not in_turns(arguments),
            after=("answers", "result"),
        ),
        Criterion(
            "messages",
            0.75,
            "nothing else is communicated. With an Isend, too, an array that is being sent stays as it is until "
            "the send is finished",
            first_of(messages_alone, unchanged_under_way, waited_for, received),
            on=in_turns,
        ),
        Criterion(
            "arrays",
            0.75,
            "`parameters` stays as it is, and the result has memory of its own",
            arrays_stay,
            on=in_turns,
        ),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Workers that pull and push in all orders, often, never, and without a new pull; few parameters and many."""

        def call(workers: int, count: int, turns: bool, *starts: tuple[int, int]) -> dict:
            script = [[worker, PULL] for worker in range(1, workers + 1) if worker != 2 or workers < 2]
            script += [[*each] for each in starts]
            # One has pulled, and pushes only when another has pushed five times.
            busy = workers
            script += [[busy, tag] for tag in (PUSH, PULL, PUSH, PUSH, PULL, PUSH, PUSH)]
            script += [[1, PUSH], [1, PULL]] + ([] if busy == 1 else [[busy, PULL]])
            ends = [[worker, DONE] for worker in range(1, workers + 1)]
            rng.shuffle(ends)
            late = ends.pop()[0]
            script += [*ends, [late, PUSH], [late, PULL], [late, DONE]]
            about = {"count": count, "rate": rng.uniform(0.1, 0.9), "seed": rng.getrandbits(30)}
            return about | {"turns": turns, "script": script}

        def case(ranks: list[int], *calls: dict) -> dict:
            return {"ranks": ranks, "calls": [*calls]}

        alone = {"count": 3, "rate": 0.5, "seed": rng.getrandbits(30), "turns": True, "script": []}
        return [
            case([0, 1, 2, 3], call(3, 3, True, (3, PUSH), (1, PUSH)), call(3, 5000, True)),
            case([2, 0, 3], call(2, 3, True, (1, PUSH)), call(2, 5000, True)),
            case([3, 1], call(1, 5000, True)),
            case([1], alone),
            case([3, 1, 0, 2], call(3, 5000, False), call(3, 3, False, (2, PUSH), (3, PUSH))),
            case([1, 3, 2], call(2, 3, False)),
        ]

    def broke_off(self, run: Run) -> Wrong | None:
        """Who waits for whom."""
        if run.state != "hang" or run.full:
            return None
        logs = [[event for event in log if event["tag"] != TURN] for log in run.of_call(run.reached)]
        served, calls, workers = open_call(logs[0]), [*map(open_call, logs)], len(logs) - 1
        done = sum(event["tag"] == DONE and event["end"] is not None for log in logs[1:] for event in log)
        waiting = {
            kind: [rank for rank, call in enumerate(calls[1:], 1) if call and call["kind"] == kind]
            for kind in ("send", "recv")
        }
        if not run.broken["turns"] and probes_anybody(logs[0]):  # with turns it went well
            return words("probe-then-anybody", run.report)
        if served is None:
            ranks = sorted([*waiting["send"], *waiting["recv"]])
            return words("gone-too-early", run.report, done=done, workers=workers, rank=ranks[0]) if ranks else None
        if served["kind"] == "send":
            return words("answer-nobody-asked-for", run.report, rank=served["peer"])
        if served["kind"] not in ("recv", "probe"):
            return None
        if done == workers and run.broken["script"]:
            return words("never-goes", run.report, workers=workers)
        if waiting["send"]:
            return words("waits-for-one-worker", run.report, waited=served["peer"], rank=waiting["send"][0])
        return words("waits-for-all", run.report, rank=waiting["recv"][0]) if waiting["recv"] else None


CHECK = Serve()
