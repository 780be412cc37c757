"""Verdict on one training step's forward and backward passes, as `autograde.probes.ddp_trace` noted them on each
rank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from autograde.contract.findings import Findings
from autograde.contract.schema import array, boolean, integer, record
from autograde.contract.verdict import Finding
from autograde.probes.ddp_trace import MOST
from autograde.verdicts.judged import Run
from autograde.verdicts.one_process import finding as of_gradients

SMALL = 64  # bytes of a reduction of a few numbers; gradients take more
FEW = 2  # such reductions in a step
ABORTED = -6  # exit status of a process that ended itself by SIGABRT

finding = Findings("""
forward-through-module 1.5
A forward pass goes to the wrapped module directly. DistributedDataParallel does not notice it, so the ranks' gradients
are never averaged.

never-synchronised 1.5
Every micro-batch ran without synchronisation, even the last one, so the ranks' models drift apart.

synchronised-every-micro-batch 1
The gradients were synchronised {count} times, once for each micro-batch. The numbers are right, but each time all
gradients cross the network. Once is enough.

no-sync-around-backward-only 1
Backward ran inside `no_sync`, and yet gradients were synchronised {count} times. When does DistributedDataParallel
decide whether to synchronise?

synchronised-too-early 1.5
Of {count} micro-batches, number {which} synchronised the gradients, and the last one did not. What was added later
differs from rank to rank.

synchronised-too-often 1
The gradients were synchronised {count} times. Once is enough.

synchronised-by-hand 1
Your own code reduces gradients, by {count} calls. DistributedDataParallel does that during its backward pass, while the
rest of the gradients is still being computed.

too-many-reductions 0.5
Besides those for gradients, there are {count} collective calls for {micro} micro-batches. What can a rank add up by
itself first? Is there something that brings calls of its own, as `model.join()` does for each forward pass?

several-steps 1.5
The optimizer made {count} steps in one call of your function.

ranks-call-differently 2
The ranks do not make the same communication calls, so they wait for ever, or calls meet that do not belong together:
{calls}.
""")

# Findings after which the gradients need not be looked at: they explain them.
WITHOUT_AVERAGE = {"forward-through-module", "never-synchronised"}
EXPLAIN_GRADIENTS = WITHOUT_AVERAGE | {"synchronised-too-early"}


def trace_schema() -> dict:
    """A trace, as `autograde.probes.ddp_trace.trace_passes` gives it."""
    kinds = {"enum": ["forward", "backward", "synchronise", "step"]}
    flags = dict.fromkeys(("inside", "training", "grads", "wrapped"), boolean())
    return array(record(what=kinds, number=integer(), **flags), most=MOST)


def in_train_mode(traces: Sequence[list[dict]]) -> bool | None:
    """Whether the model was in train mode in each forward pass; None where it was so in some of them only."""
    modes = {entry["training"] for trace in traces for entry in trace if entry["what"] == "forward" and entry["grads"]}
    return None if len(modes) > 1 else modes != {False}


def stuck_in_a_step(run: Run) -> list[Finding]:
    """A finding for a run that ended as ranks communicate differently, else none.

    gloo aborts the process where two calls meet that carry different numbers of bytes.
    """
    aborted = any(rank["code"] == ABORTED for rank in run.ranks)
    made = [[f"{event['op']} of {event['bytes'] or 0} bytes" for call in log for event in call] for log in run.events]
    if not (aborted or run.state in ("hang", "too-slow")) or all(of_rank == made[0] for of_rank in made):
        return []
    place = next(i for i in range(max(map(len, made))) if len({tuple(of_rank[i : i + 1]) for of_rank in made}) > 1)
    calls = [f"rank {rank} makes {own[place] if place < len(own) else 'none'}" for rank, own in enumerate(made)]
    return [finding("ranks-call-differently", run.report, calls=f"as number {place + 1}, " + ", ".join(calls))]


def passes_mistakes(micro_batches: int, traces: Sequence[list[dict]], logs: Sequence[list[dict]]) -> list[Finding]:
    """What is wrong with one step on all ranks. traces: entries by rank. logs: watched communication calls by rank."""
    return next(
        filter(None, (rank_mistakes(micro_batches, *seen) for seen in zip(traces, logs, strict=True))),
        [],
    )


def rank_mistakes(micro_batches: int, trace: list[dict], log: list[dict]) -> list[Finding]:
    """What is wrong with one step on one rank."""
    forwards = [entry for entry in trace if entry["what"] == "forward" and entry["grads"]]
    first = forwards[0]["number"] if forwards else 0
    order = [entry["what"] for entry in trace if entry["what"] == "backward" or entry in forwards]
    together = any(pair == ("forward", "forward") for pair in pairwise(order))
    found = synchronisation_mistakes(micro_batches, trace, log, first)
    if together:  # whose gradients go with which micro-batch is not known then
        found = [of_gradients("all-at-once"), *(each for each in found if each.key in WITHOUT_AVERAGE)]
    small = [event for event in log if (event["bytes"] or 0) <= SMALL]
    if len(small) > FEW and "synchronised-by-hand" not in {each.key for each in found}:
        found.append(finding("too-many-reductions", count=len(small), micro=micro_batches))
    if not all(entry["training"] for entry in forwards):
        found.append(of_gradients("not-train-mode"))
    if (steps := sum(entry["what"] == "step" for entry in trace)) > 1:
        found.append(finding("several-steps", count=steps))
    return found


def synchronisation_mistakes(micro_batches: int, trace: list[dict], log: list[dict], first: int) -> list[Finding]:
    """Whether gradients were averaged once, by the last backward pass. first: number of the first forward pass."""
    forwards = [entry for entry in trace if entry["what"] == "forward" and entry["grads"]]
    if not all(entry["wrapped"] for entry in forwards):
        return [finding("forward-through-module")]
    passes = sorted({entry["number"] - first for entry in trace if entry["what"] == "synchronise"})
    large = sum((event["bytes"] or 0) > SMALL for event in log)
    by_hand = large - sum(entry["what"] == "synchronise" for entry in trace)
    found = [finding("synchronised-by-hand", count=by_hand)] if by_hand > 0 else []
    if not passes:
        return found or [finding("never-synchronised")]
    if len(passes) == 1:
        early = passes[-1] != micro_batches - 1
        numbers = {"count": micro_batches, "which": passes[0] + 1}
        return [*found, finding("synchronised-too-early", **numbers)] if early else found
    early = [entry for entry in trace if entry["what"] == "backward" and entry["number"] - first < micro_batches - 1]
    if any(entry["inside"] for entry in early) and not any(entry["inside"] for entry in forwards):
        return [*found, finding("no-sync-around-backward-only", count=len(passes))]
    often = "synchronised-every-micro-batch" if len(passes) == micro_batches else "synchronised-too-often"
    return [*found, finding(often, count=len(passes))]
