"""The check of `prefetched`: order, what is fetched while a batch is in use, errors, and threads that stay."""

from autograde.rubric import CallCheck, Criterion, Same, Words, first_of, given

from ..probes import prefetched

words = Words("""
two-threads-in-next: Two threads call `next` of the loader at the same time. Most loaders cannot do that, and if they
can, the batches are no longer in order.

no-end: After the last batch, {instead}.

fetched-by-the-consumer: The thread that uses the batches has fetched {own} of them itself. While it fetches, it cannot
compute. Who else could do it?

not-far-enough: With depth = {depth}, fewer than {due} further batches were fetched while a batch was in use, and none
came within seconds. What does your thread wait for?

too-far: With depth = {depth}, {most} batches were fetched ahead of the one in use. They all take memory, and a
loader may have no end. What makes your thread wait?

error-lost: The loader raised an error, and whoever uses the batches does not hear of it: {instead}. An error in a
thread ends that thread alone.

error-too-early: The loader raised an error at its batch {fails}, and of the batches before it {got} came. They were
good: they have to come first.

another-error: The loader's error does not come out as it is. Raise the very same one.

thread-left-behind: Seconds after {when}, there is still {n:thread} of yours. What does it wait for, and who tells it
to stop?

close-waits-forever: The consumer stopped early, and `close` of your generator does not return. Your code waits there
for something that never comes: what does the thread wait for at that moment?
""")
ORDER = "the batches come in the loader's order, each once, and then it ends"
AHEAD = (
    "while a batch is in use, another thread fetches the next `depth`, where there are so many, and at most one more"
)
ERROR = "an error of the loader is raised as it is, after all batches before it"
THREADS = (
    "no thread stays: at the end, after an error, and when the consumer stops early, also with a loader without an end"
)


def fails(arguments):
    """Whether the loader raises an error."""
    return arguments["fails"] is not None


def alone(call):
    return words("two-threads-in-next") if call.seen[0].together else None


def ends(call):
    """After the last batch it ends."""
    ended = call.seen[0].ended
    return None if ended == "the batches just end" else words("no-end", instead=ended)


def in_background(call):
    """Another thread fetches, as far as it should and no further."""
    depth, seen = call.arguments["depth"], call.seen[0]
    if seen.own:
        return words("fetched-by-the-consumer", own=seen.own)
    if seen.behind:
        return words("not-far-enough", depth=depth, due=depth)
    return words("too-far", depth=depth, most=seen.most) if seen.most > depth + 1 else None


def error_comes(call):
    """The loader's own error comes, after the batches before it."""
    due, got, ended = call.arguments["fails"], len(call.seen[0].got), call.seen[0].ended
    if ended == "another error is raised":
        return words("another-error")
    if ended != "an error is raised":
        return words("error-lost", instead=ended)
    return words("error-too-early", fails=due, got=got) if got < due else None


def no_thread(call):
    """No thread stays."""
    seen, stops = call.seen[0], call.arguments["stops"]
    if seen.own:
        return words("fetched-by-the-consumer", own=seen.own)
    if seen.ended == "waits in close":
        return words("close-waits-forever")
    when = "the consumer stopped early" if stops else "the error" if fails(call.arguments) else "the end"
    return words("thread-left-behind", n=seen.left, when=when) if seen.left else None


def batches(call):
    """The numbers of the batches that are to come."""
    ends = [call.arguments[name] for name in ("count", "fails", "stops") if call.arguments[name] is not None]
    return [call.arguments["first"] + place for place in range(min(ends))]


def where(call, place):
    return f"The number in batch {place[0]} that you yield" if place else "What you yield"


GOT = Same(lambda call: call.seen[0].got, batches, where)


def all_came(call):
    """Batches came, so that there is something to judge; those before an error are judged with it."""
    return None if fails(call.arguments) else GOT(call)


def cases(rng):
    """Loaders with an end, more depth than batches, none at all; errors; no end, and a consumer who stops."""

    def call(count, depth, fails=None, stops=None):
        return {"first": rng.randrange(10, 1000), "count": count, "depth": depth, "fails": fails, "stops": stops}

    whole = call(rng.randint(7, 10), 2), call(rng.randint(4, 6), 1), call(3, rng.randint(4, 6)), call(0, 2)
    broken = call(9, 2, fails=rng.randint(3, 5)), call(4, rng.randint(2, 3), fails=0)
    stopped = call(None, 2, stops=rng.randint(2, 4)), call(rng.randint(12, 15), 3, stops=1)
    yield {"calls": [*whole, *broken, *stopped]}


CHECK = CallCheck.of(
    "prefetched",
    prefetched.PROBE,
    cases,
    Criterion("order", 0.5, ORDER, first_of(alone, ends, GOT), on=given(fails=None, stops=None)),
    Criterion("ahead", 1, AHEAD, first_of(in_background, GOT), on=given(fails=None), after=("order",)),
    Criterion("error", 0.5, ERROR, first_of(error_comes, GOT), on=fails),
    Criterion("threads", 1, THREADS, first_of(no_thread, all_came), after=("order", "ahead")),
    repeats=False,
    consolidation="Whoever starts a thread has to say how it ends, in each way in which the work may end.",
)
