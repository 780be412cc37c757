"""The check of `in_turn`."""

from __future__ import annotations

import random
from itertools import pairwise

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, first_of, of_record
from autograde.rubric.judges.messages import may_be_kept, messages_between, too_large
from autograde.rubric.judges.numbers import in_words
from autograde.rubric.words import Words, Wrong
from autograde.verdicts.traffic import traffic
from course.watch.notes import note_of

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

result-lost: Rank {rank} of {size} should return what its own `action` returned, which is {expected}. It returns
{actual}.
""")


def one_after_the_other(call: Call) -> Wrong | None:
    """Each rank's action runs once, and begins when that of the rank before has ended, which it has been told."""
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
    key = "out-of-turn" if not sent else "passed-on-too-early" if has_received(call, rank + 1) else "word-not-received"
    return words(key, rank=rank, late=rank + 1, early=round(1000 * overlaps[rank]))


def has_received(call: Call, rank: int) -> bool:
    """Whether a rank has received a message before its action."""
    began = next((event["start"] for event in call.notes[rank] if note_of(event) == in_turn.BEGINS), 0.0)
    received = [event for event in call.events[rank] if event["kind"] in ("recv", "sendrecv")]
    return any(event["end"] is not None and event["end"] <= began for event in received)


def own_result(call: Call) -> Wrong | None:
    """Each rank returns what its own action gave."""
    for rank, (value, expected) in enumerate(zip(call.of("value"), call.arguments["results"], strict=True)):
        if value.value != expected:
            return words("result-lost", rank=rank, size=call.size, expected=expected, actual=in_words(value))
    return None


@of_record
def short_words(call: Call) -> Wrong | None:
    """No message is larger than one that says nothing but whose turn it is."""
    return too_large(traffic(call.events), TOKEN, "", 'It has nothing to say but "your turn".')


def next_ranks(call: Call) -> set[tuple[int, int]]:
    """The messages that there are to be, as pairs (source, destination)."""
    return {(rank, rank + 1) for rank in range(call.size - 1)}


class InTurn(CallCheck):
    """One action after another, by a word passed from rank to rank."""

    todo, probe = "in_turn", in_turn.PROBE
    consolidation = (
        "A receive is also a way to wait: rank r + 1 goes on when rank r says so, and no rank keeps the others "
        "waiting. The program itself, not the clock, decides who is next."
    )
    criteria = (
        Criterion(
            "turns",
            1,
            "`action` is called once on each rank; on rank r + 1, only after it has returned on rank r. Rank r "
            "+ 1 learns that from a message",
            one_after_the_other,
            on=may_be_kept,
        ),
        Criterion("result", 0.25, "each rank returns what `action` returned on it", own_result, on=may_be_kept),
        Criterion(
            "messages",
            0.5,
            "messages go from rank r to rank r + 1 only, one each, of at most 100 bytes; no collective calls. A "
            "pickled number or None is far shorter",
            first_of(messages_between(next_ranks, "a rank and the next one", least=1), short_words),
            on=may_be_kept,
            after=("turns",),
        ),
        Criterion(
            "safe",
            0.25,
            "it also works where each send waits for its receive",
            first_of(one_after_the_other, own_result),
            on=lambda arguments: arguments["safe"],
            after=("turns", "result", "messages"),
        ),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """All ranks, some in another order, two and one; rank 0 late; with short results and long ones. Then with sends
        that wait."""

        def case(ranks: list[int], safe: bool, *long: bool) -> dict:
            calls = [{"safe": safe, "long": each, "results": [rng.randint(10, 99) for _ in ranks]} for each in long]
            return {"ranks": ranks, "calls": calls, "late": 0}

        cases = [case([0, 1, 2, 3], False, False, True), case([2, 0, 3], False, True), case([1, 3], False, False)]
        return [*cases, case([2], False, True), case([3, 1, 0, 2], True, True, False), case([0, 3, 1], True, False)]


CHECK = InTurn()
