"""Reads MNIST's files, in the IDX format: https://web.archive.org/web/2016/http://yann.lecun.com/exdb/mnist/"""

from __future__ import annotations

import gzip
import math
import re
import struct
import zlib
from pathlib import Path

import numpy as np

from course.data.folder import DataError

NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
AGAIN = "Fetch it again by `lockstep data`, or copy it again from where it is whole."


def read_idx(path: Path) -> np.ndarray:
    """The uint8 array in an IDX file, plain or gzipped. The file's name, `...idx3...`, gives its number of axes.

    Raises DataError if the file is damaged or of another kind.
    """
    axes = int(re.search(r"[-.]idx(\d)", path.name)[1])
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}. {AGAIN}") from error
    begin = 4 + 4 * axes
    magic = bytes([0, 0, 8, axes])
    if data[:4] != magic:
        begins = f"begins with the bytes {data[:4].hex(' ')}" if data else "is empty"
        raise DataError(f"{path} {begins}; an IDX file begins with {magic.hex(' ')}. {AGAIN}")
    if len(data) < begin:
        raise DataError(f"{path} ends after {len(data)} bytes, before its sizes are told. {AGAIN}")
    shape = struct.unpack(f">{axes}I", data[4:begin])
    expected = begin + math.prod(shape)
    if len(data) != expected:
        sizes = " x ".join(map(str, shape))
        raise DataError(f"{path} has {len(data)} bytes, but {sizes} values take {expected}. {AGAIN}")
    return np.frombuffer(data, np.uint8, offset=begin).reshape(shape)


def find_mnist(folder: Path) -> list[Path] | None:
    """MNIST's four files, in the order of NAMES, whichever usual form their names have; None if there are none.

    Looks in the folder itself, in `mnist`, and in `MNIST/raw`, where torchvision puts them. Raises DataError if only
    some are there.
    """
    for place in (folder, folder / "mnist", folder / "MNIST" / "raw"):
        found = [find_file(place, name) for name in NAMES]
        if all(found):
            return found
        if any(found):
            missing = [name for name, path in zip(NAMES, found, strict=True) if path is None]
            raise DataError(f"{place} has some of MNIST's files, but not {' and '.join(missing)}. {AGAIN}")
    return None


def find_file(place: Path, name: str) -> Path | None:
    """The file of this name, with `-` or `.` before `idx`, with or without `.gz`."""
    forms = (name, name.replace("-idx", ".idx"))
    return next((path for end in ("", ".gz") for form in forms if (path := place / (form + end)).is_file()), None)
