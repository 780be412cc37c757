"""The data that labs train on: handwritten digits, and English sentences with their Italian translations.

    train, test = digits()          # MNIST where LOCKSTEP_DATA holds it, else scikit-learn's handwritten digits
    pairs = sentence_pairs()        # opus_books where it is found, else pairs made from CLDR
    print(train.source); print(pairs.source)

Neither depends on a random seed: every process, on every machine, gets the same data in the same order.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from course.data.cldr_pairs import made_pairs
from course.data.folder import DataError, data_folder
from course.data.mnist import AGAIN, find_mnist, read_idx
from course.data.opus_books import find_books, read_books

__all__ = ["DataError", "Digits", "Pairs", "digits", "sentence_pairs"]


class Digits(Dataset):
    """Images of handwritten digits: `dataset[i]` is (float32 tensor [1, H, W] in [0, 1], int from 0 to 9).

    images: float32 [n, 1, H, W]. labels: int64 [n]. source: one line that says which data this is.
    """

    def __init__(self, images: Tensor, labels: Tensor, source: str) -> None:
        self.images = images
        self.labels = labels
        self.source = source

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.images[index], int(self.labels[index])

    @cached_property
    def fingerprint(self) -> str:
        """Equal if and only if images, labels and their order are; to be compared between ranks."""
        digest = hashlib.sha256(repr(tuple(self.images.shape)).encode())
        digest.update(self.images.numpy().tobytes())
        digest.update(self.labels.numpy().tobytes())
        return digest.hexdigest()[:16]


def digits(folder: Path | str | None = None) -> tuple[Digits, Digits]:
    """Training and test set: MNIST from its IDX files in `folder` (default: LOCKSTEP_DATA), else scikit-learn's digits.

    MNIST has 60 000 and 10 000 images of 28 x 28. scikit-learn has 1797 of 8 x 8; every fifth image of each digit, in
    scikit-learn's order, is in the test set. Raises DataError if MNIST is incomplete or damaged.
    """
    place = data_folder(folder)
    files = find_mnist(place) if place else None
    if files:
        return mnist(*files[:2]), mnist(*files[2:], test=True)
    return handwritten(f"; {place} holds no MNIST" if place else "")


def mnist(images_path: Path, labels_path: Path, test: bool = False) -> Digits:
    """One of MNIST's two sets. Raises DataError if its files do not belong together, or lack one of the ten digits."""
    images, labels = read_idx(images_path), read_idx(labels_path)
    if len(images) != len(labels):
        raise DataError(f"{images_path} holds {len(images)} images, {labels_path.name} {len(labels)} labels. {AGAIN}")
    if labels.size and labels.max() > 9:
        raise DataError(f"{labels_path}: the label {labels.max()} is none of the digits 0 to 9. {AGAIN}")
    missing = sorted(set(range(10)) - set(labels.tolist()))
    if missing:
        raise DataError(f"{labels_path}: no image of {', '.join(map(str, missing))}; MNIST has all ten digits. {AGAIN}")
    size = "{} x {}".format(*images.shape[1:])
    return Digits(
        torch.from_numpy(images.astype(np.float32) / 255).unsqueeze(1),
        torch.from_numpy(labels.astype(np.int64)),
        f"MNIST from {images_path.parent}: {len(labels)} images for {'the test' if test else 'training'}, {size}",
    )


def handwritten(remark: str) -> tuple[Digits, Digits]:
    """scikit-learn's digits, training and test set. remark: added to their `source`."""
    # Not by sklearn.datasets.load_digits, whose import takes each rank more than a second; the file takes 20 ms.
    place = Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "digits.csv.gz"
    table = np.loadtxt(place, delimiter=",", dtype=np.uint8)
    images = torch.from_numpy(table[:, :64].astype(np.float32) / 16).reshape(-1, 1, 8, 8)
    labels = torch.from_numpy(table[:, 64].astype(np.int64))
    ones = torch.nn.functional.one_hot(labels)
    test = (ones.cumsum(0) * ones).sum(1) % 5 == 0  # the 5th, 10th, 15th ... of its digit
    return tuple(
        Digits(images[chosen], labels[chosen], f"scikit-learn's digits: {chosen.sum()} images for {use}, 8 x 8{remark}")
        for chosen, use in ((~test, "training"), (test, "the test"))
    )


class Pairs(NamedTuple):
    """English sentences and their Italian translations. source: one line that says where they come from."""

    train: list[tuple[str, str]]
    held_out: list[tuple[str, str]]
    source: str

    @property
    def fingerprint(self) -> str:
        """Equal if and only if the pairs and their order are; to be compared between ranks."""
        return hashlib.sha256(repr((self.train, self.held_out)).encode()).hexdigest()[:16]


def sentence_pairs(count: int = 4000, held_out: int = 400, folder: Path | str | None = None) -> Pairs:
    """`count` pairs (English, Italian) to train on, and `held_out` others that share no sentence with them.

    From opus_books if `folder` (default: LOCKSTEP_DATA) or the cache of `datasets` has it, else from CLDR: dates,
    times, numbers, units, countries and languages. `count` does not change which pairs are held out, and a smaller one
    gives the first pairs of a larger one. Raises DataError if opus_books is damaged or has too few pairs.
    """
    place = data_folder(folder)
    books = find_books(place)
    if books is None:
        pairs, source = list(islice(made_pairs(), held_out + count)), "CLDR and num2words"
        source += f" ({place} holds no opus_books)" if place else ""
    else:
        pairs, left_out = read_books(books)
        source = f"opus_books from {books}, without {left_out} pairs that are too long, empty or there twice"
    if len(pairs) < held_out + count:
        raise DataError(
            f"{books} has {len(pairs)} pairs for use, but {count} + {held_out} are asked for: ask for fewer."
        )
    train = pairs[held_out : held_out + count]
    return Pairs(train, pairs[:held_out], f"{source}: {count} pairs for training, {held_out} held out")
