"""A longer training as in lab 10, for `bench/transformer.py --quality`: how good do its translations become?

Training is divided into stretches. Each starts from the checkpoint and ends by writing it, so a run can be stopped at
any time and continued. After each stretch, the held-out pairs are translated.
"""

from __future__ import annotations

import math
import os
import sys
import time
from pathlib import Path

import cloudpickle
import torch
from torch.nn.parallel import DistributedDataParallel

from course.data import Pairs, sentence_pairs
from course.models.translator.bucketing import bucketing_loader
from course.models.translator.scores import score
from course.models.translator.sentences import PAD, Pair, loss_fn
from course.models.translator.tokens import train_tokenizer
from course.models.translator.translation import build_model, build_optimizer, translate, warm_up_and_decay
from course.world import RANK, SIZE, World

RANKS = 2
PAIRS, HELD_OUT = 20_000, 200
WIDTH, RATE = 64, 4e-3
TOKENS = 400  # budget of a rank's batch, on its longer side
STRETCH = 500  # steps
WARM_UP = 100  # steps
SHOWN = 8  # translations at the end
GOAL = 0.6


def train_on(path: str, stretch: int, total: int, pairs: list[Pair], vocabulary: int, rank: int, size: int) -> float:
    """Train `stretch` more steps of `total`, from the checkpoint at `path` if there is one.

    Returns the mean loss per token. Raises RuntimeError for a checkpoint of another model.
    """
    model = build_model(vocabulary, d_model=WIDTH)
    optimizer = build_optimizer(model, RATE)
    schedule = warm_up_and_decay(optimizer, total, WARM_UP)
    done = 0
    if os.path.exists(path):
        saved = torch.load(path, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        done = saved["step"]
    network = DistributedDataParallel(model)
    loader = bucketing_loader(pairs, TOKENS, rank, size)
    losses = []
    for step in range(done, min(done + stretch, total)):
        if step == done or step % len(loader) == 0:
            loader.sampler.set_epoch(step // len(loader))
            batches = iter(loader)
            for _ in range(step % len(loader)):  # skip the batches of the last stretch
                next(batches)
        src, tgt_in, tgt_out = next(batches)
        tokens = (tgt_out != PAD).sum()
        torch.distributed.all_reduce(tokens)
        optimizer.zero_grad()
        loss = loss_fn(network(src, tgt_in), tgt_out) * size / tokens
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(float(loss))
    if rank == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
        torch.save({**state, "step": done + len(losses)}, f"{path}.part")
        os.replace(f"{path}.part", path)
    torch.distributed.barrier()
    return sum(losses) / len(losses) if losses else math.nan


def train_for_quality(checkpoint: Path, total: int) -> None:
    """Train for `total` steps, while the learning rate falls to 1 %, and print scores after each stretch."""
    data: Pairs = sentence_pairs(PAIRS, HELD_OUT)
    tokenizer = train_tokenizer(text for pair in data.train for text in pair)
    pairs = tokenizer.encode_pairs(data.train)
    print(f"{data.source}; d_model {WIDTH}, {RANKS} ranks, {total} steps")
    sources, references = zip(*data.held_out, strict=True)
    model, spent, step = build_model(len(tokenizer), d_model=WIDTH), 0.0, 0
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # ranks cannot import it: it is in no package
    with World(RANKS, progress=False) as world:
        while step < total:  # runs once even if the checkpoint is complete, which is then only scored
            began = time.perf_counter()
            arguments = (str(checkpoint), STRETCH, total, pairs, len(tokenizer), RANK, SIZE)
            losses = world.run(train_on, *arguments, init="torch", deadline=3600)
            spent += time.perf_counter() - began
            saved = torch.load(checkpoint, weights_only=True)
            model.load_state_dict(saved["model"])
            step = saved["step"]
            translations = translate(model, tokenizer, sources)
            scores = score(translations, references)
            print(f"step {step:5}, {spent:4.0f} s: loss {sum(losses) / RANKS:.3f}, {scores}", flush=True)
    for source, reference, translation in list(zip(sources, references, translations, strict=True))[:SHOWN]:
        mark = "right" if translation == reference else f"wrong, {reference} is"
        print(f"    {source} -> {translation} ({mark})")
    print(f"exact match {scores.exact:.0%}, goal {GOAL:.0%}: {'met' if scores.exact >= GOAL else 'MISSED'}")
