"""Whether a collective is waited for before its result is read: as a judge, and as the sign of a mistake."""

from math import inf

from autograde.rubric import Ranks, Words, of_record
from course.watch.notes import note_of, without_notes

NOT_WAITED_FOR = """
not-waited-for: {who:reads|read} the result of a collective call, and nothing waits for it before. Until then it holds
whatever was in that memory. What does the handle offer that the call returns?
"""
words = Words(NOT_WAITED_FOR)


def not_waited_for(call):
    """The ranks that have not waited by the note "entered", or at all if there is none, as facts for words; None of a
    single rank, which need not."""
    late = []
    for rank, log in enumerate(call.notes):
        entered = next((event["start"] for event in log if note_of(event) == "entered"), inf)
        if any(event["waited"] is None or event["waited"] > entered for event in without_notes(log)):
            late.append(rank)
    if call.size == 1:
        return None
    return {"who": Ranks(late)} if late else False


@of_record
def waited_for(call):
    late = not_waited_for(call)
    return words("not-waited-for", **late) if late else None
