"""What a step's forward and backward passes do on all ranks, as `autograde.probes.ddp_trace` noted them."""

from itertools import pairwise

from autograde.rubric import Words

SMALL = 64  # bytes of a reduction of a few numbers; gradients take more
FEW = 2  # such reductions in a step

words = Words("""
all-at-once: Several micro-batches are in memory at a time: in one forward pass, or as graphs that wait for one backward
pass. A micro-batch saves memory only if it is done with before the next one begins.

not-train-mode: The model was not in train mode while it was trained: dropout and BatchNorm then do what they do in an
evaluation.

forward-through-module: A forward pass goes to the wrapped module directly. DistributedDataParallel does not notice it,
so the ranks' gradients are never averaged.

never-synchronised: Every micro-batch ran without synchronisation, even the last one, so the ranks' models drift apart.

synchronised-every-micro-batch: The gradients were synchronised {n:time}, once for each micro-batch. The numbers are
right, but each time all gradients cross the network. Once is enough.

no-sync-around-backward-only: Backward ran inside `no_sync`, and yet gradients were synchronised {n:time}. When does
DistributedDataParallel decide whether to synchronise?

synchronised-too-early: Of {micro} micro-batches, number {which} synchronised the gradients, and the last one did not.
What was added later differs from rank to rank.

synchronised-too-often: The gradients were synchronised {n:time}. Once is enough.

synchronised-by-hand: Your own code sends gradients, by {n:call}. DistributedDataParallel does that during its backward
pass, while the rest of the gradients is still being computed.

too-many-reductions: Besides those for gradients, there are {n} collective calls for {micro} micro-batches. What can a
rank add up by itself first? Is there something that brings calls of its own, as `model.join()` does for each forward
pass?
""")


def forwards(trace):
    return [entry for entry in trace if entry.what == "forward" and entry.grads]


def at_once(trace, micro):
    """Whether a micro-batch goes forward before the one before it has gone backward, or several go as one."""
    order = [entry.what for entry in trace if entry.what == "backward" or entry in forwards(trace)]
    return ("forward", "forward") in pairwise(order) or 0 < len(forwards(trace)) < micro


def one_by_one(call):
    micro = len(call.arguments["batches"][0])
    if any(at_once(trace, micro) for trace in call.of("trace")):
        return words("all-at-once")
    modes = {entry.training for trace in call.of("trace") for entry in forwards(trace)}
    return words("not-train-mode") if False in modes else None


def synchronised_once(call):
    """By what was noted: DistributedDataParallel makes calls of its own besides, which are not recorded."""
    micro = len(call.arguments["batches"][0])
    found = (on_rank(micro, trace, log) for trace, log in zip(call.of("trace"), call.events, strict=True))
    return next(filter(None, found), None)


def on_rank(micro, trace, log):
    """Gradients are averaged once, by the last backward pass. Where micro-batches go at once, it is told elsewhere when
    that is."""
    if not all(entry.wrapped for entry in forwards(trace)):
        return words("forward-through-module")
    first = forwards(trace)[0].number if forwards(trace) else 0
    sent = [entry.number - first for entry in trace if entry.what == "synchronise"]
    passes, sizes = sorted({*sent}), [event["bytes"] or 0 for event in log]
    if (by_hand := sum(size > SMALL for size in sizes) - len(sent)) > 0:
        return words("synchronised-by-hand", n=by_hand)
    if not passes:
        return words("never-synchronised")
    if not at_once(trace, micro) and (wrong := when(micro, trace, first, passes)):
        return wrong
    small = sum(size <= SMALL for size in sizes)
    return words("too-many-reductions", n=small, micro=micro) if small > FEW else None


def when(micro, trace, first, passes):
    """Which passes synchronise. first: number of the first one; passes: of those that do, from there on."""
    if passes == [micro - 1]:
        return None
    if len(passes) == 1:
        return words("synchronised-too-early", micro=micro, which=passes[0] + 1)
    early = [entry for entry in trace if entry.what == "backward" and entry.number - first < micro - 1]
    if any(entry.inside for entry in early) and not any(entry.inside for entry in forwards(trace)):
        return words("no-sync-around-backward-only", n=len(passes))
    often = "synchronised-every-micro-batch" if len(passes) == micro else "synchronised-too-often"
    return words(often, n=len(passes))
