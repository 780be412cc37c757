"""An encoder-decoder Transformer (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762), built as models are today.

What differs from the paper: each sublayer normalises its input, not its output (pre-norm: Xiong et al. 2020,
https://arxiv.org/abs/2002.04745), which trains without a delicate warm-up; one matrix embeds sources and targets and
gives the logits (Press and Wolf 2017, https://arxiv.org/abs/1608.05859), as both languages share a vocabulary; linear
layers and norms have no bias; attention is torch's fused `scaled_dot_product_attention`, which avoids storing the
[T, S] matrix of weights where it can.

Shapes: B sentences in a batch, S and T tokens in the longest source and target, V tokens in the vocabulary,
D = d_model, H heads of D / H numbers each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear, scaled_dot_product_attention

from course.models.translator.sentences import BOS, EOS, PAD, padded

KeysValues = tuple[Tensor, Tensor]  # both [B, H, S, D / H]


class Attention(nn.Module):
    """Each token of a sequence gathers information from another sequence, or its own: [B, T, D] -> [B, T, D]."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key_value = nn.Linear(d_model, 2 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, keys_values: KeysValues, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """x: [B, T, D]. keys_values: of the S tokens to attend to. mask: [B, 1, 1, S], False for tokens to ignore.

        causal: token t of `x` attends to tokens up to t only.
        """
        mixed = scaled_dot_product_attention(self.queries(x), *keys_values, attn_mask=mask, is_causal=causal)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def queries(self, x: Tensor) -> Tensor:
        """Queries [B, H, T, D / H] of the tokens x [B, T, D]."""
        return self.split(self.query(x))

    def keys_values(self, context: Tensor) -> KeysValues:
        """Keys and values of the tokens context [B, S, D]."""
        key, value = self.key_value(context).chunk(2, dim=-1)
        return self.split(key), self.split(value)

    def split(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, H, T, D / H]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def weights(self, x: Tensor, keys_values: KeysValues, mask: Tensor) -> Tensor:
        """Attention weights [B, H, T, S] of each token of `x`; rows sum to 1. For pictures."""
        queries, keys = self.queries(x), keys_values[0]
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
        return scores.masked_fill(~mask, -math.inf).softmax(-1)


class FeedForward(nn.Module):
    """Two layers, the hidden one four times as wide, on each token separately: [B, T, D] -> [B, T, D]."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(d_model, 4 * d_model, bias=False)
        self.out = nn.Linear(4 * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """x: [B, T, D]."""
        return self.out(gelu(self.hidden(x)))


class EncoderLayer(nn.Module):
    """Source tokens attend to each other: [B, S, D] -> [B, S, D]."""

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norms = norms(2, d_model)
        self.attention = Attention(d_model, heads)
        self.feed_forward = FeedForward(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x: [B, S, D]. mask: [B, 1, 1, S], False at PAD."""
        normal = self.norms[0](x)
        x = x + self.dropout(self.attention(normal, self.attention.keys_values(normal), mask))
        return x + self.dropout(self.feed_forward(self.norms[1](x)))


class DecoderLayer(nn.Module):
    """Target tokens attend to those before them, then to the encoded source: [B, T, D] -> [B, T, D]."""

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norms = norms(3, d_model)
        self.attention = Attention(d_model, heads)
        self.cross_attention = Attention(d_model, heads)
        self.feed_forward = FeedForward(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Memory) -> Tensor:
        """x: [B, T, D]. memory: holds the tokens before those of `x`, if any; those of `x` are added.

        PAD in a target needs no mask: it comes after all tokens, and no token attends to later ones.
        """
        normal = self.norms[0](x)
        first = memory.target is None
        memory.add(self.attention.keys_values(normal))
        x = x + self.dropout(self.attention(normal, memory.target, causal=first))
        x = x + self.dropout(self.cross_attention(self.norms[1](x), memory.source, memory.mask))
        return x + self.dropout(self.feed_forward(self.norms[2](x)))


class Memory:
    """A decoder layer's cache of keys and values, of the source and of the target's tokens so far.

    source: of the encoded source, see `Attention.keys_values`. mask: [B, 1, 1, S], False at its PAD.
    """

    def __init__(self, source: KeysValues, mask: Tensor) -> None:
        self.source = source
        self.mask = mask
        self.target: KeysValues | None = None

    def add(self, new: KeysValues) -> None:
        """Add keys and values of the target's next tokens."""
        self.target = new if self.target is None else tuple(map(torch.cat, zip(self.target, new, strict=True), (2, 2)))

    def keep(self, rows: Tensor) -> None:
        """Keep only these rows, bool [B], of the batch."""
        self.source, self.target = (tuple(part[rows] for part in pair) for pair in (self.source, self.target))
        self.mask = self.mask[rows]


class Transformer(nn.Module):
    """An encoder and a decoder of `layers` layers each over one vocabulary: src [B, S], tgt_in [B, T] -> [B, T, V].

    vocabulary: V, number of tokens. d_model: D, a multiple of twice `heads`. dropout: of each sublayer's output; with
    0, equal inputs give equal outputs. The weights are drawn from torch's global generator.
    """

    def __init__(
        self, vocabulary: int, d_model: int = 128, heads: int = 4, layers: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if d_model % (2 * heads):
            raise ValueError(f"d_model must be a multiple of twice the number of heads: {d_model} with {heads} heads")
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.scale = d_model / 8  # of embeddings; for d_model 64 it is Vaswani et al.'s sqrt(d_model)
        self.encoder = nn.ModuleList(EncoderLayer(d_model, heads, dropout) for _ in range(layers))
        self.encoder_norm = nn.LayerNorm(d_model, bias=False)
        self.decoder = nn.ModuleList(DecoderLayer(d_model, heads, dropout) for _ in range(layers))
        self.decoder_norm = nn.LayerNorm(d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.initialise(layers)

    def initialise(self, layers: int) -> None:
        """Draw weights so that embedded tokens have a variance of 1, and logits are of one size at every width.

        With tied weights, the token just read gets a logit of about D x std: so std falls with D, not with its root (as
        in Yang et al. 2022, https://arxiv.org/abs/2203.03466). What sublayers add to the residual stream starts smaller
        in deeper models (Radford et al. 2019, GPT-2).
        """
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                gain = (2 * layers) ** -0.5 if name.endswith("out") else 1.0
                nn.init.xavier_uniform_(module.weight, gain)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Logits [B, T, V] of the token that follows each of tgt_in [B, T], given src [B, S]; both int64.

        Rows are padded with PAD at the end, and no source is PAD alone, see `course.models.translator.sentences`.
        """
        return self.logits(self.decode(tgt_in, self.encode(src)))

    def encode(self, src: Tensor) -> list[Memory]:
        """Encode src [B, S]. Returns the memory of each decoder layer."""
        x, mask = self.embed(src), (src != PAD)[:, None, None, :]
        for layer in self.encoder:
            x = layer(x, mask)
        x = self.encoder_norm(x)
        return [Memory(layer.cross_attention.keys_values(x), mask) for layer in self.decoder]

    def decode(self, tgt_in: Tensor, memories: Sequence[Memory], first: int = 0) -> Tensor:
        """Decode tgt_in [B, T], the target's tokens from position `first` on -> [B, T, D].

        Later calls with the same memories go on where the last one ended; they take T = 1.
        """
        x = self.embed(tgt_in, first)
        for layer, memory in zip(self.decoder, memories, strict=True):
            x = layer(x, memory)
        return self.decoder_norm(x)

    def embed(self, ids: Tensor, first: int = 0) -> Tensor:
        """ids [B, T] -> [B, T, D]: token and position embeddings, from position `first` on."""
        x = self.embedding(ids) * self.scale
        return self.dropout(x + positions(x, first))

    def logits(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> [B, T, V]."""
        return linear(x, self.embedding.weight)


def norms(count: int, d_model: int) -> nn.ModuleList:
    """A norm for each sublayer."""
    return nn.ModuleList(nn.LayerNorm(d_model, bias=False) for _ in range(count))


def positions(x: Tensor, first: int = 0) -> Tensor:
    """Vaswani et al.'s sinusoids [T, D] for x [B, T, D], on its device and in its type, from position `first` on.

    They need no training and set no maximum length; wavelengths go from 2 pi to 20,000 pi tokens.
    """
    length, half = x.shape[1], x.shape[2] // 2
    speeds = torch.exp(torch.arange(half, device=x.device) * (-math.log(10_000) / half))
    angles = torch.arange(first, first + length, device=x.device)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=-1).to(x.dtype)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put `model` in eval mode without gradients; restore the mode of each of its modules afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in modes:
            module.training = training


def greedy(model: Transformer, sources: Sequence[Sequence[int]], longest: int = 100) -> list[list[int]]:
    """Translate each source by taking the most likely next token until that is EOS.

    sources, results: ids without PAD, BOS and EOS. longest: tokens after which a translation is cut off. All sources
    form one batch, encoded once; those that are done leave it.
    """
    if not sources:
        return []
    device = model.embedding.weight.device
    results: list[list[int]] = [[] for _ in sources]
    with evaluating(model):
        memories = model.encode(padded([[*source, EOS] for source in sources]).to(device))
        going = list(range(len(sources)))
        token = torch.full((len(sources), 1), BOS, device=device)
        for position in range(longest):
            logits = model.logits(model.decode(token, memories, position))[:, 0]
            logits[:, [PAD, BOS]] = -math.inf  # neither can follow, even if an untrained model prefers it
            token = logits.argmax(-1)
            stay = token != EOS
            if not bool(stay.all()):
                going = [row for row, stays in zip(going, stay.tolist(), strict=True) if stays]
                token = token[stay]
                for memory in memories:
                    memory.keep(stay)
            if not going:
                break
            for row, number in zip(going, token.tolist(), strict=True):
                results[row].append(number)
            token = token[:, None]
    return results


def cross_attention(model: Transformer, src: Tensor, tgt_in: Tensor, layer: int = -1) -> Tensor:
    """One decoder layer's attention weights of each target token to each source token: [B, H, T, S], rows sum to 1.

    src: [B, S], tgt_in: [B, T]. `Attention.forward` never holds these weights; here they are computed from its inputs.
    """
    attention = model.decoder[layer].cross_attention
    inputs: list[tuple[Tensor, ...]] = []
    hook = attention.register_forward_pre_hook(lambda module, args: inputs.append(args))
    try:
        with evaluating(model):
            model(src, tgt_in)
            return attention.weights(*inputs[0])
    finally:
        hook.remove()
