"""The check of `work`: workers beside a server that notes what they ask for."""

from types import MappingProxyType

from autograde.rubric import CallCheck, Criterion, Words, alike, buffer_messages, first_of, messages_between

from ..probes import work
from ..shared.requests import DONE, PULL, PUSH, gradient_at, parameters_of
from .waiting import open_call

NAMES = MappingProxyType({PULL: "PULL", PUSH: "PUSH", DONE: "DONE"})

words = Words("""
pulls-only-once: Rank {rank} sends {sent}. It asks for the parameters once, so all its gradients but the first are
computed with old ones.

no-done: Rank {rank} sends {sent}, and returns. How does the server know that nothing more comes from it?

other-requests: Rank {rank} sends {sent}, where {n:step} are asked for. Expected is {due}.

waits-before-it-asks: Rank {rank} waits for a message from rank 0, and has not asked for any. Who sends the first
message?

waits-for-thanks: Rank {rank} waits for an answer to its PUSH. A gradient is not answered.

other-bytes: Rank {rank} sends a {tag} of {bytes:byte}, where {due} are expected: a PUSH has {count} float64 as they are
in memory, and all else is said by the tag.

pushes-a-step: Rank {rank} pushes something else than what `gradient` returned for the parameters pulled last: number 0
is {actual}, where the gradient is {due:.6g}.

gradient-of-others: Rank {rank} calls `gradient` with other parameters than those it pulled last.

gradient-calls: Rank {rank} calls `gradient` {n:time} in {steps:step}. Once a step is enough, and each call is a pass
over a batch.
""")


def workers(call):
    """Rank, requests and steps of each worker."""
    return [(rank, own, call.arguments["steps"][rank]) for rank, own in enumerate(call.seen[0].requests) if rank]


def in_words(tags):
    return ", ".join(NAMES.get(tag, str(tag)) for tag in tags[:12]) or "nothing"


def in_turn(call):
    for rank, requests, steps in workers(call):
        tags, due = [each.tag for each in requests], [PULL, PUSH] * steps + [DONE]
        about = {"rank": rank, "sent": in_words(tags), "n": steps, "due": in_words(due)}
        if steps > 1 and tags in ([PULL, *[PUSH] * steps, DONE], [PULL, *[PUSH] * steps]):
            return words("pulls-only-once", **about)
        if tags != due:
            return words("no-done" if tags == due[:-1] else "other-requests", **about)
    return None


def gradients(call):
    for rank, requests, steps in workers(call):
        asked, pushed = call.seen[rank].asked, [each.values for each in requests if each.tag == PUSH]
        if len(asked) != steps:
            return words("gradient-calls", rank=rank, n=len(asked), steps=steps)
        for number, (at, values) in enumerate(zip(asked, pushed, strict=False)):
            pulled = parameters_of(call.arguments, rank, number)
            if not alike(at.entries, pulled):
                return words("gradient-of-others", rank=rank)
            if values.is_array and not alike(values.entries, due := gradient_at(pulled)):
                return words("pushes-a-step", rank=rank, actual=[*values.entries, None][0], due=due[0])
    return None


def sizes(call):
    for rank, requests, _ in workers(call):
        for each in requests:
            due = 8 * call.arguments["count"] * (each.tag == PUSH)
            if each.bytes != due:
                about = {"tag": in_words([each.tag]), "bytes": each.bytes, "count": call.arguments["count"]}
                return words("other-bytes", rank=rank, due=due, **about)
    return None


def fits(case, arguments, seen):
    """Whether rank 0 says what came from each rank, in arrays as long as the messages."""
    arrays = [each for own in seen.requests for each in own if each.values.is_array]
    return len(seen.requests) in (0, len(case["ranks"])) and all(
        each.values.shape == [each.bytes // 8] for each in arrays
    )


def with_the_server(call):
    return [pair for worker in range(1, call.size) for pair in ((0, worker), (worker, 0))]


def broke_off(run):
    """A worker that waits for what nobody sends."""
    if run.state != "hang" or run.full:
        return None
    for rank, log in enumerate(run.of_call(run.reached)):
        waiting, sent = open_call(log), [event["tag"] for event in log if event["kind"] in ("send", "sendrecv")]
        if rank and waiting and waiting["kind"] == "recv" and sent[-1:] in ([], [PUSH]):
            return words("waits-for-thanks" if sent else "waits-before-it-asks", run.report, rank=rank)
    return None


def cases(rng):
    """One, two and three workers with different numbers of steps, also none; few parameters and many."""
    described = [
        ([0, 1, 2, 3], (3, 4, 0, 2), (1500, 1, 2, 3)),
        ([2, 0, 3], (3, 3, 2)),
        ([3, 1], (2000, 3)),
        ([3, 1, 0, 2], (4, 2, 5, 0), (3, 0, 1, 3)),
        ([1, 3], (2, 4), (2500, 2)),
    ]
    return [
        (ranks, *({"count": count, "steps": [0, *steps]} for count, *steps in calls)) for ranks, *calls in described
    ]


TURNS = (
    "`steps` times (perhaps 0), it pulls the parameters, computes a gradient and pushes it; at the end, it sends DONE"
)
OF_LAST = "`gradient` is called once a step: each gradient is that of the parameters pulled last"
BUFFERS = (
    "messages are buffers of float64 with tags PULL, PUSH and DONE, to and from rank 0 only; an array that is being "
    "sent stays as it is until the send is finished"
)
BETWEEN = messages_between(with_the_server, "a worker and the server", most=1000)
CHECK = CallCheck.of(
    "work",
    work.PROBE,
    cases,
    Criterion("requests", 0.75, TURNS, in_turn),
    Criterion("gradients", 0.75, OF_LAST, gradients, after=("requests",)),
    Criterion("messages", 0.5, BUFFERS, first_of(BETWEEN, buffer_messages, sizes)),
    broke_off=broke_off,
    fits=fits,
    inputs=("steps",),
    consolidation="A worker knows the server and nobody else: how many others there are, and how fast they are, does "
    "not matter to it. The parameters that it works with may be old when its gradient arrives.",
)
