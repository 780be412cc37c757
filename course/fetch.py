"""Fetches the large data sets, where there is a network: compute nodes have none."""

from __future__ import annotations

import hashlib
import shutil
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from course.books import read_books
from course.data_folder import DataError

# As torchvision and TensorFlow have them; the site of MNIST's authors is mostly closed.
MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
BOOKS = ("Helsinki-NLP/opus_books", "en-it")
PATIENCE = 20.0  # seconds without an answer after which a host counts as out of reach


def fetch_all(folder: Path, say: Callable[[str], None] = print) -> None:
    """MNIST and opus_books into `folder`, which is made; what is there and whole is left. Can be run again and again.

    say: is given a line on each set. Raises DataError, which tells what could not be fetched, why, and what to do.
    """
    troubles = []
    for name, fetch in (("mnist", fetch_mnist), ("opus_books", fetch_books)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            say(fetch(folder / name))
        except (OSError, RuntimeError, DataError) as error:
            troubles.append(f"{name}: {error}")
    if troubles:
        raise DataError("\n  ".join(["not everything could be fetched.", *troubles]) + "\n" + by_hand(folder))


def by_hand(folder: Path) -> str:
    """What to do where there is no network."""
    return "\n  ".join(
        [
            "Run this again to go on. Without a network, run it on a machine that has one, and copy its files here:",
            *(str(folder / "mnist" / name) for name in SHA256),
            f"{folder / 'opus_books'} (the whole folder)",
        ]
    )


def fetch_mnist(folder: Path, mirrors: Sequence[str] = MIRRORS, sums: dict[str, str] = SHA256) -> str:
    """MNIST's four files, each whole and verified, or not there. Returns a line to say; raises OSError."""
    from torch.hub import download_url_to_file

    folder.mkdir(exist_ok=True)
    for name, expected in sums.items():
        path = folder / name
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == expected:
            continue
        for leftover in folder.glob(f"{name}.*.partial"):
            leftover.unlink()
        refused = []
        for mirror in mirrors:
            try:
                with patience():
                    download_url_to_file(mirror + name, str(path), hash_prefix=expected)
                break
            except (OSError, RuntimeError) as error:  # RuntimeError: another checksum
                refused.append(f"{mirror}{name}: {error}")
        else:
            raise OSError("; ".join(refused))
    return f"MNIST is in {folder}"


def fetch_books(folder: Path, repository: str = BOOKS[0], name: str = BOOKS[1]) -> str:
    """opus_books, saved by `datasets`, whole or not there. Returns a line to say; raises OSError or DataError."""
    if folder.exists() and whole(folder):
        return f"opus_books is in {folder}"
    if not Path(repository).exists():
        reach_hub()
    import datasets

    try:
        found = datasets.load_dataset(repository, name)
    except Exception as error:  # of many kinds, with no common one
        raise OSError(f"{repository}: {type(error).__name__}: {error}") from error
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        found.save_to_disk(partial)
        read_books(partial)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return f"opus_books is in {folder}"


def whole(folder: Path) -> bool:
    try:
        read_books(folder)
    except DataError:
        return False
    return True


def reach_hub() -> None:
    """Raise OSError if the hub is out of reach: `datasets` would take half a minute to find out."""
    from datasets.config import HF_ENDPOINT

    try:
        urllib.request.urlopen(urllib.request.Request(HF_ENDPOINT, method="HEAD"), timeout=PATIENCE).close()
    except urllib.error.HTTPError:
        return  # it answers
    except OSError as error:
        raise OSError(f"{HF_ENDPOINT}: {error}") from error


@contextmanager
def patience() -> Iterator[None]:
    """Within, a connection that stays silent for PATIENCE raises: `download_url_to_file` has no timeout of its own."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
