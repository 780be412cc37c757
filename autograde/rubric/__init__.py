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
    "rubric.criterion": ("Criterion", "DeviceCriterion", "RecordCriterion", "unbuffered"),
    "rubric.judge": ("Call", "first_of", "given", "lacking", "of_call", "of_record", "of_seen", "once", "saying"),
    "rubric.mistakes": ("Gives", "Mistakes", "changed"),
    "rubric.words": ("Ranks", "Words", "Wrong"),
    "rubric.breaks": ("Errors", "why_it_broke_off"),
    "rubric.run": ("Run",),
    "rubric.values.rounding": ("DIGITS", "DOUBLE", "EXACT", "KNOWN", "SINGLE", "Rounding"),
    "rubric.values.same": ("Comparing", "Difference", "Same", "on_ranks"),
    "rubric.values.numbers": (
        *("HALF_PRECISION", "LOST_DIGITS", "EachRankReturns", "EachRankReturnsInt", "float32", "has_values"),
        *("in_words", "through_float"),
    ),
    "rubric.values.named_numbers": ("HasNumbers",),
    "rubric.values.arrays": ("EachRankReturnsArray", "alike", "first_off", "other_summands", "same_bits", "some_of"),
    "rubric.conduct": (
        *("argument_unchanged", "arrays_stay", "memory_not_shared", "nothing_starts_or_ends", "result_stays"),
    ),
    "rubric.communication.calls": ("MESSAGES", "finished", "named", "of_library", "of_the_group", "wrong_group"),
    "rubric.communication.collectives": ("Collectives", "in_step"),
    "rubric.communication.reductions": ("one_allreduce", "result_of_reduction"),
    "rubric.communication.origin": ("EMPTY", "Due", "follows", "stays"),
    "rubric.training.means": ("MeanOnAll", "came_of", "due_of"),
    "rubric.training.evaluation": ("evaluated", "mode_stays", "no_graph"),
    "rubric.training.parts": ("Part", "accuracy_parts", "apart", "loss_parts"),
    "rubric.training.one_process": (
        *("expected_gradient", "mean_gradient", "mean_over_samples", "same_gradient", "with_gradients"),
    ),
    "rubric.communication.messages": (
        *("buffer_messages", "late_arrival", "messages_alone", "messages_between", "received", "senders_to"),
        *("some_message", "too_large", "unchanged_under_way", "waited_for"),
    ),
    "rubric.communication.ring": ("Ring",),
    "rubric.communication.tree": ("ToOneRank",),
    "rubric.sampling.shares": (
        *("dealt_in_turn", "dealt_out", "each_sample_once", "evenly", "mistakes_by_rank", "new_orders"),
        *("orders_by_seed", "pieces_in_order", "turns"),
    ),
    "rubric.training.paths": ("Path", "of_path"),
    "rubric.sampling.orders": ("ROTATED", "Orders"),
    "rubric.training.devices": ("DEVICE_MISTAKES", "device_chosen", "node_in_words"),
    "rubric.training.eager": ("eager",),
    "rubric.training.replay": ("BY_RULES", "Replicas", "Rules", "trained_wrongly", "words_on_rules"),
    "rubric.sampling.midpoints": ("fair", "midpoints_once", "share_mistakes"),
    "rubric.communication.array_check": (
        *("ONE_CHUNK", "array_cases", "arrays", "bytes_of_array", "longest_chunk", "ring_criteria", "total"),
    ),
    "rubric.sampling.sampler_check": (
        *("ROTATION", "begun_anew", "drawn_anew", "elsewhere", "fits_plan", "generators", "ints_and_length"),
        *("not_a_list", "not_ints", "repeated", "shared_out"),
    ),
    "rubric.sampling.loader_check": ("CUT", "drawn_samples", "in_batches", "samples", "shared_evenly"),
    "rubric.checkpoints.contents": ("short",),
    "rubric.checkpoints.saving": (
        *("WRITERS", "always_whole", "folder_clean", "returns_after", "right_content", "right_writer"),
        *("saves_alone", "saving_broke_off", "written"),
    ),
    "rubric.checkpoints.loading": (
        *("REFUSED", "REFUSED_WRONGLY", "accepted", "errors_of", "misfit", "nothing_there", "state_loaded"),
    ),
    "rubric.communication.traffic": ("Traffic", "partners", "traffic"),
    "fixtures.numbered_net": ("guesses_of", "hits_of"),
    "probes.weighed_part": ("WEIGHED", "was_weighed"),
}
MODULES = {name: module for module, names in EXPORTS.items() for name in names}

__all__ = sorted(MODULES)


def __getattr__(name: str) -> Any:
    """What a check may import. Raises AttributeError for anything else."""
    if name not in MODULES:
        raise AttributeError(f"autograde.rubric has no {name!r}; see the index in solutions/README.md")
    return getattr(import_module(f"autograde.{MODULES[name]}"), name)
