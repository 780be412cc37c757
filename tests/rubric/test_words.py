"""Sentences to the student: nouns are counted, verbs agree with ranks, and mistakes in a text are refused."""

from __future__ import annotations

import pytest

from autograde.rubric import Call, saying
from autograde.rubric.words import Ranks, Words, plural

WORDS = Words("""
sent: {who:sends|send} {n:message} to rank {to}, {size:entry} each. {who} wait.

number: {actual:.3g} of {kinds}
""")


def test_nouns_are_counted_and_verbs_agree():
    assert WORDS("sent", who=Ranks([2]), n=1, to=0, size=3).message == (
        "Rank 2 sends 1 message to rank 0, 3 entries each. Rank 2 wait."
    )
    assert WORDS("sent", who=Ranks([0, 1, 3]), n=2, to=0, size=1).message.startswith(
        "Ranks 0, 1 and 3 send 2 messages to rank 0, 1 entry each. Ranks"
    )
    assert WORDS("number", actual=1 / 3, kinds=["a", "b"]).message == "0.333 of a and b"
    assert [plural(noun) for noun in ("batch", "byte", "pass", "entry", "way", "epoch")] == [
        *("batches", "bytes", "passes", "entries", "ways", "epochs"),
    ]


@pytest.mark.parametrize("text", ["no colon here", "Upper: x", "twice: x\n\ntwice: y", ": x"])
def test_a_text_of_another_form_is_refused(text):
    with pytest.raises(ValueError, match="A message is `key: text`"):
        Words(text)


def test_a_fact_that_is_missing_is_an_error_of_the_author():
    with pytest.raises(KeyError):
        WORDS("number", actual=1.0)


def test_a_judge_may_say_another_noun():
    words = Words("lost: Samples that are left over: {n:sample}. A sample, an example.")
    judge = saying(lambda call: words("lost", n=3) if call.number else None, sample="pair")
    assert judge(Call({}, 1, {}, [])).message == "Pairs that are left over: 3 pairs. A pair, an example."
    assert judge(Call({}, 0, {}, [])) is None
