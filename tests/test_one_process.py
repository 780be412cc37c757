"""A gradient of several ranks is taken apart: each way to average wrongly gets its own finding."""

from __future__ import annotations

import random

import pytest
import torch

from autograde.mean_loss import loss_mistakes
from autograde.one_process import gradient_mistakes, patterns
from autograde.whole_batch import Part, due_gradient, due_loss, near, parts_of
from course.awkward_translator import AwkwardTranslator, draw_batches, draw_pairs, draw_shares, number_of
from course.sentences import collate, loss_fn

pytestmark = pytest.mark.side_by_side

RANKS, MICRO_BATCHES = 3, 2


@pytest.fixture
def parts() -> list[Part]:
    """Two micro-batches of each of three ranks."""
    drawn = draw_batches(random.Random(1), RANKS, MICRO_BATCHES)
    return parts_of(AwkwardTranslator(7), [[collate(pairs) for pairs in own] for own in drawn])


@pytest.fixture
def left_over() -> list[torch.Tensor]:
    """What lay in `.grad` of each rank."""
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(45, generator=generator, dtype=torch.float64) for _ in range(RANKS)]


def weighted(parts: list[Part], weights: torch.Tensor) -> torch.Tensor:
    """A gradient made of the parts' gradients."""
    return torch.stack([part.gradient for part in parts]).T @ weights


def found(parts: list[Part], used: list[torch.Tensor], left_over: list[torch.Tensor]) -> list[str]:
    """The keys of the findings."""
    return [each.key for each in gradient_mistakes(parts, used, left_over)]


def test_the_mean_over_the_tokens_of_all_ranks_is_the_gradient_of_one_batch(parts, left_over) -> None:
    drawn = draw_batches(random.Random(1), RANKS, MICRO_BATCHES)
    model = AwkwardTranslator(7)
    src, tgt_in, tgt_out = collate([pair for own in drawn for pairs in own for pair in pairs])
    loss = loss_fn(model(src, tgt_in), tgt_out) / (tgt_out != 0).sum()
    loss.backward()
    whole = torch.cat([model.embedding.grad.flatten(), model.mix.grad.flatten()])
    torch.testing.assert_close(due_gradient(parts), whole)
    assert due_loss(parts) == pytest.approx(loss.item())
    assert found(parts, [whole] * RANKS, left_over) == []


@pytest.mark.parametrize("name", patterns([Part(0, 1.0, torch.zeros(1), 1, 1)] * 6, RANKS))
def test_each_known_way_to_average_wrongly_gets_its_own_finding(parts, left_over, name) -> None:
    used = weighted(parts, patterns(parts, RANKS)[name])
    assert found(parts, [used] * RANKS, left_over) == [name.partition("/")[0]]


def test_gradients_of_one_rank_are_told_from_those_of_each_rank_for_itself(parts, left_over) -> None:
    own = [
        weighted(parts, torch.tensor([float(part.rank == rank) for part in parts]).double()) for rank in range(RANKS)
    ]
    assert found(parts, own, left_over) == ["own-gradient-only"]
    assert found(parts, [own[0]] * RANKS, left_over) == ["one-ranks-gradient"]


def test_what_lay_in_grad_before_is_found_beside_another_mistake(parts, left_over) -> None:
    due = due_gradient(parts)
    assert found(parts, [due + left_over[0] / RANKS] * RANKS, left_over) == ["gradient-left-over"]
    both = due / RANKS + left_over[0]
    assert found(parts, [both] * RANKS, left_over) == ["gradient-left-over", "world-size-lost"]


def test_only_the_last_micro_batch_and_no_step_and_nonsense_are_told_apart(parts, left_over) -> None:
    last = weighted(parts, torch.tensor([0.0, 0.1] * RANKS).double())
    assert found(parts, [last] * RANKS, left_over) == ["one-micro-batch-only"]
    assert found(parts, [torch.zeros(45).double()] * RANKS, left_over) == ["no-step"]
    assert found(parts, [torch.linspace(0, 1, 45).double()] * RANKS, left_over) == ["wrong-gradient"]
    assert found(parts, [torch.full((45,), torch.nan).double()] * RANKS, left_over) == ["wrong-gradient"]


def test_a_gradient_in_single_precision_is_right_and_one_that_is_off_by_a_thousandth_is_not(parts, left_over) -> None:
    due = due_gradient(parts)
    assert found(parts, [due.float().double()] * RANKS, left_over) == []
    assert found(parts, [due * 1.001] * RANKS, left_over) == ["wrong-weights"]


def test_a_returned_loss_is_compared_with_the_mean_over_all_tokens(parts) -> None:
    def keys(value: float | None, kind: str = "float") -> list[str]:
        result = {"float": kind == "float", "type": kind, "value": value}
        return [each.key for each in loss_mistakes(parts, 0, RANKS, result, after=1.0)]

    due, own = due_loss(parts), due_loss([part for part in parts if part.rank == 0])
    assert keys(due) == []
    assert keys(due, "Tensor") == ["not-a-float"]
    assert keys(None) == ["no-number"]
    assert keys(own) == ["loss-of-one-rank"]
    assert keys(1.0) == ["loss-after-step"]
    assert keys(due * RANKS) == ["loss-not-per-token"]
    assert keys(sum(part.loss / part.tokens for part in parts) / len(parts)) == ["loss-mean-of-means"]
    assert keys(sum(part.loss for part in parts) / sum(part.places for part in parts)) == ["loss-with-padding"]
    assert keys(due + 0.01) == ["wrong-loss"]


def test_numbers_are_near_only_where_there_are_as_many_and_all_are_finite() -> None:
    due = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert near([1.0, 2.0], due)
    for other in ([1.0], [1.0, None], [1.0, 2.1], [], None):
        assert not near(other, due)


def test_sentences_are_found_again_by_their_ids() -> None:
    pairs = draw_pairs(random.Random(2), 100)
    src, _, _ = collate(pairs)
    assert [number_of(row.tolist(), pairs) for row in src] == [*range(100)]
    assert number_of([1, 2, 3], pairs) is None
    with pytest.raises(ValueError, match="501"):
        draw_pairs(random.Random(2), 501)


def test_drawn_shares_have_unequal_numbers_of_tokens_and_may_be_empty() -> None:
    shares = draw_shares(random.Random(4), [3, 0, 3])
    assert [len(own) for own in shares] == [3, 0, 3]
    assert sum(len(target) for _, target in shares[0]) != sum(len(target) for _, target in shares[2])
