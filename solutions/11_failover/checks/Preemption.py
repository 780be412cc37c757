"""The check of `Preemption`: the signals of a block, and what the ranks make of them together."""

from autograde.rubric import (
    CallCheck,
    Criterion,
    DeviceCriterion,
    Mistakes,
    Same,
    Words,
    changed,
    first_of,
    named,
    nothing_starts_or_ends,
    of_record,
    of_seen,
    on_ranks,
)

from ..probes import Preemption

SIGNALS = Preemption.SIGNALS
words = Words("""
gives-no-self: `with Preemption(...) as preemption` gives a value of type {actual}, not the Preemption itself.

taken-too-early: `Preemption(...)` takes {actual} already, before `with` begins the block. What comes until then belongs
to the handler from before.

other-signals-taken: In the block, there is another handler than before for {actual}. The signals that were named are
{names}.

handler-raises: When the signal comes, {actual} is raised in the middle of what the rank is doing. The handler is to
take a note, and nothing else: the step has to come to its end.

handler-does-more: When the signal comes, {actual}. In the block it is only noted: a handler runs between any two
instructions.

handler-ends-the-rank: When the signal comes, the rank ends at once, and whoever waits for it waits in vain. Who has
saved its step?

handler-communicates: A deadlock: the rank that was signalled makes a collective call that no other rank makes. In the
handler, nobody else knows of its signal: so that cannot communicate. In `agreed()`, all ranks have to make the call,
signalled or not.

signalled-leaves-alone: A deadlock: the rank that was signalled returns from `agreed()` without the all-reduce in which
{who:waits|wait}. How are they to hear of its signal?

handlers-left: After a block{fails}, {there}, and not the handler from before the block.

exception-swallowed: An exception in the block has disappeared. The caller has to see it.

agreed-otherwise: After {sent}, the calls of `agreed()` say {actual} on rank {rank}; expected is {expected}.

not-one-all-reduce: {calls:call} of `agreed()` make {n:call} of {ops} on a rank, with {nbytes:byte} at most. Each should
make one all-reduce of one number, and nothing else.
""")


KEYS = "gives-no-self", "taken-too-early", "other-signals-taken", "handler-raises", "handler-does-more"


def noted(call):
    """The signals that were named are taken in the block, and no others; nothing happens in the moment of a signal."""
    names = call.arguments["signals"]
    due = {"entered": "", "early": [], "taken": names, "raised": [], "besides": ""}
    for seen in call.seen:
        for key, (name, expected) in zip(KEYS, due.items(), strict=True):
            if (actual := getattr(seen, name)) != expected:
                return words(key, actual=actual or "none", names=names)
    return None


def ended(call):
    """After the block all is as it was before."""
    if any(call.of("ended")):
        return words("exception-swallowed")
    left = [each for own in call.of("left") for each in own]
    fails = " that an exception has ended" if call.arguments["fails"] else ""
    return words("handlers-left", fails=fails, there=left[0]) if left else None


def sender_of(rounds):
    """Before which `agreed()` the signal comes, and to which rank; if to none, their number and None."""
    return next(((at, planned[0]) for at, planned in enumerate(rounds) if planned), (len(rounds), None))


def signalled(call):
    return sender_of(call.arguments["rounds"])[1]


def answers(call, hearing=None, once=False, before=False):
    """By rank. hearing: ranks that hear of a signal, if not all. once: whether they forget it. before: whether one came
    before the block."""
    rounds, first = range(len(call.arguments["rounds"])), sender_of(call.arguments["rounds"])[0]
    heard = [before or (at == first if once else at >= first) for at in rounds]
    return [heard if hearing is None or rank in hearing else [False for _ in heard] for rank in range(call.size)]


def agreed_otherwise(call, off):
    if off.what != "value":
        return None
    (first, sender), rank = sender_of(call.arguments["rounds"]), off.place[0]
    sent = "no signal" if sender is None else f"a signal to rank {sender} before call {first + 1}"
    about = {"actual": str(call.seen[rank].answers), "expected": str(answers(call)[rank]), "signalled": sender}
    return words("agreed-otherwise", rank=rank, sent=sent, **about)


AGREED = Same(of_seen("answers"), answers, on_ranks("`agreed()`", "call"), otherwise=agreed_otherwise)
MISTAKES = Mistakes(
    """
    each-rank-for-itself: Rank {signalled} was signalled, and only there `agreed()` says so. It would leave, and the
    others would wait for it.

    rank-0-decides: All ranks follow rank 0. Rank {signalled} was signalled, and nobody leaves.

    all-have-to-be-signalled: Rank {signalled} was signalled, and `agreed()` is True nowhere. One signalled rank is
    enough.

    forgets: `agreed()` was True, and later it is False again, though nobody has taken the signal back.

    remembers-another-block: Nobody was signalled in this block, and yet `agreed()` is True: a new Preemption knows of
    the signals of an older one.
    """,
    changed(
        answers,
        each_rank_for_itself=[{"hearing": lambda call: [signalled(call)], "once": once} for once in (False, True)],
        rank_0_decides={"hearing": lambda call: None if signalled(call) == 0 else []},
        all_have_to_be_signalled={"hearing": []},
        forgets={"once": True},
        remembers_another_block={"before": lambda call: call.number > 0},
    ),
)


@of_record
def one_all_reduce(call):
    """One in each `agreed()`, of one number."""
    calls = len(call.arguments["rounds"])
    for log in call.events:
        strange = any((event["library"], event["kind"]) != ("torch", "allreduce") for event in log)
        most = max((event["bytes"] or 0 for event in log), default=0)
        if strange or len(log) != calls or most > 8:
            about = {"calls": calls, "n": len(log), "ops": named(log) or "torch.distributed", "nbytes": most}
            return words("not-one-all-reduce", absent=not strange and len(log) < calls, **about)
    return None


def broke_off(run):
    """The handler ends its rank, or a signalled rank makes a call that others do not, or leaves out one."""
    sender = sender_of(run.broken["rounds"])[1]
    if run.state == "rank-died":
        return words("handler-ends-the-rank", run.report)
    if run.state != "hang" or run.full or sender is None:
        return None
    counts, waits = [len(log) for log in run.of_call(run.reached)], [rank["call"] for rank in run.ranks]
    if others := [rank for rank, number in enumerate(counts) if number > counts[sender]]:
        return words.on_ranks("signalled-leaves-alone", others, run.report)
    alone = counts[sender] > min(counts) or waits.count(waits[sender]) == 1 < len(waits)
    return words("handler-communicates", run.report) if alone else None


def block(rounds, *names, ignored=False, fails=False):
    """rounds: for each `agreed` the signal before it, [rank, name, whether in a collective], or None. names: of its
    signals, if not all. ignored: whether these are ignored before. fails: whether an exception ends it."""
    return {"signals": [*names] or [*SIGNALS], "rounds": rounds, "ignored": ignored, "fails": fails}


def cases(rng):
    """The last rank, or rank 0 alone; in a collective and between two; nobody; a block that fails."""

    def case(size):
        one, other = rng.sample(SIGNALS, 2)
        last, calm = size - 1, [None] * rng.randint(1, 2)
        calls = [block([*calm, [last, one, False], None, None]), block([None, None])]
        calls += [block([*calm, [0, other, False], None]), block([None, [last, other, True], None])]
        calls += [block([None], one, fails=True), block([[last, other, False], None], other, ignored=True)]
        return {"size": size, "calls": calls}

    return [case(size) for size in (4, 2, 3)]


NOTED = "in the block each of these signals is noted, and nothing else happens: no exception, output or communication"
ANSWERS = "`agreed()` is whether any rank has been signalled in the block, the same bool on all ranks"
ENDS = "after the block, each signal has the handler again that it had before the block"
ONE = "each call of `agreed()` makes exactly one all-reduce of one number"
DEVICE = 'the number that is reduced is on the current GPU if the group\'s backend is "nccl", else on the CPU'

CHECK = CallCheck.of(
    "Preemption",
    Preemption.PROBE,
    cases,
    Criterion("noted", 1, NOTED, noted),
    Criterion("agreed", 1, ANSWERS, AGREED, MISTAKES, after=("noted",)),
    Criterion("ends", 0.5, ENDS, ended, after=("noted",)),
    Criterion("all-reduce", 0.25, ONE, first_of(one_all_reduce, nothing_starts_or_ends), after=("agreed",)),
    DeviceCriterion(0.25, DEVICE),
    repeats=False,
    fits=lambda case, arguments, seen: len(seen.answers) == len(arguments["rounds"]),
    broke_off=broke_off,
    gpu_case=lambda rng: {"size": 2, "calls": [block([None])]},
    consolidation="A signal handler takes a note, and the program looks at it where it suits. One small all-reduce "
    "turns one rank's note into a decision of all.",
)
