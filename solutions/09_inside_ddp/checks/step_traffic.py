"""What the ranks sent in a step, how much, in which order, and when: read off the record of their calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.collectives import NAMES, deadlock, named
from autograde.verdicts.judged import Run
from course.watch.notes import note_of
from course.world.report import name_ranks

from .crooked_net import FROZEN_BYTES, LAYER
from .training_steps import BACK, DONE, OVER, PASS, STEP

# Subjects of diagnoses: all-reduces that leave too early, and late ones behind an error inside `no_sync`.
EARLY, AFTER_ERROR = "early", "after an error"

finding = Findings("""
other-order-by-rank 3
The ranks' all-reduces do not belong together: from the first that differs on, rank {one} sends {first} bytes, and rank
{other} {second} bytes. The n-th all-reduce of a rank meets the n-th one of the others, whatever is in it. Does a rank
leave one out, or take them in another order?

other-type-by-rank 3
In all-reduce number {n}, rank {one} sends {first} and rank {other} {second}. Of which type are the zeros that stand for
a gradient that is not there?

other-sizes 1.5
In step {step}, {who} reduces {actual} bytes, call by call. Expected are {expected} bytes, in any order: one all-reduce
for each trained parameter, of its gradient.

one-gradient-again 3
In step {step}, {who} makes {n} all-reduces, all of {bytes} bytes: the gradient of one parameter, again and again. Which
parameter is a hook called for, and which does your code send?

frozen-averaged 1.5
In step {step}, {who} averages a gradient of `frozen`, too, which is not trained: {actual} bytes, call by call, where
{expected} are expected, in any order.

other-bucket-bytes 2
In step {step}, {who} reduces {actual} bytes, call by call. Expected are {expected} bytes, in this order: one all-reduce
for each bucket, of all its gradients.

sends-in-no-sync 2
On {who}, {op} is called in a backward pass inside `no_sync`. Nothing is to be sent there: the next pass outside sends
the sum.

averages-otherwise 1.5
The ranks call {ops}. Only all-reduces of gradients are expected.

nothing-sent 3
In step {step} no rank sends anything. How does a rank get to know the others' gradients?

shared-between-reducers 3
While another reducer, of another module, has sent and not yet finished, no rank sends anything in step {step}; alone,
the reducer sends. What belongs to this object alone, and what do all objects of the class share?

sent-after-backward 3
In step {step}, {who} sends its first gradients when its backward pass is over. Expected is that they leave as soon as
they are ready, while the backward pass works on the layers before.

no-sync-kept-by-an-error 3
In step {step}, {who} sends its first gradients when its backward pass is over. Before that pass an error had ended a
block of `no_sync`. In steps without an error they leave during the pass. What comes after your `yield` if the block
ends by an error?

sent-late 2
In step {step}, {who} could send all-reduce number {number} when the backward pass is through layer {layer}, and sends
it only {when}.

sent-too-early 3
In step {step}, {who} sends all-reduce number {number} when the backward pass is in layer {at}: not all gradients in it
have been accumulated by then. When is a bucket complete?

no-sync-counted 3
In step {step}, {who} sends all-reduce number {number} when the backward pass is in layer {at}: not all gradients in it
have been accumulated by then. Before that there were passes inside `no_sync`. What do you count in these?

waited-in-backward 2
On {who} the backward pass waits for an all-reduce (of {bytes} bytes) before it goes on. So nothing overlaps. Where does
it have to be waited for?

never-waited-for 2
On {who}, nothing waits for the all-reduce of {bytes} bytes that line {line} starts. When do you know that the sum is in
its place?
""")


@dataclass(frozen=True)
class StepLog:
    """What a rank called in one step. before: until its last backward pass begins. reduces: its all-reduces after that.
    others: its other calls. passed: for each all-reduce, the layers whose backward had begun by then, the last one
    last; None: the backward pass was over."""

    before: list[dict]
    reduces: list[dict]
    others: list[dict]
    passed: list[list[int] | None]
    back: float

    @property
    def sizes(self) -> list[int | None]:
        """Bytes of the all-reduces."""
        return [event["bytes"] for event in self.reduces]


# Of a rank and a step, for each all-reduce: the layers, in the order of the backward pass, of which the last one has to
# be through before it can leave; none where it can leave at the end only.
Ready = Callable[[int, StepLog], list[list[int]]]


def steps_of(log: Sequence[dict]) -> list[StepLog]:
    """The steps of a rank, as far as it came. log: with notes."""
    steps: list[StepLog] = []
    stage, layers = "", []
    for event in log:
        noted = note_of(event)
        if noted == OVER:
            break
        if noted == STEP:
            steps.append(StepLog([], [], [], [], 0.0))
            layers = []
        if noted is not None:
            if noted == BACK and steps:
                steps[-1] = StepLog(**{**vars(steps[-1]), "back": event["start"]})
            if noted.startswith(LAYER):
                layers.append(int(noted.removeprefix(LAYER)))
            else:
                stage = noted
        elif not steps:
            continue
        elif stage == STEP:
            steps[-1].before.append(event)
        elif stage in (PASS, BACK, DONE) and event["library"] == "torch" and event["kind"] == "allreduce":
            steps[-1].reduces.append(event)
            steps[-1].passed.append([*layers] if stage == PASS else None)
        else:
            steps[-1].others.append(event)
    return steps


def broken_off(run: Run) -> list[Finding]:
    """What a run means that did not come to its end: a deadlock, or an abort as sizes do not match."""
    sent = [[event for event in log if event["library"] == "torch"] for log in run.of_call(run.reached)]
    return out_of_step(sent, run.report) or (deadlock(sent, run.report) if run.state == "hang" else [])


def out_of_step(logs: Sequence[Sequence[dict]], report: str = "") -> list[Finding]:
    """A finding if two ranks' n-th calls are all-reduces of different sizes or types."""
    for other, log in enumerate(logs[1:], 1):
        for place, (one, two) in enumerate(zip(logs[0], log, strict=False)):
            if one["dtype"] != two["dtype"] and None not in (one["dtype"], two["dtype"]):
                about = {"n": place, "one": 0, "other": other, "first": one["dtype"], "second": two["dtype"]}
                return [finding("other-type-by-rank", report, **about)]
            if one["bytes"] != two["bytes"]:
                first, second = (", ".join(str(event["bytes"]) for event in own[place:][:3]) for own in (logs[0], log))
                return [finding("other-order-by-rank", report, one=0, other=other, first=first, second=second)]
    return []


def traffic_mistakes(logs: Sequence[Sequence[dict]], sizes: Sequence[int], ordered: bool) -> list[Finding]:
    """What is wrong with what the ranks send.

    logs: by rank. sizes: bytes of the all-reduces expected in each step. ordered: whether in this order.
    """
    ranks = [steps_of(log) for log in logs]
    if others := [event for steps in ranks for step in steps for event in step.others]:
        return [finding("averages-otherwise", ops=named(others))]
    for rank, steps in enumerate(ranks):
        if inside := [event for step in steps for event in step.before]:
            return [finding("sends-in-no-sync", who=name_ranks([rank]), op=f"{NAMES['torch']}'s {inside[0]['op']}")]
    for number, of_ranks in enumerate(zip(*ranks, strict=True)):
        if not any(step.reduces for step in of_ranks):
            return [finding("nothing-sent", step=number)] if len(ranks) > 1 else []
        if found := out_of_step([step.reduces for step in of_ranks]):
            return found
        for rank, step in enumerate(of_ranks):
            if len(sizes) == len(step.sizes) > len({*step.sizes}) == 1 and not ordered:
                about = {"who": name_ranks([rank]), "n": len(sizes), "bytes": step.sizes[0]}
                return [finding("one-gradient-again", step=number, **about)]
            if (step.sizes if ordered else sorted(map(str, step.sizes))) != (
                [*sizes] if ordered else sorted(map(str, sizes))
            ):
                told = {"actual": in_words(step.sizes), "expected": in_words(sizes), "who": name_ranks([rank])}
                frozen = sorted(map(str, step.sizes)) == sorted(map(str, [*sizes, FROZEN_BYTES]))
                otherwise = "frozen-averaged" if frozen else "other-sizes"
                return [finding("other-bucket-bytes" if ordered else otherwise, step=number, **told)]
    return []


def sent_nothing(nothing: Finding, logs: Sequence[Sequence[dict]], beside: bool) -> Diagnosis:
    """What it means that nothing is sent. nothing: the finding that says so. logs: by rank. beside: whether another
    reducer was at work."""
    shared = finding("shared-between-reducers", step=0)
    if beside and not any(steps_of(log)[0].reduces for log in logs):
        return Diagnosis("sent", (shared,), otherwise=nothing)
    return Diagnosis("sent", ruled_out=frozenset({shared.key}), otherwise=nothing)


def in_words(sizes: Sequence[int | None]) -> str:
    """Numbers of bytes as a list."""
    return ", ".join(str(size) for size in sizes[:12]) + (", ..." if len(sizes) > 12 else "") if sizes else "no"


def left_waiting(logs: Sequence[Sequence[dict]]) -> list[Finding]:
    """A finding for an all-reduce that nobody waits for."""
    for rank, log in enumerate(logs):
        for event in log:
            if event["end"] is None:
                about = {"bytes": event["bytes"], "line": event["line"], "who": name_ranks([rank])}
                return [finding("never-waited-for", **about)]
    return []


def overlap_mistakes(
    logs: Sequence[Sequence[dict]],
    ready: Ready,
    inside: Sequence[int],
    broken: int | None = None,
    in_all: bool = True,
) -> list[Finding | Diagnosis]:
    """What is wrong with the moments at which all-reduces leave.

    That one leaves too early is a diagnosis, EARLY. inside: by step, the number of passes in `no_sync` before the last
    one. broken: the step in which an error ends such a block. in_all: whether what is sent is right, so that it is
    known when each one should leave.
    """
    steps = [(name_ranks([rank]), rank, *each) for rank, log in enumerate(logs) for each in enumerate(steps_of(log))]
    waited = [
        finding("waited-in-backward", who=who, bytes=event["bytes"])
        for who, _, _, step in steps
        for event, passed in zip(step.reduces, step.passed, strict=True)
        if passed is not None and event["waited"] is not None and event["waited"] < step.back
    ]
    for who, rank, number, step in steps:
        moments = ready(rank, step)
        pairs = [*enumerate(zip(moments, step.passed, strict=True))] if in_all else []
        for place, (layers, passed) in pairs:
            if passed is not None and (not layers or len(passed) < len(layers)):
                about = {"step": number, "who": who, "number": place, "at": (passed or ["-"])[-1]}
                counted = (finding("no-sync-counted", **about),) if inside[number] else ()
                ruled_out = frozenset() if counted else frozenset({"no-sync-counted"})
                return [*waited[:1], Diagnosis(EARLY, counted, ruled_out, finding("sent-too-early", **about))]
        if any(moments) and step.passed and all(passed is None for passed in step.passed):
            return [*waited[:1], *all_late(who, number, broken)]
        for place, (layers, passed) in pairs:
            # One layer more may have begun: what a hook on the gradient's way sees is not the very moment.
            if layers and (passed is None or len(passed) > len(layers) + 1):
                when = "when it is over" if passed is None else f"when it is in layer {passed[-1]}"
                about = {"step": number, "who": who, "number": place, "layer": layers[-1]}
                return [*waited[:1], finding("sent-late", when=when, **about)]
    return waited[:1]


def all_late(who: str, step: int, broken: int | None) -> list[Finding | Diagnosis]:
    """What it means that in a step, as in none before, a rank sends nothing until its backward pass is over. broken: as
    for `overlap_mistakes`."""
    after, kept = (finding(key, step=step, who=who) for key in ("sent-after-backward", "no-sync-kept-by-an-error"))
    if step != broken:
        return [after, Diagnosis(AFTER_ERROR, ruled_out=frozenset({kept.key}))]
    # In the first step, only other runs show whether it takes an error.
    return [kept if step else Diagnosis(AFTER_ERROR, (kept,), otherwise=after)]
