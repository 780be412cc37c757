"""The all-reduces of a pass: how many, of how many bytes, and nothing else."""

from autograde.rubric import Words, named, of_record

from .groups import members_of

words = Words("""
communicates-needlessly: In the {way} pass of `{name}` the ranks call {ops}. There is nothing to be communicated in this
direction.

not-one-all-reduce: In the {way} pass of `{name}`, each rank calls {ops}. One all-reduce does it.

other-sizes-reduced: In the {way} pass of `{name}` the all-reduce carries {actual:byte} a rank, where {expected} are
enough: as many as the {what} has.
""")


def sent(call, rank):
    """The calls of a rank, each sum of the check's own f and g as one all-reduce."""
    as_sum, sums = {"kind": "allreduce", "op": "all_reduce"}, iter(getattr(call.seen[rank], "sums", ()))
    log = call.events[rank]
    return [{**event, **as_sum, "bytes": next(sums, 0)} if "object" in event["op"] else event for event in log]


def all_reduces(name, due, nbytes=None):
    """Judge: each rank that makes the call makes these, and communicates in no other way.

    name: of a call, that of the student's function or class. due: of a call, how many there may be, each number that
    will do; nothing is asked if there is none. nbytes: of a call, the bytes of each; None: any.
    """

    @of_record
    def judge(call):
        for rank in members_of(call) if call.size > 1 and due(call) else ():
            log, way = sent(call, rank), call.arguments["way"]
            about = {"name": name(call), "way": way, "ops": named(log) or "nothing"}
            strange = any((event["library"], event["kind"]) != ("torch", "allreduce") for event in log)
            if strange or len(log) not in due(call):
                key = "not-one-all-reduce" if 1 in due(call) else "communicates-needlessly"
                return words(key, absent=not log, **about)
            if nbytes and log and log[0]["bytes"] != (expected := nbytes(call)):
                about |= {"what": "output" if way == "forward" else "input", "expected": expected}
                return words("other-sizes-reduced", actual=log[0]["bytes"] or 0, **about)
        return None

    return judge
