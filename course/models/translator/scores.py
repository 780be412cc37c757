"""Scores of translations: exact match, BLEU and chrF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sacrebleu


class Scores(NamedTuple):
    """exact: share of translations that equal the reference, from 0 to 1. bleu, chrf: from 0 to 100."""

    exact: float
    bleu: float
    chrf: float

    def __str__(self) -> str:
        return f"exact match {self.exact:.0%}, BLEU {self.bleu:.1f}, chrF {self.chrf:.1f}"


def score(translations: Sequence[str], references: Sequence[str]) -> Scores:
    """Score translations, all of them together, against one reference each.

    BLEU counts common runs of up to four words (Papineni et al. 2002), chrF of up to six letters (Popović 2015); both
    by sacrebleu (Post 2018), so that they compare with published scores. Raises ValueError if there are no references,
    or not as many as translations.
    """
    if not references or len(translations) != len(references):
        raise ValueError(f"{len(translations)} translations and {len(references)} references cannot be compared.")
    pairs = list(zip(translations, references, strict=True))
    return Scores(
        exact=sum(translation == reference for translation, reference in pairs) / len(pairs),
        bleu=sacrebleu.corpus_bleu(list(translations), [list(references)]).score,
        chrf=sacrebleu.corpus_chrf(list(translations), [list(references)]).score,
    )
