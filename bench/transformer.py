"""Lab 10's training and a plain loop as in common tutorials, in one run on the same pairs.

    python bench/transformer.py [--quick]
    python bench/transformer.py --quality [--steps 3000] [--checkpoint FILE]

The first command prints how many tokens of real text (both languages, no padding) each way trains on per second, and
the loss on held-out pairs after equally many steps of equally many sentences. Each rank has one thread. The plain loop,
see `plain_transformer.py`, pads every sentence to 350 tokens; ours uses lab 10's model, batches of similar lengths,
padded to their longest sentence, and the loss per token over all ranks. Both use the same optimizer and learning rate.
The goal is a ratio of 3. It takes some 10 minutes on two idle cores.

--quality trains longer, on 2 ranks, and prints exact match, BLEU and chrF of greedy translations of held-out pairs on
the way. It continues from the checkpoint if there is one. The goal is 60 % exact match.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import plain_transformer
import torch
from plain_transformer import PlainTransformer, plain_loader, plain_steps
from quality import train_for_quality
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from tqdm import tqdm

from course.data import sentence_pairs
from course.models.translator.bucketing import bucketing_loader, padding_shares
from course.models.translator.sentences import PAD, Pair, collate, loss_fn
from course.models.translator.tokens import train_tokenizer
from course.models.translator.transformer import Transformer, evaluating
from course.world import RANK, SIZE, World

WARM_UP = 2  # steps that are not timed: DistributedDataParallel rebuilds its buckets after the first
HEADS, LAYERS, BATCH = 4, 2, 16  # sentences of a rank's batch
STEPS = {128: 40, 512: 8}
QUICK = {128: 6, 512: 3}
RATES = {128: 1e-3, 512: 3e-4}
HELD_OUT = 32  # pairs for the loss at the end
GOAL = 3.0
WAYS = ("plain", "ours")


class Result(NamedTuple):
    """What one rank measured. tokens: of real text per second. padding: as a share of all tokens. loss: per token."""

    tokens: float
    padding: float
    loss: float
    parameters: int


def our_steps(network: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer, size: int) -> Iterator[int]:
    """Train as lab 10 does, endlessly; yields after each step the number of this rank's tokens in it, no padding."""
    epoch = 0
    while True:
        loader.sampler.set_epoch(epoch)
        for src, tgt_in, tgt_out in loader:
            tokens = (tgt_out != PAD).sum()
            if size > 1:
                torch.distributed.all_reduce(tokens)
            optimizer.zero_grad()
            (loss_fn(network(src, tgt_in), tgt_out) * size / tokens).backward()
            optimizer.step()
            yield int((src != PAD).sum() + (tgt_out != PAD).sum())
        epoch += 1


def measure(
    way: str, d_model: int, steps: int, pairs: list[Pair], held_out: list[Pair], vocabulary: int, rank: int, size: int
) -> Result:
    """Train one way on this rank of `size`."""
    torch.manual_seed(0)
    plain = way == "plain"
    model = (PlainTransformer if plain else Transformer)(vocabulary, d_model=d_model, heads=HEADS, layers=LAYERS)
    network = DistributedDataParallel(model) if size > 1 else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATES[d_model], betas=(0.9, 0.98))
    if plain:
        loader = plain_loader(pairs, BATCH, rank, size)
        training = plain_steps(network, loader, optimizer)
        real = sum(len(source) + len(target) + 2 for source, target in pairs)
        padding = 1 - real / (2 * plain_transformer.LENGTH * len(pairs))
    else:
        loader = bucketing_loader(pairs, 10**9, rank, size, sentences=BATCH)
        training = our_steps(network, loader, optimizer, size)
        shares = padding_shares(pairs, list(loader.sampler))
        padding = sum(shares) / len(shares)
    for _ in range(WARM_UP):
        next(training)
    began = time.perf_counter()
    tokens = sum(next(training) for _ in range(steps - WARM_UP))
    seconds = time.perf_counter() - began
    return Result(tokens / seconds, padding, held_out_loss(model, held_out, plain), parameters(model))


def parameters(model: nn.Module) -> int:
    """Number of trained parameters."""
    return sum(parameter.numel() for parameter in model.parameters())


def held_out_loss(model: nn.Module, pairs: list[Pair], plain: bool) -> float:
    """Cross-entropy per target token, with batches like the model's in training."""
    total, tokens = 0.0, 0
    padded = plain_transformer.PaddedPairs(pairs)
    with evaluating(model):
        for first in range(0, len(pairs), BATCH):
            rows = range(first, min(first + BATCH, len(pairs)))
            batch = [padded[row] for row in rows]
            parts = map(torch.stack, zip(*batch, strict=True)) if plain else collate([pairs[row] for row in rows])
            src, tgt_in, tgt_out = parts
            total += float(loss_fn(model(src, tgt_in), tgt_out))
            tokens += int((tgt_out != PAD).sum())
    return total / tokens


def compare(steps: dict[int, int]) -> None:
    """Measure all ways, widths and sizes, and print a table."""
    data = sentence_pairs(4000, HELD_OUT)
    tokenizer = train_tokenizer(text for pair in data.train for text in pair)
    common = (tokenizer.encode_pairs(data.train), tokenizer.encode_pairs(data.held_out), len(tokenizer))
    print(f"{data.source}; {BATCH} sentences a batch and rank, {LAYERS} + {LAYERS} layers, one thread a rank")
    print("d_model  ranks  way    parameters  padding  real tokens/s  ratio  loss after steps")
    runs = [(d_model, size, way) for d_model in steps for size in (1, 2) for way in WAYS]
    ratios, plain = [], 1.0
    with World(2, progress=False) as world, tqdm(total=len(runs), desc="runs", leave=False) as bar:
        for d_model, size, way in runs:
            arguments: tuple[Any, ...] = (way, d_model, steps[d_model], *common, RANK, SIZE)
            results = world.run(measure, *arguments, size=size, init="torch", deadline=1800)
            tokens, first = sum(result.tokens for result in results), results[0]
            plain = tokens if way == "plain" else plain
            ratios += [tokens / plain] if way == "ours" else []
            bar.update()
            bar.write(
                f"{d_model:7}  {size:5}  {way:5}  {first.parameters:10,}  {first.padding:7.0%}  {tokens:13,.0f}"
                f"  {tokens / plain:5.2f}  {first.loss:.3f} after {steps[d_model]}"
            )
    print(f"least ratio {min(ratios):.1f}, goal {GOAL:.0f}: {'met' if min(ratios) >= GOAL else 'MISSED'}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few steps: rough ratios in some two minutes")
    parser.add_argument("--quality", action="store_true", help="train longer, and score translations")
    parser.add_argument("--steps", type=int, default=3000, help="how long --quality trains (default: 3000)")
    parser.add_argument("--checkpoint", type=Path, help="file that --quality goes on from (default: a temporary one)")
    arguments = parser.parse_args()
    cloudpickle.register_pickle_by_value(plain_transformer)  # ranks cannot import it: it is in no package
    if not arguments.quality:
        compare(QUICK if arguments.quick else STEPS)
        return
    with tempfile.TemporaryDirectory() as folder:
        train_for_quality(arguments.checkpoint or Path(folder) / "checkpoint.pt", arguments.steps)


if __name__ == "__main__":
    main()
