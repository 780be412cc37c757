"""The check of `Reducer`: steps of training beside one process, in buckets; and when each bucket left."""

from autograde.rubric import CallCheck, Criterion, DeviceCriterion, Errors, Words, first_of, of_record

from ..probes import Reducer
from ..shared.crooked_net import TRAINED
from .averages import AVERAGE, AVERAGE_OR_SUM, known, weights_stay
from .traffic import (
    APART,
    BYTES,
    TOGETHER,
    begins_early,
    every_step,
    in_the_pass,
    in_time,
    something_sent,
    unwaited,
    wrong_bytes,
)
from .training_plan import even, fits, on_gpu, plan, uneven

# Indices of trained parameters, from the last to the first; sums of bytes by bucket all differ.
BUCKETS = [[6, 5], [4], [3, 2], [1], [0]], [[6], [5, 4, 3], [2], [1, 0]], [[6, 5, 4], [3], [2, 1, 0]]
words = Words("""
sends-in-no-sync: In step {step}, {who:sends|send} something in a backward pass inside `no_sync`. Nothing is to be sent
there: the next pass outside sends the sum.

no-sync-never-ends: In step {step}, {who:sends|send} the first gradients when the backward pass is over. Before that
pass a block of `no_sync` had come to its end. In steps without one they leave during the pass.

no-sync-kept-by-an-error: In step {step}, {who:sends|send} the first gradients when the backward pass is over. Before
that pass an error had ended a block of `no_sync`. In steps without an error they leave during the pass. What comes
after your `yield` if the block ends by an error?
""")


def sizes(call):
    return [sum(BYTES[TRAINED[place]] for place in bucket) for bucket in call.arguments["buckets"]]


def up_to_bucket(call, n, event):
    """The gradients of a bucket and of those before it; of no all-reduce that is none of a bucket."""
    is_bucket = n < len(sizes(call)) and event["bytes"] == sizes(call)[n]
    return [TRAINED[place] for bucket in call.arguments["buckets"][: n + 1] for place in bucket] if is_bucket else ()


@of_record
def unsent(call):
    """Nothing is sent in `no_sync`."""
    for rank, number, step in every_step(call):
        if step.inside:
            return words.on_ranks("sends-in-no-sync", [rank], step=number)
    return None


@of_record
def goes_on(call):
    """Who sends during the pass of the first step, before any block, does so behind blocks of `no_sync`, too."""
    first = {rank for rank, number, step in every_step(call) if number == 0 and in_the_pass(step)}
    for rank, number, step in every_step(call):
        if rank in first and step.reduces and not in_the_pass(step):
            key = "no-sync-kept-by-an-error" if number == call.arguments["broken"] else "no-sync-never-ends"
            return words.on_ranks(key, [rank], step=number)
    return None


def early(call):
    """The buckets that leave before all their gradients are there: facts for words, how many it has, and lacks."""
    found = []
    for rank, number, step in every_step(call):
        for n, (event, by_then) in enumerate(step.reduces):
            lacking = {*up_to_bucket(call, n, event)} - {*(by_then or [])}
            if by_then is not None and lacking:
                found.append(({"step": number, "rank": rank, "n": n}, len(call.arguments["buckets"][n]), len(lacking)))
    return found


def sent_too_early(call):
    return next((facts for facts, *_ in early(call)), False)


def one_hook_too_early(call):
    """Each of them lacks the one gradient that comes next, also where a bucket has one only."""
    return {lacking for *_, lacking in early(call)} == {1} and any(has == 1 for _, has, _ in early(call))


def nothing_sent_beside(call):
    return call.arguments["beside"] and something_sent(call) is not None


def ended_by_an_inner_block(call):
    return call.arguments["nested"] and unsent(call) is not None


EARLY = """
hook-before-accumulation: A bucket is sent when the last of its gradients has not been accumulated yet. Your hook is
called before the new gradient is in `.grad`. Which one is called after that?

sent-too-early: In step {step}, rank {rank} sends all-reduce number {n} before all gradients in it have been
accumulated. When is a bucket complete?

shared-between-reducers: While another reducer, of another module, has sent and not yet finished, no rank sends
anything; alone, the reducer sends. What belongs to this object alone, and what do all objects of the class share?
"""
NO_SYNC = """
no-sync-counted: In step {step}, rank {rank} sends all-reduce number {n} before all gradients in it have been
accumulated. Before that there were passes inside `no_sync`. What do you count in these?

inner-block-ends-all: Where one block of `no_sync` stands in another, and the inner one is left, the reducer sends
again. The outer block is not over: what was there before the inner one?
"""


def with_no_sync(arguments):
    return even(arguments) and any(arguments["steps"])


def at_once(arguments):
    return even(arguments) and not any(arguments["steps"])


def alone(arguments):
    return at_once(arguments) and not arguments["beside"]


def cases(rng):
    """Graphs that are the same, and another reducer at work; passes in `no_sync`, with an error, and with a block in a
    block; graphs that differ, where a rank may be lost with the run; a rank without any gradient."""

    def call(network, number, *steps, **more):
        return plan(network, *steps, buckets=BUCKETS[number], **more)

    yield 2, call("quick", 1, 0, 0), call("late", 0, 0, 0, left=True), call("late", 2, 0, 0, beside=True)
    yield 4, call("late", 2, 0, 0), call("quick", 0, 0, 0)
    yield 2, call("quick", 1, 0, 2, 1, 0, broken=2), call("late", 2, 0, 2, 0, nested=True)
    yield 3, call("late", 0, 0, 2, 0, broken=1)
    yield 4, call("late", 0, 0, 0, 0, crooked=True), call("late", 2, 0, 0, crooked=True)
    yield 3, call("late", 2, 0, 0, left=True, crooked=True), call("quick", 1, 0, 0, crooked=True)
    yield 2, call("quick", 2, 0, idle=rng.randrange(2))


IN_TIME = in_time(up_to_bucket)
CHECK = CallCheck.of(
    "Reducer",
    Reducer.PROBE,
    cases,
    Criterion(
        "average",
        1.5,
        "when `finish()` returns, `.grad` of each trained parameter is the average, also while another reducer is at "
        "work",
        first_of(TOGETHER, weights_stay, something_sent, AVERAGE),
        known(
            EARLY,
            hook_before_accumulation=one_hook_too_early,
            sent_too_early=sent_too_early,
            shared_between_reducers=nothing_sent_beside,
        ),
        on=at_once,
    ),
    Criterion(
        "buckets",
        1.75,
        "each bucket is sent as soon as it is complete and those before it are sent, by one all-reduce, and nothing is "
        "waited for before `finish()`",
        first_of(something_sent, wrong_bytes("other-bucket-bytes", sizes), begins_early, unwaited, IN_TIME),
        on=alone,
    ),
    Criterion(
        "no-sync",
        1,
        "in a block of `no_sync` nothing is sent; after it, also after one that an error has ended, the sums are sent",
        first_of(TOGETHER, weights_stay, unsent, something_sent, AVERAGE_OR_SUM, goes_on),
        known(NO_SYNC, inner_block_ends_all=ended_by_an_inner_block, no_sync_counted=sent_too_early),
        on=with_no_sync,
        after=("average", "buckets"),
    ),
    Criterion(
        "order",
        1.5,
        "all of this also holds where ranks use their parameters in another order, or not all of them, or none",
        first_of(TOGETHER, weights_stay, something_sent, AVERAGE_OR_SUM, IN_TIME),
        known(),
        on=uneven,
        after=("average", "buckets"),
    ),
    DeviceCriterion(0.25, "it works on a module that is on a GPU"),
    repeats=False,
    fits=fits,
    errors=Errors(
        """
        frozen-counted: An error on {who}, where a parameter is looked up: {error}. The numbers in `buckets` count
        trained parameters only; a module may have others, too.
        """,
        frozen_counted="^(KeyError|IndexError)",
    ),
    broke_off=APART,
    gpu_case=on_gpu(crooked=True, buckets=BUCKETS[0]),
    consolidation="Buckets leave in one order on all ranks, whatever order their gradients come in: that is what lets "
    "ranks with different graphs meet. The rest of DistributedDataParallel is bookkeeping: what is complete, gone, to "
    "be sent.",
)
