"""Worse is never cheaper: an answer that makes two mistakes costs at least what the dearer one costs alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import pytest
from case_by_case import checks_of, results_by_case
from labs_under_test import LABS, Worlds
from mistake_pairs import Pair, pairs
from seeds import SEED

from autograde.contract import show
from autograde.contract.check import Check
from autograde.labs.folder import Lab, load_variants
from autograde.labs.variants import Wrong
from course.world import World

# What is run each time: where the first mistake's finding once kept the check from seeing the second.
KNOWN = {
    "06_distributed_sampler": {"samples_seen": [("a_constant", "smaller_batch_dropped")]},
    "07_horovod_mnist": {"train_epoch": [("no_set_epoch", "no_zero_grad"), ("mean_of_batches", "no_set_epoch")]},
}

# One mistake undoes the other, or keeps it from being made: by lab, TODO and both names, and why.
MOOT = {
    ("01_sgd_trajectories", "accumulate_gradient"): {
        "only_one_part all_at_once": "Where all is one part, what is zeroed before each part is zeroed once.",
        "loss_not_divided all_at_once": "Where all is one part, the sum of the parts' means is the mean.",
        "parameters_moved all_at_once": "Where all is one part, the step is taken when the gradient is there.",
    },
    ("01_sgd_trajectories", "sgd_path"): {
        "whole_set_each_step empty_batch_at_the_end": "Where a step uses the whole set, no batch is empty.",
        "same_order_every_epoch__seeded_again not_reproducible": "An order without a generator is another each time.",
    },
    ("04_collectives", "tree_reduce"): {
        "own_part_only into_the_argument": "Where sums go into the argument, what is returned has all of them.",
        "own_part_only float_buffer": "Where each rank sends its argument, no message is of the other dtype.",
        "sent_back not_waited_for": "A message that nobody waits for is whole where its buffer is used further on.",
    },
    ("04_collectives", "ring_reduce_scatter"): {
        "rest_lost short_buffer": "Where the rest is left out, a buffer of n // size entries is long enough.",
    },
    ("05_distributed_sgd", "distributed_path"): {
        "seed_of_the_rank in_order": "Samples in their own order need no seed.",
        "every_step rounded_by_rank": "A broadcast in each step gives all ranks rank 0's point.",
        "single_path rounded_by_rank": "In float32 there is nothing of what differs in the last bits of a float64.",
    },
    ("05_distributed_sgd", "work"): {"a_step_pushed single": "What a float32 is taken from stays a float64."},
    ("07_horovod_mnist", "train_epoch"): {
        "zeroed_before_the_step one_step_an_epoch": "Steps with a gradient of zero are none, however many there are.",
    },
    ("08_ddp_cnn", "fit_scaling"): {"with_n means": "The fit of the means has columns of its own."},
    ("08_ddp_cnn", "gradient_bytes"): {"of_grad in_megabytes": "Nothing is nothing in megabytes, too."},
    ("08_ddp_cnn", "process_group_from_slurm"): dict.fromkeys(
        ["zeros scontrol", "behind scontrol", "range_and_all scontrol", "hyphen scontrol"],
        "Where a program expands the list, the answer's own code does not.",
    ),
    ("08_ddp_cnn", "train"): {
        "full_batches dropped_batch": "Without the smaller batch all batches are full.",
        "wrapped_each_epoch not_wrapped": "What wraps the model in each epoch does wrap it.",
        "past_the_wrapper everything_everywhere": "Ranks that draw the same samples come to the same gradient.",
        "mean_of_batches dropped_batch": "Of batches that are all equal, the mean of their means is the mean.",
        "last_loss dropped_batch": "Without the smaller batch an epoch has one batch here, which is the last one.",
    },
    ("10_ddp_transformer", "accumulate_gradients"): {
        "never_in_no_sync synchronised_on_the_first": "Without `no_sync` it does not matter which is the last.",
    },
    ("10_ddp_transformer", "train_step"): {
        "synchronised_on_the_first gradients_reduced_by_hand": "Where all is in `no_sync`, there is no last one.",
        "clipped scaled_by_its_own_tokens": "Clipped to one norm, gradients no longer differ by a rank's own factor.",
        "no_sync_around_backward_only no_sync_around_forward_of_the_last": "What was run inside `no_sync` is not.",
        "ten_allreduces_for_one synchronised_on_the_first": "Without `no_sync` it does not matter which is the last.",
    },
    ("11_failover", "save_checkpoint"): {
        "every_rank barrier_on_rank_0": "Where every rank writes, every rank comes to the barrier behind it.",
    },
    ("11_failover", "Preemption"): {
        "taken_when_made handlers_left": "What is taken before the block is not left by the block.",
    },
    ("12_beyond_data_parallel", "backward_passes"): {
        "last_goes_backwards all_sent_at_the_end": "All ranks go in one order then, and no gradient is mixed up.",
    },
    ("12_beyond_data_parallel", "copy_to_ranks"): {
        "f_does_nothing f_sums_forward": "What nobody calls sums nothing forward.",
    },
    ("12_beyond_data_parallel", "forward_passes"): {
        "one_buffer no_leaf": "What is multiplied by 1 lies in memory of its own, and no longer in the buffer.",
        "received_into_the_argument first_input_copied": "What is received into is then a copy of the argument.",
    },
    ("12_beyond_data_parallel", "ShardedOptimizer"): {
        "sum_for_mean divided_twice": "An average by torch, which is not divided once more, is right.",
    },
    ("13_fully_sharded", "checkpointed"): {
        "gradient_dropped not_detached": "What goes back as far as x is added once where nothing is returned.",
    },
    ("13_fully_sharded", "FullySharded"): {
        "never_freed not_gathered_again": "Weights that are never freed need not be gathered again.",
        "ahead_and_again other_order_on_odd_ranks": "What is gathered once more, in one order, replaces what was not.",
    },
    ("13_fully_sharded", "reduce_scattered"): {
        "summed divided_twice": "An average by torch, which is not divided once more, is right.",
    },
}


@cache
def mistakes_of(lab: Lab) -> Mapping[str, Mapping[str, Wrong]]:
    """The known mistakes of a lab by TODO and name."""
    return load_variants(lab.variants)[1]


@cache
def pairs_of(lab: Lab, todo: str) -> list[Pair]:
    """The pairs of mistakes of one TODO, but for those that are MOOT."""
    moot = MOOT.get((lab.name, todo), {})
    return [pair for pair in pairs(mistakes_of(lab)[todo]) if f"{pair.one} {pair.other}" not in moot]


def costs(world: World, check: Check, source: str, most: int | None) -> Iterator[tuple[float, str]]:
    """What an answer costs by its first case, by its first two, and so on, `most` at most; and the result's text."""
    for result in results_by_case(world, check, source, most):
        yield result.points - result.score, show.text(result)


class Alone:
    """What known mistakes cost alone; each is tried once. most: of the cases, None for all."""

    def __init__(self, worlds: Worlds, most: int | None = None) -> None:
        self.worlds, self.most = worlds, most
        self.known: dict[tuple[str, str, str], float] = {}

    def cost(self, lab: Lab, todo: str, name: str) -> float:
        """Of one mistake."""
        key = lab.name, todo, name
        if key not in self.known:
            source = mistakes_of(lab)[todo][name].source
            *_, (self.known[key], _) = costs(self.worlds.of(lab), checks_of(lab)[todo], source, self.most)
        return self.known[key]

    def cheaper(self, lab: Lab, todo: str, pair: Pair) -> str:
        """Empty, or what is said to both mistakes together where they cost less than the dearer one."""
        dearer = max(self.cost(lab, todo, name) for name in (pair.one, pair.other))
        together = [(0.0, "")]
        for each in costs(self.worlds.of(lab), checks_of(lab)[todo], pair.source, self.most):
            together.append(each)
            if each[0] > dearer - 1e-9:
                return ""
        return f"{pair.one} {pair.other}: less than {dearer:g}\n{together[-1][1]}"


@pytest.fixture(scope="module")
def alone(worlds: Worlds) -> Alone:
    return Alone(worlds)


@pytest.mark.parametrize(
    ("lab", "todo", "one", "other"),
    [
        pytest.param(lab, todo, *names, id=f"{lab.name}-{todo}-{'-'.join(names)}")
        for lab in LABS
        for todo, known in KNOWN.get(lab.name, {}).items()
        for names in known
    ],
)
def test_a_finding_hides_no_dearer_one(worlds, lab, todo, one, other):
    """By the first case, which shows all of these mistakes."""
    pair = next(pair for pair in pairs_of(lab, todo) if {pair.one, pair.other} == {one, other})
    alone = Alone(worlds, most=1)
    assert alone.cost(lab, todo, one) and alone.cost(lab, todo, other)
    assert not alone.cheaper(lab, todo, pair)


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("lab", "todo", "name"),
    [
        pytest.param(lab, todo, name, id=f"{lab.name}-{todo}-{name}")
        for lab in LABS
        for todo, mistakes in mistakes_of(lab).items()
        for name in mistakes
    ],
)
def test_with_another_mistake_an_answer_costs_no_less(alone, lab, todo, name):
    found = [alone.cheaper(lab, todo, pair) for pair in pairs_of(lab, todo) if pair.one == name]
    cheaper = [each for each in found if each]
    assert not cheaper, f"seed {SEED}\n" + "\n".join(cheaper)
