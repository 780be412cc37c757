"""What the ranks sent in each step, how much, in which order, and when: read off the record of their calls."""

from dataclasses import dataclass, field
from math import prod

from autograde.rubric import Words, named, of_record, once
from course.watch.notes import note_of

from ..shared.crooked_net import BY_COLUMNS, SHAPES
from ..shared.plan import BACK, DONE, OVER, PASS, READY, STEP
from .together import apart, together

BYTES = {name: 8 * prod(shape) for name, shape in SHAPES.items()}
ORDER = {
    "size-differs": "The n-th all-reduce of a rank meets the n-th one of the others, whatever is in it. Does a rank "
    "leave one out, or take them in another order?",
    "dtype-differs": "Of which type are the zeros that stand for a gradient that is not there?",
}
TOGETHER, APART = together(ORDER), apart(ORDER)
words = Words("""
nothing-sent: In step {step} no rank sends anything. How does a rank get to know the others' gradients?

one-gradient-again: In step {step}, {who:makes|make} {n} all-reduces, all of {bytes:byte}: the gradient of one
parameter, again and again. Which parameter is a hook called for, and which does your code send?

averages-otherwise: The ranks call {ops}. Only all-reduces of gradients are expected.

frozen-averaged: In step {step}, {who:averages|average} a gradient of `frozen`, too, which is not trained: {actual}
bytes, call by call, where {due} are expected, in any order.

other-sizes: In step {step}, {who:reduces|reduce} {actual} bytes, call by call. Expected are {due} bytes, in any order:
one all-reduce for each trained parameter, of its gradient.

other-bucket-bytes: In step {step}, {who:reduces|reduce} {actual} bytes, call by call. Expected are {due} bytes, in this
order: one all-reduce for each bucket, of all its gradients.

sent-after-backward: In step {step}, {who:sends|send} the first gradients when the backward pass is over. Expected is
that they leave as soon as they are ready, while the backward pass works on the layers before.

sent-late: In step {step}, {who} could send all-reduce number {n} when the gradient of `{name}` has been accumulated,
and sends it only when {when}.

waited-in-backward: On {who} the backward pass waits for an all-reduce (of {bytes:byte}) before it goes on. So nothing
overlaps. Where does it have to be waited for?
""")


@dataclass
class StepLog:
    """What a rank called in one step. inside: before its last pass begins. reduces: its all-reduces after that, each
    with the gradients that had been accumulated by then, or None where the pass was over. others: its other calls.
    ready: the gradients that the pass accumulated, in order. back: when it was over, in seconds."""

    inside: list = field(default_factory=list)
    reduces: list = field(default_factory=list)
    others: list = field(default_factory=list)
    ready: list = field(default_factory=list)
    back: float = 0.0


def steps_of(log):
    """The steps of a rank. log: with notes."""
    steps, stage = [], ""
    for event in log:
        noted = note_of(event)
        if noted and noted.startswith(READY):
            if stage == PASS:
                steps[-1].ready.append(noted.removeprefix(READY))
        elif noted == STEP or (steps and noted in (PASS, BACK, DONE, OVER)):
            stage = noted
            if stage == STEP:
                steps.append(StepLog())
            elif stage == BACK:
                steps[-1].back = event["start"]
        elif noted is None and stage not in ("", OVER):
            step = steps[-1]
            if stage == STEP:
                step.inside.append(event)
            elif (event["library"], event["kind"]) == ("torch", "allreduce"):
                step.reduces.append((event, [*step.ready] if stage == PASS else None))
            else:
                step.others.append(event)
    return steps


@once
def every_step(call):
    """Rank, number of the step, and what the rank called in it."""
    return [(rank, number, step) for rank, log in enumerate(call.notes) for number, step in enumerate(steps_of(log))]


@of_record
def something_sent(call):
    """In each step some rank sends, and more than one gradient."""
    for number in range(len(call.arguments["steps"])):
        steps = [step for _, each, step in every_step(call) if each == number]
        if not any(step.reduces or step.others for step in steps):
            return words("nothing-sent", step=number, absent=True)
    for rank, number, step in every_step(call):
        sizes = [event["bytes"] or 0 for event, _ in step.reduces]
        if len(sizes) == len(SHAPES) and len({*sizes}) == 1:
            return words.on_ranks("one-gradient-again", [rank], step=number, n=len(sizes), bytes=sizes[0])
    return None


def listed(sizes):
    """Numbers of bytes, in words."""
    return ", ".join(map(str, sizes[:12])) + ", ..." * (len(sizes) > 12) or "no"


def wrong_bytes(key, due, arranged=lambda sizes: sizes):
    """Judge: in each step these all-reduces are made on each rank, and nothing else is called.

    key: of the words for others. due: of a call, their bytes. arranged: the form in which they are compared.
    """

    @of_record
    def judge(call):
        others = [event for *_, step in every_step(call) for event in step.others]
        if others:
            return words("averages-otherwise", ops=named(others))
        right, frozen = arranged(due(call)), arranged([*due(call), BYTES[BY_COLUMNS]])
        for rank, number, step in every_step(call):
            sizes = arranged([event["bytes"] or 0 for event, _ in step.reduces])
            if sizes != right:
                about = {
                    "step": number,
                    "actual": listed(sizes),
                    "due": listed(right),
                    "absent": len(sizes) < len(right),
                }
                return words.on_ranks("frozen-averaged" if sizes == frozen else key, [rank], **about)
        return None

    return judge


one_for_each = wrong_bytes("other-sizes", lambda call: [*BYTES.values()], sorted)


def in_the_pass(step):
    """Whether something is sent before the backward pass is over."""
    return any(by_then is not None for _, by_then in step.reduces)


@of_record
def begins_early(call):
    """The first gradients leave during the pass."""
    for rank, number, step in every_step(call):
        if step.reduces and not in_the_pass(step):
            return words.on_ranks("sent-after-backward", [rank], step=number)
    return None


def in_time(parts):
    """Judge: all-reduces leave as soon as they can, in steps in which some leave during the pass. parts: of a call, the
    number of an all-reduce and its event, the gradients that have to be accumulated before; none if that is unknown."""

    @of_record
    def judge(call):
        for rank, number, step in every_step(call):
            for n, (event, by_then) in enumerate(step.reduces if in_the_pass(step) else ()):
                names = {*parts(call, n, event)}
                if not names or not names <= {*step.ready}:
                    continue
                complete = 1 + max(map(step.ready.index, names))
                if by_then is None or len(by_then) > complete:
                    when = f"`{by_then[-1]}` has its gradient, too" if by_then else "the pass is over"
                    about = {"step": number, "n": n, "name": step.ready[complete - 1], "when": when}
                    return words.on_ranks("sent-late", [rank], **about)
        return None

    return judge


@of_record
def unwaited(call):
    """Nothing is waited for before the pass is over."""
    for rank, _, step in every_step(call):
        for event, by_then in step.reduces:
            if by_then is not None and event["waited"] is not None and event["waited"] < step.back:
                return words.on_ranks("waited-in-backward", [rank], bytes=event["bytes"] or 0)
    return None
