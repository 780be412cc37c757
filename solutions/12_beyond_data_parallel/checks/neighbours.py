"""The messages of a pipeline: between neighbours, one for each micro-batch, and sent in time."""

from autograde.rubric import Words, messages_between, of_record
from course.watch.notes import note_of

words = Words("""
outputs-sent-at-the-end: Rank {rank} begins with its {way} pass {number} before it has sent what came of the one before
it. The next stage waits meanwhile: nothing runs at once, and this is no pipeline.

inputs-awaited-at-once: Rank {rank} has waited for {n:message} before it begins its {way} pass {number}. It could have
begun with the first that came: meanwhile the stages behind it have nothing to do, and nothing runs at once.

not-contiguous: {who} cannot send what a stage gave: torch sends tensors only that are contiguous, and a stage may give
others.

receives-not-contiguous: {who} cannot receive into the tensor that it gives to torch, which is not contiguous. What a
stage gives may lie in memory in another order than its numbers are read, and a tensor made like it does, too.
""")


def to_neighbours(way):
    """Judge: a rank sends one message for each micro-batch to the next rank, or, going back, to the one before it."""
    step = 1 if way == "forward" else -1
    return messages_between(
        lambda call: [(rank, rank + step) for rank in range(call.size) if 0 <= rank + step < call.size],
        "neighbours, in one direction,",
        least=lambda call: len(call.arguments["rows"]),
        most=lambda call: len(call.arguments["rows"]),
        library="torch",
    )


def in_time(way):
    """Judge: a pass begins when what came of the one before it is sent, and before what comes later is waited for."""

    @of_record
    def judge(call):
        last = call.size - 1 if way == "forward" else 0
        for rank, log in enumerate(call.notes):
            begun = sent = 0
            ends = [event["end"] for event in log if event["kind"] == "recv" and event["end"] is not None]
            for event in log:
                sent += event["kind"] == "send"
                if not (note_of(event) or "").startswith(way):
                    continue
                about = {"rank": rank, "way": way, "number": begun}
                if (came := sum(end < event["start"] for end in ends)) > begun + 1:
                    return words("inputs-awaited-at-once", n=came, **about)
                if rank != last and sent < begun:
                    return words("outputs-sent-at-the-end", **about)
                begun += 1
        return None

    return judge


def not_contiguous(run):
    """What it means that a tensor could not be sent, or received into."""
    for rank, error in ((rank["rank"], rank["error"] or {}) for rank in run.ranks):
        if "must be contiguous" in error.get("message", "").lower():
            key = "receives-not-contiguous" if "recv" in (error["source"] or "") else "not-contiguous"
            return words.on_ranks(key, [rank], run.report)
    return None
