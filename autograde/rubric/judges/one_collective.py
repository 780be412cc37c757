"""Judge of the one collective of torch.distributed that a call is to make."""

from __future__ import annotations

from collections.abc import Callable

from autograde.rubric.criterion import Call, of_record
from autograde.rubric.words import Words, Wrong
from autograde.verdicts.collectives import named

words = Words("""
one-row-would-do: In one call of your function, rank {rank} makes {n:call} of {op}. Each of them pays its latency anew.
What can be sent as one row?

other-collectives: In one call of your function, the ranks call {ops}. One {name}, and nothing else, is expected.

other-bytes-in-the-row: Rank {rank} brings {actual:byte} to its {name}, where {expected} are expected.
""")


def one_collective(kind: str, name: str, nbytes: Callable[[Call], int]) -> Callable[[Call], Wrong | None]:
    """Exactly one collective of this kind, of torch.distributed, and no other communication; one rank needs none.

    kind: as of `course.watch.events`. name: in words. nbytes: of a call, the bytes that a rank brings.
    """

    @of_record
    def judge(call: Call) -> Wrong | None:
        if call.size == 1:
            return None
        for rank, log in enumerate(call.events):
            kinds = [event["kind"] for event in log]
            if {*kinds} == {kind} and len(kinds) > 1:
                return words("one-row-would-do", rank=rank, n=len(kinds), op=log[0]["op"])
            if kinds != [kind] or log[0]["library"] != "torch":
                ops = named([event for each in call.events for event in each]) or "nothing"
                return words("other-collectives", ops=ops, name=name, absent=not kinds)
            if log[0]["bytes"] not in (None, nbytes(call)):
                about = {"actual": log[0]["bytes"], "expected": nbytes(call)}
                return words("other-bytes-in-the-row", rank=rank, name=name, **about)
        return None

    return judge


JUDGES = (one_collective,)
