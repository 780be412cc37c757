"""The translation model: what it may look at, its tied weights, and that ranks train it as one process does."""

from __future__ import annotations

import random

import pytest
import torch

from course.models.translator.sentences import BOS, EOS, PAD, Pair, collate, loss_fn
from course.models.translator.transformer import Transformer, cross_attention, greedy
from course.world import RANK, SIZE, World

VOCABULARY = 50


def build(seed: int = 0, **options: float) -> Transformer:
    """A small model in float64, whose weights are large enough for every token to matter."""
    torch.manual_seed(seed)
    model = Transformer(VOCABULARY, **{"d_model": 16, "heads": 2, "layers": 2, **options}).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    return model


def sentences(seed: int, lengths: list[int]) -> list[Pair]:
    """Pairs whose sources have these lengths."""
    rng = random.Random(seed)

    def ids(length: int) -> list[int]:
        return [rng.randrange(3, VOCABULARY) for _ in range(length)]

    return [(ids(length), ids(max(0, length + rng.randint(-2, 2)))) for length in lengths]


def test_each_row_has_the_logits_it_has_alone_whatever_else_is_in_the_batch() -> None:
    model, pairs = build(), sentences(1, [3, 12, 1, 7, 0, 5])
    src, tgt_in, tgt_out = collate(pairs)
    logits = model(src, tgt_in)
    assert logits.shape == (*tgt_in.shape, VOCABULARY)
    for row, pair in enumerate(pairs):
        alone = model(*collate([pair])[:2])[0]
        torch.testing.assert_close(logits[row, : len(alone)], alone, rtol=1e-10, atol=1e-10)
    losses = [loss_fn(model(src, tgt_in), tgt_out) for src, tgt_in, tgt_out in map(collate, [[pair] for pair in pairs])]
    torch.testing.assert_close(loss_fn(logits, tgt_out), sum(losses), rtol=1e-10, atol=1e-10)


def test_no_token_sees_those_after_it_and_each_sees_all_before_it_and_the_whole_source() -> None:
    model = build()
    src, tgt_in, _ = collate(sentences(2, [9]))
    logits = model(src, tgt_in)
    for place in range(tgt_in.shape[1]):
        changed = tgt_in.clone()
        changed[0, place] = (changed[0, place] - 2) % (VOCABULARY - 3) + 3
        moved = (model(src, changed) - logits).abs().amax(-1)[0]
        assert bool((moved[:place] == 0).all()) and bool((moved[place:] > 1e-9).all())
    for place in range(src.shape[1]):
        changed = src.clone()
        changed[0, place] = (changed[0, place] - 2) % (VOCABULARY - 3) + 3
        assert bool(((model(changed, tgt_in) - logits).abs().amax(-1) > 1e-9).all())


def test_words_in_another_order_are_another_sentence() -> None:
    model = build()
    src, tgt_in, _ = collate(sentences(3, [6]))
    swapped = src.clone()
    swapped[0, [1, 2]] = src[0, [2, 1]]
    assert not torch.allclose(model(swapped, tgt_in), model(src, tgt_in), atol=1e-6)


def test_one_matrix_embeds_source_and_target_and_gives_the_logits() -> None:
    model = build()
    shapes = [tuple(parameter.shape) for parameter in model.parameters()]
    assert [shape for shape in shapes if VOCABULARY in shape] == [(VOCABULARY, 16)]
    assert not [name for name, _ in model.named_parameters() if "bias" in name]
    src, tgt_in, tgt_out = torch.tensor([[3, EOS]]), torch.tensor([[BOS, 4]]), torch.tensor([[5, EOS]])
    loss_fn(model(src, tgt_in), tgt_out).backward()
    gradient = model.embedding.weight.grad
    # As an output each token has a part in the loss, all alike but for those that are right; as inputs these three.
    for token in 3, BOS, 4:
        assert not torch.allclose(gradient[token] / gradient[token].norm(), gradient[9] / gradient[9].norm(), atol=0.1)
    torch.testing.assert_close(gradient[8] / gradient[8].norm(), gradient[9] / gradient[9].norm(), atol=0.1, rtol=0)


@pytest.mark.parametrize("longest", [1, 4, 30])
def test_greedy_takes_the_most_likely_token_until_the_end_as_the_whole_model_sees_it(longest: int) -> None:
    model, pairs = build(), sentences(4, [3, 12, 1, 7, 0, 5, 5, 30])
    with torch.no_grad():  # so that an untrained model does not repeat one token for ever
        model.embedding.weight.mul_(0.3)
        for name, weight in model.named_parameters():
            weight.mul_(1 if "embedding" in name or "norm" in name else 2)
    results = greedy(model, [source for source, _ in pairs], longest)
    lengths = {len(result) for result in results}
    assert max(lengths) <= longest and (longest < 30 or len(lengths) > 2)
    for (source, _), result in zip(pairs, results, strict=True):
        logits = model(*collate([(source, result)])[:2])[0]
        logits[:, [PAD, BOS]] = -torch.inf
        expected = [*result, EOS][:longest]
        assert logits.argmax(-1).tolist()[: len(expected)] == expected


def test_greedy_translates_one_sentence_and_none_and_leaves_the_model_as_it_was() -> None:
    model = build(dropout=0.5)
    model.decoder.eval()
    assert greedy(model, []) == []
    one = [3, 4, 5]
    assert greedy(model, [one]) == greedy(model, [one]) == greedy(model, [one, [7]])[:1], "no dropout meanwhile"
    with torch.no_grad():
        model.embedding.weight[BOS] *= 20  # so that BOS follows itself
    assert not {PAD, BOS} & {*greedy(model, [one])[0]}
    assert model.training and model.encoder.training and not model.decoder.training
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())


def test_attention_weights_are_those_that_the_model_uses() -> None:
    model, pairs = build(), sentences(5, [4, 9])
    src, tgt_in, _ = collate(pairs)
    for layer in 0, 1:
        weights = cross_attention(model, src, tgt_in, layer)
        assert weights.shape == (2, 2, tgt_in.shape[1], src.shape[1])
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
        assert not weights[0, :, :, 5:].any(), "padding is looked at"
    attention, seen = model.decoder[0].cross_attention, []
    hook = attention.register_forward_hook(lambda module, args, out: seen.append((args, out)))
    with torch.inference_mode():
        model(src, tgt_in)
    hook.remove()
    (_, (_, values), _), out = seen[0]
    with torch.inference_mode():
        mixed = cross_attention(model, src, tgt_in, 0) @ values
        torch.testing.assert_close(attention.out(mixed.transpose(1, 2).flatten(2)), out)


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="10 with 4 heads"):
        Transformer(VOCABULARY, d_model=10, heads=4)


def test_the_same_seed_builds_the_same_model() -> None:
    for one, other in zip(build(7).parameters(), build(7).parameters(), strict=True):
        assert torch.equal(one, other)


def train(rank: int, size: int, pairs: list[Pair], steps: int) -> tuple[list[float], list[float]]:
    """Losses per token of each step, and the last weights, of `size` ranks that share each batch of 10 sentences."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    model = build()
    network = DistributedDataParallel(model) if size > 1 else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in range(steps):
        batch = pairs[10 * step : 10 * step + 10]
        src, tgt_in, tgt_out = collate(batch[rank::size])
        loss = loss_fn(network(src, tgt_in), tgt_out)
        totals = torch.stack([loss.detach(), (tgt_out != PAD).sum().double()])
        if size > 1:
            dist.all_reduce(totals)
        optimizer.zero_grad()
        (loss * size / totals[1]).backward()
        optimizer.step()
        losses.append(float(totals[0] / totals[1]))
    return losses, [weight for parameter in model.parameters() for weight in parameter.flatten()[:20].tolist()]


def test_four_ranks_train_it_step_by_step_as_one_process_does(world: World) -> None:
    rng = random.Random(6)
    pairs = sentences(6, [rng.randint(0, 15) for _ in range(60)])
    alone = train(0, 1, pairs, 6)
    assert alone[0][-1] < alone[0][0]
    for losses, weights in world.run(train, RANK, SIZE, pairs, 6, init="torch", deadline=120):
        assert losses == pytest.approx(alone[0], rel=1e-9)
        assert weights == pytest.approx(alone[1], rel=1e-7, abs=1e-9)
