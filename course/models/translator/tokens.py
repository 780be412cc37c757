"""Text to token ids and back: byte-level BPE, trained on the sentences that are to be translated.

Tokens are letters that often occur together (Sennrich et al. 2016, https://arxiv.org/abs/1508.07909), and single bytes
for the rest (Radford et al. 2019, GPT-2), so every text has ids and comes back unchanged. Each digit is a token, so
that unseen numbers are spelt like all others. Both languages share one vocabulary: many names are the same in both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from course.models.translator.sentences import BOS, EOS, PAD, Pair

RESERVED = {PAD: "PAD", BOS: "BOS", EOS: "EOS"}  # no text has these ids: the library's tokens come after them
# No token crosses the end of a word, a digit or a run of signs; each includes the space before it.
WORDS = Regex(r" ?[\p{L}\p{M}]+| ?\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s")


class SentenceTokenizer:
    """Encodes and decodes text; made by `train_tokenizer`, and can be sent to ranks. len(): size of the vocabulary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size() + len(RESERVED)

    def __repr__(self) -> str:
        return f"SentenceTokenizer of {len(self)} tokens"

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, without PAD, BOS and EOS."""
        # With a space in front, the first word of a sentence has the same ids as anywhere else.
        return [number + len(RESERVED) for number in self.tokenizer.encode(f" {text}").ids]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids. PAD, BOS and EOS have none; bytes that are not UTF-8 become U+FFFD."""
        numbers = [number - len(RESERVED) for number in ids if number not in RESERVED]
        return self.tokenizer.decode(numbers).removeprefix(" ")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token, for display: spaces as "·", PAD, BOS and EOS by name."""
        return [
            RESERVED.get(number) or self.tokenizer.decode([number - len(RESERVED)]).replace(" ", "·") for number in ids
        ]

    def encode_pairs(self, pairs: Iterable[tuple[str, str]]) -> list[Pair]:
        """Pairs of sentences (source, target) as ids, for `course.models.translator.sentences.collate`."""
        return [(self.encode(source), self.encode(target)) for source, target in pairs]


def train_tokenizer(texts: Iterable[str], vocabulary: int = 1000) -> SentenceTokenizer:
    """Train a tokenizer on `texts`; the same texts in the same order give the same one.

    vocabulary: number of tokens, including PAD, BOS, EOS and the 256 bytes; there are fewer if the texts have no more
    to merge. Raises ValueError below 259.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if vocabulary < len(alphabet) + len(RESERVED):
        raise ValueError(f"A vocabulary has at least {len(alphabet) + len(RESERVED)} tokens, not {vocabulary}.")
    # Threads would bring little here, and cause a warning in every process that forks later, as data loaders do.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(WORDS, behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary - len(RESERVED), initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator((f" {text}" for text in texts), trainer)
    return SentenceTokenizer(tokenizer)
