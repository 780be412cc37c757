"""The translation lab's model: an encoder-decoder Transformer (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762),
built as models are today.

What differs from the paper: each sublayer is normalised before it, not after (pre-norm: Xiong et al. 2020,
https://arxiv.org/abs/2002.04745), which trains without a delicate warm-up; one matrix embeds sources and targets and
gives the logits (Press and Wolf 2017, https://arxiv.org/abs/1608.05859), as both languages share a vocabulary; linear
layers and norms have no bias; attention is torch's fused `scaled_dot_product_attention`, which never stores the
[T, S] matrix of weights where it can do without.

B sentences in a batch, S and T tokens in the longest source and target, V tokens in the vocabulary, D = d_model,
H heads of D / H numbers each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear, scaled_dot_product_attention

from course.sentences import BOS, EOS, PAD, padded

KeysValues = tuple[Tensor, Tensor]  # both [B, H, S, D / H]


class Attention(nn.Module):
    """Each token of one sequence takes what it looks for from another, or the same: [B, T, D] -> [B, T, D]."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key_value = nn.Linear(d_model, 2 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, keys_values: KeysValues, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """x: [B, T, D]. keys_values: of the S tokens to look at. mask: [B, 1, 1, S], True where a token may be seen.

        causal: token t of `x` sees none after number t.
        """
        mixed = scaled_dot_product_attention(self.queries(x), *keys_values, attn_mask=mask, is_causal=causal)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def queries(self, x: Tensor) -> Tensor:
        """What the tokens of x [B, T, D] look for: [B, H, T, D / H]."""
        return self.split(self.query(x))

    def keys_values(self, context: Tensor) -> KeysValues:
        """What the tokens of context [B, S, D] are found by, and what they give."""
        key, value = self.key_value(context).chunk(2, dim=-1)
        return self.split(key), self.split(value)

    def split(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, H, T, D / H]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def weights(self, x: Tensor, keys_values: KeysValues, mask: Tensor) -> Tensor:
        """How much each token of `x` takes from each of the others: [B, H, T, S], rows sum to 1. For pictures."""
        queries, keys = self.queries(x), keys_values[0]
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
        return scores.masked_fill(~mask, -math.inf).softmax(-1)


class FeedForward(nn.Module):
    """Two layers, the hidden one four times as wide, on each token by itself: [B, T, D] -> [B, T, D]."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(d_model, 4 * d_model, bias=False)
        self.out = nn.Linear(4 * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """x: [B, T, D]."""
        return self.out(gelu(self.hidden(x)))


class EncoderLayer(nn.Module):
    """Source tokens look at each other: [B, S, D] -> [B, S, D]."""

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
    """Target tokens look at those before them, then at the encoded source: [B, T, D] -> [B, T, D]."""

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norms = norms(3, d_model)
        self.attention = Attention(d_model, heads)
        self.cross_attention = Attention(d_model, heads)
        self.feed_forward = FeedForward(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Memory) -> Tensor:
        """x: [B, T, D]. The tokens before those of `x`, if there are any, are in `memory`; those of `x` come to them.

        PAD of a target needs no mask of its own: it comes after all tokens, and no token looks ahead.
        """
        normal = self.norms[0](x)
        first = memory.seen is None
        memory.add(self.attention.keys_values(normal))
        x = x + self.dropout(self.attention(normal, memory.seen, causal=first))
        x = x + self.dropout(self.cross_attention(self.norms[1](x), memory.source, memory.mask))
        return x + self.dropout(self.feed_forward(self.norms[2](x)))


class Memory:
    """What a decoder layer looks at: the source, and the target's tokens so far, so that each is worked out only once.

    source: keys and values of the encoded source, see `Attention.keys_values`. mask: [B, 1, 1, S], False at its PAD.
    """

    def __init__(self, source: KeysValues, mask: Tensor) -> None:
        self.source = source
        self.mask = mask
        self.seen: KeysValues | None = None

    def add(self, new: KeysValues) -> None:
        """Keys and values of the target's next tokens."""
        self.seen = new if self.seen is None else tuple(map(torch.cat, zip(self.seen, new, strict=True), (2, 2)))

    def keep(self, rows: Tensor) -> None:
        """Only these rows, bool [B], of the batch go on."""
        self.source, self.seen = (tuple(each[rows] for each in pair) for pair in (self.source, self.seen))
        self.mask = self.mask[rows]


class Transformer(nn.Module):
    """An encoder and a decoder of `layers` layers each over one vocabulary: src [B, S], tgt_in [B, T] -> [B, T, V].

    vocabulary: V, number of tokens. d_model: D, a multiple of twice `heads`. dropout: of what each sublayer adds; with
    0 the same input always gives the same output. The weights are drawn from torch's global generator.
    """

    def __init__(
        self, vocabulary: int, d_model: int = 128, heads: int = 4, layers: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if d_model % (2 * heads):
            raise ValueError(f"d_model must be a multiple of twice the number of heads: {d_model} with {heads} heads")
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.scale = d_model / 8  # of embeddings that enter; those of d_model 64 have Vaswani et al.'s sqrt(d_model)
        self.encoder = nn.ModuleList(EncoderLayer(d_model, heads, dropout) for _ in range(layers))
        self.encoder_norm = nn.LayerNorm(d_model, bias=False)
        self.decoder = nn.ModuleList(DecoderLayer(d_model, heads, dropout) for _ in range(layers))
        self.decoder_norm = nn.LayerNorm(d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.initialise(layers)

    def initialise(self, layers: int) -> None:
        """Draw weights so that tokens enter with a variance of 1, and logits leave alike at every width.

        Tied, a token just read scores about D x std as the next one: so std falls with D, not with its root (as in Yang
        et al. 2022, https://arxiv.org/abs/2203.03466). What is added to the residual stream starts smaller the deeper
        the model is (Radford et al. 2019, GPT-2).
        """
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                gain = (2 * layers) ** -0.5 if name.endswith("out") else 1.0
                nn.init.xavier_uniform_(module.weight, gain)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Logits [B, T, V] of the token that follows each of tgt_in [B, T], given src [B, S]; both int64.

        Rows are filled up with PAD at their end; each source holds another token, as `course.sentences.collate` does.
        """
        return self.logits(self.decode(tgt_in, self.encode(src)))

    def encode(self, src: Tensor) -> list[Memory]:
        """What each decoder layer is to know of src [B, S]."""
        x, mask = self.embed(src), (src != PAD)[:, None, None, :]
        for layer in self.encoder:
            x = layer(x, mask)
        x = self.encoder_norm(x)
        return [Memory(layer.cross_attention.keys_values(x), mask) for layer in self.decoder]

    def decode(self, tgt_in: Tensor, memories: Sequence[Memory], first: int = 0) -> Tensor:
        """The target's tokens tgt_in [B, T], of which number `first` is the first -> [B, T, D].

        After the first call with the same memories, of which each goes on where the last one ended, T is 1.
        """
        x = self.embed(tgt_in, first)
        for layer, memory in zip(self.decoder, memories, strict=True):
            x = layer(x, memory)
        return self.decoder_norm(x)

    def embed(self, ids: Tensor, first: int = 0) -> Tensor:
        """ids [B, T] -> [B, T, D]: what each token is, and where it stands, from position `first` on."""
        x = self.embedding(ids) * self.scale
        return self.dropout(x + positions(x, first))

    def logits(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> [B, T, V]: how well each token of the vocabulary fits."""
        return linear(x, self.embedding.weight)


def norms(count: int, d_model: int) -> nn.ModuleList:
    """One norm for each sublayer."""
    return nn.ModuleList(nn.LayerNorm(d_model, bias=False) for _ in range(count))


def positions(x: Tensor, first: int = 0) -> Tensor:
    """Vaswani et al.'s sinusoids [T, D] for x [B, T, D], on its device and in its type, from position `first` on.

    Nothing to learn and no longest sentence; wavelengths go from 2 pi to 20,000 pi tokens.
    """
    length, half = x.shape[1], x.shape[2] // 2
    speeds = torch.exp(torch.arange(half, device=x.device) * (-math.log(10_000) / half))
    angles = torch.arange(first, first + length, device=x.device)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=-1).to(x.dtype)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """`model` in eval mode and without gradients; the mode of each of its modules is put back afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in modes:
            module.training = training


def greedy(model: Transformer, sources: Sequence[Sequence[int]], longest: int = 100) -> list[list[int]]:
    """The translation of each source, by taking the most likely next token until that is EOS.

    sources, results: ids without PAD, BOS and EOS. longest: tokens after which a translation is cut off. All sources
    make one batch, encoded once; those that are done leave it.
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
            logits[:, [PAD, BOS]] = -math.inf  # neither can follow, whatever an untrained model thinks
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
    """How much each target token takes from each source token: [B, H, T, S], rows sum to 1, of one decoder layer.

    src: [B, S], tgt_in: [B, T]. Training never computes these weights as such, see `Attention.forward`: they are worked
    out here from what goes into the layer's attention.
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
