"""Writes MNIST's files: real IDX, small."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

from course.data.mnist import NAMES


def idx_bytes(values: np.ndarray) -> bytes:
    """An IDX file of uint8 values."""
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def small_mnist(train: int = 40, test: int = 20) -> dict[str, np.ndarray]:
    """By the name of its file: images of 28 x 28, and labels, of which every digit has some."""
    rng = np.random.default_rng(0)
    arrays = [
        array
        for n in (train, test)
        for array in (rng.integers(0, 256, (n, 28, 28), dtype=np.uint8), (np.arange(n) * 7 % 10).astype(np.uint8))
    ]
    return dict(zip(NAMES, arrays, strict=True))


def write_mnist(
    folder: Path, arrays: dict[str, np.ndarray] | None = None, dot: bool = False, zipped: bool = False
) -> None:
    """The four files, in one of the usual forms of their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in (arrays or small_mnist()).items():
        data, end = idx_bytes(values), ""
        if zipped:
            data, end = gzip.compress(data), ".gz"
        (folder / ((name.replace("-idx", ".idx") if dot else name) + end)).write_bytes(data)
