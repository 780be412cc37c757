"""Reads English and Italian sentences from books: https://huggingface.co/datasets/Helsinki-NLP/opus_books

Never from the network, only from files: a folder that `lockstep data` has made by datasets' `save_to_disk`, or the
cache of `datasets` on this machine.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from course.data.folder import DataError

LONGEST = 30  # words; a sentence of 200 would have all others in its batch padded to its length
EMPTY = 0.01  # a set counts as damaged if a larger share of its pairs has an empty side


def find_books(folder: Path | None) -> Path | None:
    """Where opus_books is: `opus_books` in `folder`, else in the cache of `datasets`; None if in neither."""
    if folder and (folder / "opus_books").exists():
        return folder / "opus_books"
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    cache = Path(os.environ.get("HF_DATASETS_CACHE") or Path(home, "datasets")).expanduser()
    cached = sorted(cache.glob("Helsinki-NLP___opus_books/en-it/*/*/dataset_info.json"))
    return cached[-1].parent if cached else None


def read_books(place: Path) -> tuple[list[tuple[str, str]], int]:
    """The pairs (English, Italian), in an order that is random but always the same, and how many were left out.

    Leaves out pairs with a sentence that has more than LONGEST words, is empty, or repeats an earlier one. Raises
    DataError if the set is another one, or damaged.
    """
    rows = translations(place)
    pairs, met, empty = [], set(), []
    for number, row in enumerate(rows):
        pair = tuple(" ".join(((row or {}).get(language) or "").split()) for language in ("en", "it"))
        if not all(pair):
            empty.append(number)
        elif max(len(sentence.split()) for sentence in pair) <= LONGEST and met.isdisjoint(enumerate(pair)):
            met.update(enumerate(pair))
            pairs.append(pair)
    if len(empty) > EMPTY * len(rows):
        count = f"{len(empty)} of {len(rows)}"
        raise DataError(f"{place}: {count} pairs have an empty sentence, the first is number {empty[0]}. {mend(place)}")
    random.Random(0).shuffle(pairs)
    return pairs, len(rows) - len(pairs)


def translations(place: Path) -> list[dict[str, str | None]]:
    """The rows of the column `translation`, as {"en": ..., "it": ...}. Raises DataError."""
    import datasets

    try:
        arrows = sorted(map(str, place.glob("*-train*.arrow")))
        if arrows:  # in the cache
            found = datasets.concatenate_datasets([datasets.Dataset.from_file(name) for name in arrows])
        else:
            found = datasets.load_from_disk(place)
        if isinstance(found, datasets.DatasetDict):
            found = found["train"]
        rows = found[:].get("translation")
        languages = rows[0].keys() if rows else ()
    except Exception as error:  # `datasets` and pyarrow have no common exception for damaged files
        raise DataError(
            f"{place} cannot be read by `datasets`: {type(error).__name__}: {error}. {mend(place)}"
        ) from error
    if rows is None:
        names = ", ".join(found.column_names)
        raise DataError(f"{place} has the columns {names}, but no `translation`: it is not opus_books. {mend(place)}")
    if not {"en", "it"} <= set(languages):
        held = " and ".join(languages) or "nothing"
        raise DataError(f"{place} holds {held}, but English (en) and Italian (it) are needed. {mend(place)}")
    return rows


def mend(place: Path) -> str:
    """The next step for a set that cannot be used."""
    return f"Remove {place}, and fetch it by `lockstep data`; without it, pairs are made from CLDR."
