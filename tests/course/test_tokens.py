"""Token ids of sentences: any text comes back, reserved ids stay free, and every process has the same ones."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from course.data import sentence_pairs
from course.models.translator.sentences import BOS, EOS, PAD
from course.models.translator.tokens import SentenceTokenizer, train_tokenizer


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Sentences of both languages."""
    return [text for pair in sentence_pairs(1000, 100).train for text in pair]


@pytest.fixture(scope="module")
def tokenizer(texts: list[str]) -> SentenceTokenizer:
    return train_tokenizer(texts)


STRANGE = [
    "",
    " ",
    "  two  spaces ",
    "[EOS] PAD <s>",
    "line\nand\ttab",
    "é e\u0301 ñ",
    "日本語 🎉",
    "1.234,56 € l'anno",
]


@pytest.mark.parametrize("text", STRANGE)
def test_any_text_comes_back_as_it_was(tokenizer: SentenceTokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(type(number) is int and max(PAD, BOS, EOS) < number < len(tokenizer) for number in ids)


def test_held_out_sentences_come_back_in_few_tokens(tokenizer: SentenceTokenizer) -> None:
    for pair in sentence_pairs(1000, 100).held_out:
        for text, ids in zip(pair, tokenizer.encode_pairs([pair])[0], strict=True):
            assert tokenizer.decode(ids) == text
            assert len(ids) <= len(text)


def test_reserved_ids_have_no_text(tokenizer: SentenceTokenizer) -> None:
    assert tokenizer.decode([BOS, *tokenizer.encode("3 ore fa"), EOS, PAD, PAD]) == "3 ore fa"
    assert tokenizer.pieces([BOS, *tokenizer.encode("12"), EOS, PAD]) == ["BOS", "·1", "2", "EOS", "PAD"]


def test_digits_stay_single(tokenizer: SentenceTokenizer) -> None:
    assert [piece.strip("·") for piece in tokenizer.pieces(tokenizer.encode("2010, 2010"))] == [*"2010,2010"]


def test_a_word_has_the_same_ids_wherever_it_stands(tokenizer: SentenceTokenizer) -> None:
    assert tokenizer.encode("Peru Peru") == 2 * tokenizer.encode("Peru")


def test_the_vocabulary_is_as_large_as_asked_for_or_as_there_are_pieces(texts: list[str]) -> None:
    assert len(train_tokenizer(texts, 500)) == 500
    assert len(train_tokenizer(["a"], 500)) < 262
    with pytest.raises(ValueError, match="at least 259"):
        train_tokenizer(texts, 100)


def test_it_is_sent_whole(tokenizer: SentenceTokenizer) -> None:
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert [copy.encode(text) for text in STRANGE] == [tokenizer.encode(text) for text in STRANGE]


FORKING = """
import os, sys
from course.models.translator.tokens import train_tokenizer
texts = [f"{number} {unit} fa" for number in range(300) for unit in ("ore", "minuti", "settimane")]
tokenizer = train_tokenizer(texts)
if os.fork() == 0:
    tokenizer.tokenizer.encode_batch(texts)
    print([tokenizer.encode(text) for text in texts])
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


@pytest.mark.thorough
def test_two_processes_have_the_same_ids_and_a_forked_one_says_nothing_of_it() -> None:
    runs = [subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True) for _ in range(2)]
    assert [run.stderr for run in runs] == ["", ""]
    assert runs[0].stdout == runs[1].stdout != ""
