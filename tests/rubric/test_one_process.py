"""A gradient of several ranks is taken apart: each way to average wrongly has its own words."""

from __future__ import annotations

import random

import pytest
import torch

from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches
from autograde.rubric.training.one_process import (
    MicroBatch,
    expected_gradient,
    mean_gradient,
    same_gradient,
    weightings,
    with_gradients,
)
from autograde.rubric.training.parts import mean_of
from course.models.translator.sentences import PAD, collate, loss_fn

RANKS, MICRO_BATCHES = 3, 2
WRONG_AVERAGES = [
    (key, form)
    for key, forms in weightings([MicroBatch(0, 1.0, 1, 2, gradient=torch.zeros(1))] * 6, RANKS).items()
    for form, pattern in enumerate(forms)
    if isinstance(pattern, torch.Tensor)
]
ONE = torch.Generator().manual_seed(1)
ROWS = [torch.randn(9, generator=ONE, dtype=torch.float64) for _ in range(4)]
OF_ONE_RANK = [MicroBatch(0, 1.0, count, gradient=count * row) for count, row in zip((5, 2, 3), ROWS, strict=False)]
DUE, LEFT = expected_gradient(OF_ONE_RANK), ROWS[3]


def token_loss(model: torch.nn.Module, batch: tuple) -> tuple[torch.Tensor, int, int]:
    """The loss of a batch summed over its tokens, how many these are, and how many with padding."""
    source, shifted, target = batch
    return loss_fn(model(source, shifted), target), int((target != PAD).sum()), target.numel()


@pytest.fixture
def parts() -> list[MicroBatch]:
    """Two micro-batches of each of three ranks."""
    drawn = draw_batches(random.Random(1), RANKS, MICRO_BATCHES)
    return with_gradients(AwkwardTranslator(7), token_loss, [[collate(pairs) for pairs in own] for own in drawn])


@pytest.fixture
def left_over() -> list[torch.Tensor]:
    """What lay in `.grad` of each rank."""
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(45, generator=generator, dtype=torch.float64) for _ in range(RANKS)]


def weighted(parts: list[MicroBatch], weights: torch.Tensor) -> torch.Tensor:
    """A gradient made of the parts' gradients."""
    return torch.stack([part.gradient for part in parts]).T @ weights


def found(parts: list[MicroBatch], used: list[torch.Tensor], left_over: list[torch.Tensor]) -> list[str]:
    """The keys of what is wrong."""
    return [each.key for each in mean_gradient(parts, [row.tolist() for row in used], left_over, "tokens")]


def test_the_mean_over_the_tokens_of_all_ranks_is_the_gradient_of_one_batch(parts, left_over) -> None:
    drawn = draw_batches(random.Random(1), RANKS, MICRO_BATCHES)
    model = AwkwardTranslator(7)
    src, tgt_in, tgt_out = collate([pair for own in drawn for pairs in own for pair in pairs])
    loss = loss_fn(model(src, tgt_in), tgt_out) / (tgt_out != 0).sum()
    loss.backward()
    whole = torch.cat([model.embedding.grad.flatten(), model.submodule.weight.grad.flatten()])
    torch.testing.assert_close(expected_gradient(parts), whole)
    assert mean_of(parts) == pytest.approx(loss.item())
    assert found(parts, [whole] * RANKS, left_over) == []


@pytest.mark.parametrize(("key", "form"), WRONG_AVERAGES)
def test_each_known_way_to_average_wrongly_has_its_own_words(parts, left_over, key, form) -> None:
    used = weighted(parts, weightings(parts, RANKS)[key][form] / sum(part.count for part in parts))
    assert found(parts, [used] * RANKS, left_over) == [key]


def test_gradients_of_one_rank_are_told_from_those_of_each_rank_for_itself(parts, left_over) -> None:
    own = [
        weighted(parts, torch.tensor([float(part.rank == rank) for part in parts]).double()) for rank in range(RANKS)
    ]
    assert found(parts, own, left_over) == ["own-gradient-only"]
    assert found(parts, [own[0]] * RANKS, left_over) == ["one-ranks-gradient"]


def test_gradients_that_each_rank_divides_by_its_own_number_are_named(parts, left_over) -> None:
    tokens = [sum(part.count for part in parts if part.rank == rank) for rank in range(RANKS)]
    whole = weighted(parts, torch.ones(len(parts)).double())
    for times in (1, RANKS):
        assert found(parts, [whole / (times * own) for own in tokens], left_over) == ["divided-by-own-items"]
    assert found(parts, [whole / own for own in (20, 30, 41)], left_over) == ["models-differ"]


def test_what_lay_in_grad_before_is_found_beside_another_mistake(parts, left_over) -> None:
    due = expected_gradient(parts)
    assert found(parts, [due + left_over[0] / RANKS] * RANKS, left_over) == ["gradient-carried-over"]
    both = due / RANKS + left_over[0]
    assert found(parts, [both] * RANKS, left_over) == ["gradient-carried-over", "world-size-lost"]


def test_only_the_last_micro_batch_and_no_step_and_nonsense_are_told_apart(parts, left_over) -> None:
    last = weighted(parts, torch.tensor([0.0, 0.1] * RANKS).double())
    assert found(parts, [last] * RANKS, left_over) == ["one-micro-batch-only"]
    assert found(parts, [torch.zeros(45).double()] * RANKS, left_over) == ["no-step"]
    assert found(parts, [torch.linspace(0, 1, 45).double()] * RANKS, left_over) == ["wrong-gradient"]
    assert found(parts, [torch.full((45,), torch.nan).double()] * RANKS, left_over) == ["wrong-gradient"]


def test_a_gradient_in_single_precision_is_right_and_one_that_is_off_by_a_thousandth_is_not(parts, left_over) -> None:
    due = expected_gradient(parts)
    assert found(parts, [due.float().double()] * RANKS, left_over) == []
    assert found(parts, [due * 1.001] * RANKS, left_over) == ["wrong-weights"]


def test_numbers_are_near_only_where_there_are_as_many_and_all_are_finite() -> None:
    due = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert same_gradient([1.0, 2.0], due)
    for other in ([1.0], [1.0, None], [1.0, 2.1], []):
        assert not same_gradient(other, due)


@pytest.mark.parametrize(
    ("gradient", "keys"),
    [
        (DUE * (1 + 1e-6), []),
        (DUE + 5e-4 * ROWS[0], ["wrong-weights"]),
        (sum(ROWS[:3]) / 3, ["mean-of-micro-batch-means"]),
        (sum(ROWS[:3]), ["micro-batches-not-averaged"]),
        (-DUE, ["wrong-sign"]),
        (DUE * torch.arange(9), ["wrong-gradient"]),
        (torch.full((9,), torch.nan), ["wrong-gradient"]),
        (DUE + LEFT, ["gradient-carried-over"]),
        (sum(ROWS[:3]) / 3 + LEFT, ["gradient-carried-over", "mean-of-micro-batch-means"]),
    ],
)
def test_what_counts_how_much_is_told_from_a_gradient(gradient, keys):
    assert sorted(wrong.key for wrong in mean_gradient(OF_ONE_RANK, [gradient.tolist()], [LEFT])) == keys
