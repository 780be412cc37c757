"""Calls that the first and the last rank alone make, and calls of theirs over other ranks."""

from autograde.rubric import Words

from ..shared import groups

words = Words("""
group-left-out: The call is made by ranks 0 and {last} alone, with a `group` of their own. But your code calls {op} over
{size:rank}, and the others never come. Which group does that call use?
""")


def members_of(call):
    """The ranks that make a call."""
    return groups.members_of(call.arguments, call.size)


def by_member(name):
    """One field of what was seen, by rank that makes the call."""
    return lambda call: [getattr(call.seen[rank], name) for rank in members_of(call)]


def on_members(what):
    """For `Same(where=...)`, of values by rank that makes the call: such as "On rank 3, entry 0 of what".

    what: of a call and the rest of the place, in words, what has the entries, and what is left of the place.
    """

    def where(call, place):
        text, entries = what(call, place[1:])
        if not place:
            return text
        entry = f"entry {entries[0]} of " if entries else ""
        return f"On rank {members_of(call)[place[0]]}, {entry}{text}"

    return where


def over_all_ranks(run):
    """What it means that a run broke off in which a call went to more ranks than make it."""
    for event in (event for log in run.of_call(run.reached) for event in log):
        if run.broken["ends"] and event["members"] and len(event["members"]) > 2:
            op = "all_reduce" if "object" in event["op"] else event["op"]  # that is how the check's own f and g sum
            return words("group-left-out", run.report, last=len(run.ranks) - 1, op=op, size=len(event["members"]))
    return None
