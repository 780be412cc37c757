"""How fast lab 10's model trains on one device."""

from __future__ import annotations

import time

import torch

from course.data import sentence_pairs
from course.models.translator.bucketing import bucketing_loader
from course.models.translator.sentences import PAD, loss_fn
from course.models.translator.tokens import train_tokenizer
from course.models.translator.transformer import Transformer

WARM_UP = 3  # steps that are not timed
SECONDS = 8  # that are timed
SENTENCES = 64  # of a batch


def tokens_per_second(d_model: int, device: str) -> float:
    """Tokens of real text, in both languages, without padding, on which the model trains per second."""
    torch.manual_seed(0)
    pairs = sentence_pairs(4000, 32).train
    tokenizer = train_tokenizer(text for pair in pairs for text in pair)
    loader = bucketing_loader(tokenizer.encode_pairs(pairs), 10**9, 0, 1, sentences=SENTENCES)
    model = Transformer(len(tokenizer), d_model=d_model, heads=4, layers=2).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    began, step, tokens = time.perf_counter(), 0, 0
    while step <= WARM_UP or time.perf_counter() - began < SECONDS:
        for batch in loader:
            if step == WARM_UP:
                wait(device)
                began, tokens = time.perf_counter(), 0
            source, target, right = (each.to(device) for each in batch)
            real = int((batch[2] != PAD).sum())
            optimizer.zero_grad()
            (loss_fn(model(source, target), right) / real).backward()
            optimizer.step()
            tokens += int((batch[0] != PAD).sum()) + real
            step += 1
            if step > WARM_UP and time.perf_counter() - began > SECONDS:
                break
    wait(device)
    return tokens / (time.perf_counter() - began)


def wait(device: str) -> None:
    """Return when the device has done what it was given."""
    if device == "cuda":
        torch.cuda.synchronize()
