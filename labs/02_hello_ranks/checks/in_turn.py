"""The check of `in_turn`."""

from itertools import pairwise

from autograde.rubric import (
    CallCheck,
    Criterion,
    Same,
    Words,
    first_of,
    messages_between,
    of_call,
    of_record,
    of_seen,
    on_ranks,
    too_large,
    traffic,
    unbuffered,
)

from ..probes import in_turn

CLOCKS = 0.01  # seconds by which the clocks of two nodes may differ
TOKEN = 100  # bytes of a message, at most

words = Words("""
action-not-once: On rank {rank} of {size}, `action` is called {n:time}. Every rank calls its own action exactly once.

nobody-waits: The ranks exchange nothing{seen}. A rank cannot know that the one before it is done unless it is told. A
sleep only guesses how long the others take.

passed-on-too-early: Rank {late} begins its action {early} ms before rank {rank} is done with its own, although rank
{rank} sends it a message. At which moment is it this rank's turn to pass the word on?

word-not-received: Rank {late} begins its action {early} ms before rank {rank} is done with its own. Rank {rank} sends
it a message, which rank {late} has not received by then. Which call waits for a message?

out-of-turn: Rank {late} begins its action {early} ms before rank {rank} is done with its own. What does rank {late}
wait for?
""")


def one_after_the_other(call):
    times, nothing = call.of("actions"), not any(call.events)
    for rank, spans in enumerate(times):
        if len(spans) != 1:
            return words("action-not-once", rank=rank, size=call.size, n=len(spans))
    overlaps = [before[0][1] - after[0][0] for before, after in pairwise(times)]
    rank = next((rank for rank, seconds in enumerate(overlaps) if seconds > CLOCKS), None)
    if rank is None:
        return words("nobody-waits", seen="", absent=True) if call.size > 1 and nothing else None
    if nothing:
        return words("nobody-waits", seen=f", and rank {rank + 1} begins before rank {rank} is done")
    sent = traffic(call.events).sends[rank, rank + 1]
    received = any(event["kind"] in ("recv", "sendrecv") for event in call.before_note(rank + 1, in_turn.BEGINS))
    key = "out-of-turn" if not sent else "passed-on-too-early" if received else "word-not-received"
    return words(key, rank=rank, late=rank + 1, early=round(1000 * overlaps[rank]))


@of_record
def short_words(call):
    return too_large(traffic(call.events), TOKEN, "", 'It has nothing to say but "your turn".')


def next_ranks(call):
    return {(rank, rank + 1) for rank in range(call.size - 1)}


def cases(rng):
    """All ranks, some in another order, two and one; rank 0 late; with short results and long ones. Then with sends
    that wait."""

    def case(ranks, *long, **more):
        calls = [{"long": each, "results": [rng.randint(10, 99) for _ in ranks], **more} for each in long]
        return {"ranks": ranks, "calls": calls, "late": 0}

    kept = case([0, 1, 2, 3], False, True), case([2, 0, 3], True), case([1, 3], False), case([2], True)
    waits = {"sends_wait": True}
    return [*kept, case([3, 1, 0, 2], True, False, **waits), case([0, 3, 1], False, **waits)]


TURNS = Criterion(
    "turns",
    1,
    "`action` is called once on each rank; on rank r + 1, only after it has returned on rank r. Rank r + 1 learns that "
    "from a message",
    one_after_the_other,
)
SAME = Same(of_seen("value"), of_call("results"), on_ranks("the returned result of `action`"))
RESULT = Criterion("result", 0.25, "each rank returns what `action` returned on it", SAME)
MESSAGES = Criterion(
    "messages",
    0.5,
    "messages go from rank r to rank r + 1 only, one each, of at most 100 bytes; no collective calls. A pickled number "
    "or None is far shorter",
    first_of(messages_between(next_ranks, "a rank and the next one", least=1), short_words),
    after=("turns",),
)
CHECK = CallCheck.of(
    "in_turn",
    in_turn.PROBE,
    cases,
    TURNS,
    RESULT,
    MESSAGES,
    unbuffered(0.25, TURNS, RESULT),
    consolidation="A receive is also a way to wait: rank r + 1 goes on when rank r says so, and no rank keeps the "
    "others waiting. The program itself, not the clock, decides who is next.",
)
