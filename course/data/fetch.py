"""Downloads the large data sets beforehand, as compute nodes have no network."""

from __future__ import annotations

import hashlib
import shutil
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from course.data.folder import DataError
from course.data.opus_books import read_books

# The mirrors of torchvision and TensorFlow; the site of MNIST's authors is often unavailable.
MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
BOOKS = ("Helsinki-NLP/opus_books", "en-it")
PATIENCE = 20.0  # seconds without an answer after which a host counts as unreachable


def fetch_all(folder: Path, say: Callable[[str], None] = print) -> None:
    """Download MNIST and opus_books into `folder`, which is created, without files that are already there and valid.

    say: is called with a line on each set. Raises DataError, which says what could not be fetched, why, and what to do;
    a later call goes on from there.
    """
    failures = []
    for name, fetch in (("mnist", fetch_mnist), ("opus_books", fetch_books)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            say(fetch(folder / name))
        except (OSError, RuntimeError, DataError) as error:
            failures.append(f"{name}: {error}")
    if failures:
        raise DataError("\n  ".join(["not everything could be fetched.", *failures]) + "\n" + by_hand(folder))


def by_hand(folder: Path) -> str:
    """What to do without a network."""
    return "\n  ".join(
        [
            "Run this again to go on. Without a network, run it on a machine that has one, and copy its files here:",
            *(str(folder / "mnist" / name) for name in SHA256),
            f"{folder / 'opus_books'} (the whole folder)",
        ]
    )


def fetch_mnist(folder: Path, mirrors: Sequence[str] = MIRRORS, sums: dict[str, str] = SHA256) -> str:
    """Download MNIST's four files; each is verified, or not there. Returns a line to show. Raises OSError."""
    from torch.hub import download_url_to_file

    folder.mkdir(exist_ok=True)
    for name, expected in sums.items():
        path = folder / name
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == expected:
            continue
        for leftover in folder.glob(f"{name}.*.partial"):
            leftover.unlink()
        failures = []
        for mirror in mirrors:
            try:
                with patience():
                    download_url_to_file(mirror + name, str(path), hash_prefix=expected)
                break
            except (OSError, RuntimeError) as error:  # RuntimeError: wrong checksum
                failures.append(f"{mirror}{name}: {error}")
        else:
            raise OSError("; ".join(failures))
    return f"MNIST is in {folder}"


def fetch_books(folder: Path, repository: str = BOOKS[0], name: str = BOOKS[1]) -> str:
    """Download opus_books, as `datasets` saves it. Returns a line to show. Raises OSError or DataError."""
    if folder.exists() and is_valid(folder):
        return f"opus_books is in {folder}"
    if not Path(repository).exists():
        reach_hub()
    import datasets

    try:
        found = datasets.load_dataset(repository, name)
    except Exception as error:  # its exceptions have no common base
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


def is_valid(folder: Path) -> bool:
    """Whether opus_books can be read from this folder."""
    try:
        read_books(folder)
    except DataError:
        return False
    return True


def reach_hub() -> None:
    """Raise OSError if the Hugging Face hub is unreachable: `datasets` would take half a minute to find out."""
    from datasets.config import HF_ENDPOINT

    try:
        urllib.request.urlopen(urllib.request.Request(HF_ENDPOINT, method="HEAD"), timeout=PATIENCE).close()
    except urllib.error.HTTPError:
        return  # it answers
    except OSError as error:
        raise OSError(f"{HF_ENDPOINT}: {error}") from error


@contextmanager
def patience() -> Iterator[None]:
    """Within this block, a connection that is silent for PATIENCE raises: `download_url_to_file` takes no timeout."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
