"""Checks as rubrics: criteria with points, mistakes with words. Trusted; never in the sandbox.

What a check needs is imported from here: ``from autograde.rubric import CallCheck, Criterion, Same``. A name is looked
up when it is asked for, so that a check without tensors does not load torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# By module, what a check may import; the order is that of the guide's index.
EXPORTS: dict[str, tuple[str, ...]] = {
    "rubric.check": ("CallCheck",),
    "rubric.criterion": ("Criterion", "DeviceCriterion", "unbuffered"),
    "rubric.judge": ("Call", "first_of", "given", "lacking", "of_call", "of_record", "of_seen", "once"),
    "rubric.mistakes": ("Gives", "Mistakes", "changed"),
    "rubric.words": ("Ranks", "Words", "Wrong"),
    "rubric.breaks": ("Errors", "first_finding", "of_finding", "why_it_broke_off"),
    "rubric.run": ("Run",),
    "rubric.rounding": ("DIGITS", "DOUBLE", "EXACT", "KNOWN", "SINGLE", "Rounding"),
    "rubric.judges.same": ("Comparing", "Difference", "Same", "on_ranks"),
    "rubric.judges.numbers": (
        *("HALF_PRECISION", "LOST_DIGITS", "EachRankReturns", "EachRankReturnsInt", "float32", "has_values"),
        *("in_words", "through_float"),
    ),
    "rubric.judges.named_numbers": ("HasNumbers",),
    "rubric.judges.arrays": ("EachRankReturnsArray", "alike", "first_off", "other_summands", "same_bits", "some_of"),
    "rubric.judges.conduct": (
        *("argument_unchanged", "arrays_stay", "memory_not_shared", "nothing_starts_or_ends", "result_stays"),
    ),
    "rubric.judges.collectives": ("Collectives", "in_step"),
    "rubric.judges.means": ("MeanOnAll", "evaluated"),
    "rubric.judges.reductions": ("mean_gradient", "one_allreduce", "result_of_reduction"),
    "rubric.judges.messages": (
        *("buffer_messages", "late_arrival", "messages_alone", "messages_between", "received", "senders_to"),
        *("some_message", "too_large", "unchanged_under_way", "waited_for"),
    ),
    "rubric.judges.ring": ("Ring",),
    "rubric.judges.tree": ("ToOneRank",),
    "rubric.judges.shares": (
        *("dealt_in_turn", "dealt_out", "each_sample_once", "evenly", "mistakes_by_rank", "new_orders"),
        *("orders_by_seed", "pieces_in_order", "turns"),
    ),
    "rubric.judges.paths": ("Path", "of_path"),
    "rubric.judges.orders": ("ROTATED", "Orders"),
    "rubric.judges.devices": ("DEVICE_MISTAKES", "device_chosen", "node_in_words"),
    "rubric.replay": ("Replicas", "Rules"),
    "rubric.judges.midpoints": ("fair", "midpoints_once", "share_mistakes"),
    "rubric.array_check": (
        *("ONE_CHUNK", "array_cases", "arrays", "bytes_of_array", "longest_chunk", "ring_criteria", "total"),
    ),
    "rubric.sampler_check": (
        *("ROTATION", "begun_anew", "drawn_anew", "elsewhere", "fits_plan", "generators", "ints_and_length"),
        *("not_a_list", "not_ints", "repeated", "shared_out"),
    ),
    "rubric.loader_check": ("CUT", "drawn_samples", "in_batches", "samples", "shared_evenly"),
    "rubric.checkpoint_check": (
        *("REFUSED", "REFUSED_WRONGLY", "accepted", "always_whole", "folder_clean", "misfit", "nothing_there"),
        *("returns_after", "right_content", "right_writer", "saving_broke_off", "state_loaded"),
    ),
    "verdicts.collectives": ("MESSAGES", "group_sizes", "named", "only", "unequal_sizes", "wrong_group"),
    "verdicts.traffic": ("Traffic", "partners", "traffic"),
    "verdicts.reductions": ("Due", "follows", "stays"),
    "verdicts.means": ("Part", "accuracy_parts", "apart", "came_of", "due_of", "loss_parts"),
    "fixtures.numbered_net": ("guesses_of", "hits_of"),
    "probes.weighed_part": ("WEIGHED", "was_weighed"),
    "contract.check": ("Demand",),
}
MODULES = {name: module for module, names in EXPORTS.items() for name in names}

__all__ = sorted(MODULES)


def __getattr__(name: str) -> Any:
    """What a check may import. Raises AttributeError for anything else."""
    if name not in MODULES:
        raise AttributeError(f"autograde.rubric has no {name!r}; see the index in solutions/README.md")
    return getattr(import_module(f"autograde.{MODULES[name]}"), name)
