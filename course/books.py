"""English and Italian sentences from books: opus_books, https://huggingface.co/datasets/Helsinki-NLP/opus_books

It is read from files only, never from the network: from a folder written by datasets' `save_to_disk`, which
`lockstep data` makes, or from what `datasets` keeps of the hub on this machine.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from course.data_folder import DataError

LONGEST = 30  # words; one sentence of 200 in a batch would have all others padded to it
EMPTY = 0.01  # share of pairs with an empty side from which on a set counts as damaged


def find_books(folder: Path | None) -> Path | None:
    """Where opus_books is: `opus_books` in `folder`, else what `datasets` keeps of the hub; None if it is nowhere."""
    if folder and (folder / "opus_books").exists():
        return folder / "opus_books"
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    cache = Path(os.environ.get("HF_DATASETS_CACHE") or Path(home, "datasets")).expanduser()
    kept = sorted(cache.glob("Helsinki-NLP___opus_books/en-it/*/*/dataset_info.json"))
    return kept[-1].parent if kept else None


def read_books(place: Path) -> tuple[list[tuple[str, str]], int]:
    """The pairs (English, Italian), in an order that is random but always the same, and how many were left out.

    Left out are pairs with a sentence of more than LONGEST words, an empty one, or one that came before.
    Raises DataError if it is not such a set, or a damaged one.
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
    """The rows of the column `translation`: {"en": ..., "it": ...}. Raises DataError."""
    import datasets

    try:
        arrows = sorted(map(str, place.glob("*-train*.arrow")))
        if arrows:  # kept from the hub
            found = datasets.concatenate_datasets([datasets.Dataset.from_file(name) for name in arrows])
        else:
            found = datasets.load_from_disk(place)
        if isinstance(found, datasets.DatasetDict):
            found = found["train"]
        rows = found[:].get("translation")
        languages = rows[0].keys() if rows else ()
    except Exception as error:  # `datasets` and pyarrow have no common one for files that are damaged
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
    return f"Remove {place}, and fetch it by `lockstep data`; without it, pairs are made from CLDR."
