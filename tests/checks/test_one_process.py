"""A gradient of several ranks is taken apart: each way to average wrongly gets its own finding."""

from __future__ import annotations

import random

import pytest
import torch
from lab_packages import check_module

from autograde.contract.findings import Findings
from autograde.contract.verdict import settle
from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches, draw_pairs, draw_shares, number_of
from autograde.verdicts.means import mean_of, mean_on_all
from autograde.verdicts.one_process import (
    Part,
    expected_gradient,
    gradient_mistakes,
    mistakes,
    near,
    parts_of,
)
from course.models.sentences import collate, loss_fn

token_loss = check_module("10_ddp_transformer", "model", "shared").token_loss

RANKS, MICRO_BATCHES = 3, 2
WRONG_AVERAGES = [
    name
    for name, pattern in mistakes([Part(0, 1.0, 1, 2, gradient=torch.zeros(1))] * 6, RANKS).items()
    if isinstance(pattern, torch.Tensor)
]


@pytest.fixture
def parts() -> list[Part]:
    """Two micro-batches of each of three ranks."""
    drawn = draw_batches(random.Random(1), RANKS, MICRO_BATCHES)
    return parts_of(AwkwardTranslator(7), token_loss, [[collate(pairs) for pairs in own] for own in drawn])


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
    return [each.key for each in settle([gradient_mistakes(parts, used, left_over, "tokens")])]


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


@pytest.mark.parametrize("name", WRONG_AVERAGES)
def test_each_known_way_to_average_wrongly_gets_its_own_finding(parts, left_over, name) -> None:
    used = weighted(parts, mistakes(parts, RANKS)[name] / sum(part.count for part in parts))
    assert found(parts, [used] * RANKS, left_over) == [name.partition("/")[0]]


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
    assert found(parts, [both] * RANKS, left_over) == ["world-size-lost", "gradient-carried-over"]


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


def test_a_returned_loss_is_compared_with_the_mean_over_all_tokens(parts) -> None:
    make = Findings("loss-after-step 1\nIt is {actual}.")

    def keys(*values: float | None, kind: str = "float") -> list[str]:
        results = [{"float": kind == "float", "type": kind, "value": value} for value in values]
        results *= RANKS if len(values) == 1 else 1
        judged = mean_on_all(results, parts, "tokens", candidates={"loss-after-step": 1.0}, make=make)
        return [each.key for each in settle([judged])]

    own = [mean_of([part for part in parts if part.rank == rank]) for rank in range(RANKS)]
    expected = mean_of(parts)
    assert keys(expected) == []
    assert keys(expected, kind="Tensor") == ["not-a-float"]
    assert keys(None) == ["no-number"]
    assert keys(*own) == ["own-part-only"]
    assert keys(own[0]) == ["one-ranks-part"]
    assert keys(1.0) == ["loss-after-step"]
    assert keys(expected * RANKS) == ["sum-for-mean"]
    assert keys(expected / RANKS) == ["average-for-sum"]
    assert keys(sum(part.total / part.count for part in parts) / len(parts)) == ["mean-of-means"]
    assert keys(sum(part.total for part in parts) / sum(part.places for part in parts)) == ["mean-with-padding"]
    assert keys(expected + 0.01) == ["wrong-value"]
    assert keys(expected, *[expected + 0.01] * (RANKS - 1)) == ["not-on-all-ranks"]


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
