"""A translation loop as in common tutorials, to which `bench/transformer.py` compares lab 10's training.

It uses torch's `nn.Transformer` as it comes (post-norm, ReLU), pads every sentence to 350 tokens, and takes batches in
random order and each rank's mean loss. Width, depth, tied embedding, optimizer and dropout are those of lab 10's model,
so it has as many parameters except biases and norms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from course.models.translator.sentences import BOS, EOS, PAD, Pair

LENGTH = 350  # tokens to which every sentence is padded, as in widely copied tutorials for opus_books


class PaddedPairs(Dataset):
    """Pairs as (source, decoder input, label), each int64 [LENGTH]."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, Tensor]:
        source, target = self.pairs[index]
        return self.padded([*source, EOS]), self.padded([BOS, *target]), self.padded([*target, EOS])

    def padded(self, ids: list[int]) -> Tensor:
        """The ids as int64 [LENGTH]. Raises ValueError for a longer sentence."""
        if len(ids) > LENGTH:
            raise ValueError(f"Sentence of {len(ids)} tokens is too long for {LENGTH}.")
        return torch.tensor(ids + [PAD] * (LENGTH - len(ids)))


class PositionalEncoding(nn.Module):
    """Adds sinusoids to [B, LENGTH, D]."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        position = torch.arange(LENGTH).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, LENGTH, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        """x: [B, T, D]."""
        return x + self.pe[:, : x.shape[1]]


class PlainTransformer(nn.Module):
    """src [B, S], tgt_in [B, T] -> logits [B, T, V]."""

    def __init__(self, vocabulary: int, d_model: int, heads: int, layers: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.positional_encoding = PositionalEncoding(d_model)
        self.transformer = nn.Transformer(
            d_model, heads, layers, layers, dim_feedforward=4 * d_model, dropout=0.0, batch_first=True
        )
        self.generator = nn.Linear(d_model, vocabulary, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.generator.weight = self.embedding.weight

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Makes new masks for each batch."""
        causal = torch.triu(torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool), diagonal=1)
        source, target = (
            self.positional_encoding(self.embedding(ids) * math.sqrt(self.d_model)) for ids in (src, tgt_in)
        )
        output = self.transformer(
            source,
            target,
            tgt_mask=causal.to(src.device),
            src_key_padding_mask=src == PAD,
            tgt_key_padding_mask=tgt_in == PAD,
            memory_key_padding_mask=src == PAD,
        )
        return self.generator(output)


def plain_loader(pairs: Sequence[Pair], batch: int, rank: int, size: int) -> DataLoader:
    """A loader of batches of `batch` sentences for this rank."""
    dataset = PaddedPairs(pairs)
    return DataLoader(dataset, batch, sampler=DistributedSampler(dataset, num_replicas=size, rank=rank))


def plain_steps(network: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer) -> Iterator[int]:
    """Train endlessly; yields after each step the number of this rank's tokens in it, both languages, no padding."""
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    epoch = 0
    while True:
        loader.sampler.set_epoch(epoch)
        for src, tgt_in, tgt_out in loader:
            optimizer.zero_grad()
            logits = network(src, tgt_in)
            loss = criterion(logits.view(-1, logits.shape[-1]), tgt_out.view(-1))
            loss.backward()
            optimizer.step()
            yield int((src != PAD).sum() + (tgt_out != PAD).sum())
        epoch += 1
