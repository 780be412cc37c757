"""The check of `serve`: workers that follow a script, in an order of arrival that is certain, and then without any."""

from itertools import pairwise

from autograde.rubric import (
    CallCheck,
    Criterion,
    EachRankReturnsArray,
    Mistakes,
    Same,
    Words,
    arrays_stay,
    changed,
    first_of,
    given,
    lacking,
    messages_alone,
    of_record,
    received,
    unchanged_under_way,
    waited_for,
)
from course.watch.events import ANY

from ..probes import serve
from ..shared.requests import DONE, PULL, PUSH, TURN, drawn, gradient_of
from .waiting import open_call

words = Words("""
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


def first(call):
    return drawn(call.arguments["seed"], call.arguments["count"])


def replay(call, factor=1.0, current=True):
    """The answers, each with its tag, and the parameters in the end, where steps are `factor` times as long.

    current: whether an answer has the parameters as they are then, or those of the beginning.
    """
    now, answers = first(call), []
    for number, (_, tag) in enumerate(call.arguments["script"]):
        if tag == PUSH:
            now = now - factor * call.arguments["rate"] * gradient_of(call.arguments, number)
        if tag == PULL:
            answers.append([PULL, now if current else first(call)])
    return answers, now


def due(call, **changes):
    return replay(call, **changes)[0]


def answers_of(call):
    """What the workers got, in the order of the script."""
    return sorted((each for own in call.of("answers") for each in own), key=lambda each: each.number)


def where(call, place):
    if not place:
        return "The list of answers"
    pushes = sum(tag == PUSH for _, tag in call.arguments["script"][: answers_of(call)[place[0]].number])
    part = "The tag of" if place[1] == 0 else "A number in" if place[2:] else "What is in"
    return f"{part} the answer to PULL number {place[0]}, after {pushes} PUSH,"


ANSWERS = Same(lambda call: [[each.tag, each.values] for each in answers_of(call)], due, where)
MISTAKES = Mistakes(
    """
    answers-with-the-first: Each PULL is answered with the parameters of the beginning. Answer with them as they are
    now: what has been pushed so far should be in them.

    divided-by-workers: Each gradient is divided by the number of workers. The server takes it as it comes: parameters
    -= rate * gradient.

    gradient-not-subtracted: The parameters move with the gradient, which points uphill.

    rate-forgotten: Each gradient is taken whole: `rate` is missing.
    """,
    changed(
        due,
        answers_with_the_first={"current": False},
        divided_by_workers=[{"factor": lambda call: 1 / max(1, call.size - 1)}, {"factor": lambda call: 1 / call.size}],
        gradient_not_subtracted={"factor": -1},
        rate_forgotten={"factor": lambda call: 1 / call.arguments["rate"]},
    ),
)
RESULT = EachRankReturnsArray(lambda call: replay(call)[1], ranks=lambda call: [0])


def probes_anybody(log):
    """Whether a rank probes for any message, then asks for any, and so receives another rank's than it has probed."""
    pairs = pairwise(event for event in log if event["times"] is None)
    return any(
        (one["kind"], two["kind"]) == ("probe", "recv")
        and one["asked_source"] == two["asked_source"] == ANY
        and one["peer"] != two["peer"]
        for one, two in pairs
    )


@of_record
def outrun(call):
    wrong = RESULT(call)
    return words("probe-then-anybody") if wrong and probes_anybody(call.events[0]) else wrong


def broke_off(run):
    """Who waits for whom."""
    if run.state != "hang" or run.full:
        return None
    logs = [[event for event in log if event["tag"] != TURN] for log in run.of_call(run.reached)]
    server, *workers = map(open_call, logs)
    asking, waiting = (
        [rank for rank, call in enumerate(workers, 1) if call and call["kind"] == kind] for kind in ("send", "recv")
    )
    done = sum(event["tag"] == DONE and event["end"] is not None for log in logs[1:] for event in log)
    if not run.broken["turns"] and probes_anybody(logs[0]):  # with turns it went well
        return words("probe-then-anybody", run.report)
    if server is None:
        about = {"done": done, "workers": len(workers)}
        return words("gone-too-early", run.report, rank=min(asking + waiting), **about) if asking + waiting else None
    if server["kind"] == "send":
        return words("answer-nobody-asked-for", run.report, rank=server["peer"])
    if server["kind"] not in ("recv", "probe"):
        return None
    if done == len(workers) and run.broken["script"]:
        return words("never-goes", run.report, workers=done)
    if asking:
        return words("waits-for-one-worker", run.report, waited=server["peer"], rank=asking[0])
    return words("waits-for-all", run.report, rank=waiting[0]) if waiting else None


def cases(rng):
    """Workers that pull and push in all orders, often, never, and without a new pull; few parameters and many."""

    def call(workers, count, turns, *starts):
        script = [[worker, PULL] for worker in range(1, workers + 1) if worker != 2 or workers < 2]
        script += [[worker, PUSH] for worker in starts]
        # One has pulled, and pushes only when another has pushed five times.
        script += [[workers, tag] for tag in (PUSH, PULL, PUSH, PUSH, PULL, PUSH, PUSH)]
        script += [[1, PUSH], [1, PULL]] + ([] if workers == 1 else [[workers, PULL]])
        *early, late = rng.sample(range(1, workers + 1), workers)
        script += [*([each, DONE] for each in early), [late, PUSH], [late, PULL], [late, DONE]]
        return {"count": count, "rate": rng.uniform(0.1, 0.9), "turns": turns, "script": script}

    return [
        ([0, 1, 2, 3], call(3, 3, True, 3, 1), call(3, 5000, True)),
        ([2, 0, 3], call(2, 3, True, 1), call(2, 5000, True)),
        ([3, 1], call(1, 5000, True)),
        ([1], {"count": 3, "rate": 0.5, "turns": True, "script": []}),
        ([3, 1, 0, 2], call(3, 5000, False), call(3, 3, False, 2, 3)),
        ([1, 3, 2], call(2, 3, False)),
    ]


AT_ONCE = "a PULL is answered at once, to this worker only, with the parameters [P] as they are now, with tag PULL"
IN_THE_END = "the parameters are returned when all workers are done; with no workers, a copy of them"
ANYBODY = "requests are served as they come, from whichever worker"
NOTHING_ELSE = (
    "nothing else is communicated. With an Isend, too, an array that is being sent stays as it is until the send is "
    "finished"
)
ARRAYS = "`parameters` stays as it is, and the result has memory of its own"
MESSAGES = first_of(messages_alone, unchanged_under_way, waited_for, received)
CHECK = CallCheck.of(
    "serve",
    serve.PROBE,
    cases,
    Criterion("answers", 1.5, AT_ONCE, ANSWERS, MISTAKES, on=given("turns")),
    Criterion("result", 0.5, IN_THE_END, RESULT, on=given("turns"), after=("answers",)),
    Criterion("any-order", 0.5, ANYBODY, outrun, on=lacking("turns"), after=("answers", "result")),
    Criterion("messages", 0.75, NOTHING_ELSE, MESSAGES, on=given("turns")),
    Criterion("arrays", 0.75, ARRAYS, arrays_stay, on=given("turns")),
    broke_off=broke_off,
    consolidation="The parameters live in one place, and no worker waits for another: a slow one only keeps itself "
    "waiting. The price is that a gradient may come after others have changed what it was computed for.",
)
