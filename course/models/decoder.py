"""A small Transformer that predicts the next token."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Layer(nn.Module):
    """Attention to the tokens up to this one, then two matrices. No biases."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.queries, self.keys, self.values, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """x: [sequences, length, width]; so is the result."""
        normed = functional.layer_norm(x, x.shape[-1:])
        scores = self.queries(normed) @ self.keys(normed).mT / x.shape[-1] ** 0.5
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        x = x + self.out(scores.masked_fill(later, float("-inf")).softmax(-1) @ self.values(normed))
        return x + self.down(functional.gelu(self.up(functional.layer_norm(x, x.shape[-1:]))))


class Decoder(nn.Module):
    """An embedding, some layers, and a matrix that gives each token of the vocabulary a score."""

    def __init__(self, layers: int, width: int, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, hidden) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens: integers [sequences, length]. Returns scores [sequences, length, vocabulary]."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
