"""Text to text: translations come in the order of the sentences, are scored, and settings do what they say."""

from __future__ import annotations

import pytest
import torch

from course.models.translator.scores import score
from course.models.translator.tokens import train_tokenizer
from course.models.translator.transformer import greedy
from course.models.translator.translation import LONGEST, build_model, build_optimizer, translate, warm_up_and_decay

SENTENCES = ["Peru", "3 hours ago or 5 days ago", "June", "Monday, June 3, or Tuesday"]


def test_each_sentence_gets_its_own_translation_in_batches_of_any_size() -> None:
    tokenizer = train_tokenizer(SENTENCES, 300)
    model = build_model(len(tokenizer)).double()
    with torch.no_grad():  # so that an untrained model does not repeat one token for ever
        for name, weight in model.named_parameters():
            weight.mul_(0.3 if "embedding" in name else 1 if "norm" in name else 3)
    alone = [tokenizer.decode(greedy(model, [tokenizer.encode(text)], LONGEST)[0]) for text in SENTENCES]
    assert len(set(alone)) > 1
    for batch in 1, 3, 100:
        assert translate(model, tokenizer, SENTENCES, batch) == alone
    assert translate(model, tokenizer, []) == []


def test_a_model_is_the_same_for_the_same_seed_and_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    one, same, other = (build_model(300, seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["embedding.weight"], other["embedding.weight"])


def test_the_rate_grows_then_falls_in_a_line() -> None:
    optimizer = build_optimizer(torch.nn.Linear(2, 2), lr=1.0)
    schedule = warm_up_and_decay(optimizer, steps=100, warm_up=4)
    rates = []
    for _ in range(110):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert rates[:5] == pytest.approx([0.25, 0.5, 0.75, 1, 1])
    assert rates[52] == pytest.approx(0.5)
    assert rates[100:] == pytest.approx([0.01] * 10)


def test_scores_are_exact_match_bleu_and_chrf_of_all_sentences_together() -> None:
    references = ["tre ore fa e cinque giorni fa", "il Perù o la Turchia", "giugno", "12,1 grammi"]
    right = score(references, references)
    assert right == pytest.approx((1, 100, 100))
    half = score([references[0], "la Turchia o il Perù", "luglio", "12,1 grammi"], references)
    assert half.exact == 0.5 and 20 < half.bleu < 90 and 40 < half.chrf < 95
    assert str(right) == "exact match 100%, BLEU 100.0, chrF 100.0"
    for wrong in [], references[:2]:
        with pytest.raises(ValueError, match="cannot be compared"):
            score(wrong, references if wrong else [])
