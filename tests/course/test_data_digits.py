"""The digits that labs train on: MNIST from real IDX files, else scikit-learn's; and what is said of bad ones."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from idx_files import idx_bytes, small_mnist, write_mnist
from torch.utils.data import DataLoader, Subset

from course.data import DataError, digits
from course.data.mnist import NAMES

IMAGES, LABELS, TEST_IMAGES, TEST_LABELS = NAMES


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCKSTEP_DATA", raising=False)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("dot", [False, True])
@pytest.mark.parametrize("place", ["", "mnist", "MNIST/raw"])
def test_mnist_is_read_in_each_usual_form_and_place_of_its_files(
    tmp_path: Path, place: str, dot: bool, zipped: bool
) -> None:
    arrays = small_mnist()
    write_mnist(tmp_path / place, arrays, dot, zipped)
    train, test = digits(tmp_path)
    for dataset, images, labels in ((train, IMAGES, LABELS), (test, TEST_IMAGES, TEST_LABELS)):
        assert dataset.images.dtype == torch.float32 and dataset.labels.dtype == torch.int64
        assert dataset.images.shape == (len(arrays[labels]), 1, 28, 28)
        assert np.array_equal((dataset.images[:, 0].numpy() * 255).round().astype(np.uint8), arrays[images])
        assert dataset.labels.tolist() == arrays[labels].tolist()
        assert dataset.images.min() == 0 and dataset.images.max() == 1
        image, label = dataset[3]
        assert torch.equal(image, dataset.images[3]) and type(label) is int and label == arrays[labels][3]
    assert train.source == f"MNIST from {tmp_path / place}: 40 images for training, 28 x 28"
    assert test.source == f"MNIST from {tmp_path / place}: 20 images for the test, 28 x 28"
    assert train.fingerprint != test.fingerprint


def test_lockstep_data_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_mnist(tmp_path)
    monkeypatch.setenv("LOCKSTEP_DATA", str(tmp_path))
    assert digits()[0].source.startswith("MNIST")


def test_without_mnist_it_is_scikit_learns_digits_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, test = digits()
    assert train.source == "scikit-learn's digits: 1442 images for training, 8 x 8"
    assert test.source == "scikit-learn's digits: 355 images for the test, 8 x 8"
    monkeypatch.setenv("LOCKSTEP_DATA", str(tmp_path))
    assert digits()[0].source == train.source + f"; {tmp_path} holds no MNIST"
    assert digits()[0].fingerprint == train.fingerprint


def test_scikit_learns_digits_are_split_without_loss_and_alike_for_each_digit() -> None:
    from sklearn.datasets import load_digits  # takes a second and more, which other tests need not wait for

    train, test = digits()
    assert train.images.dtype == torch.float32 and train.images.min() == 0 and train.images.max() == 1
    both = torch.cat([train.images, test.images]).flatten(1)
    original = torch.from_numpy(load_digits().data / 16).float()
    assert sorted(both.tolist()) == sorted(original.tolist())
    share = test.labels.bincount() / (test.labels.bincount() + train.labels.bincount())
    assert share.shape == (10,) and ((share > 0.19) & (share <= 0.2)).all()


def fingerprints(seed: str) -> str:
    """What another process with another PYTHONHASHSEED makes of both sets."""
    program = "from course.data import *; print(*[d.fingerprint for d in digits()], sentence_pairs().fingerprint)"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.thorough
def test_processes_with_different_hash_seeds_get_the_same_data_and_nothing_on_stderr() -> None:
    one, other = fingerprints("1"), fingerprints("2")
    assert one == other and len(set(one.split())) == 3


def test_a_fingerprint_tells_any_change(tmp_path: Path) -> None:
    arrays = small_mnist()
    write_mnist(tmp_path / "a", arrays)
    arrays[IMAGES][17, 3, 5] ^= 1
    write_mnist(tmp_path / "b", arrays)
    arrays[IMAGES][17, 3, 5] ^= 1
    arrays[LABELS][[2, 3]] = arrays[LABELS][[3, 2]]
    write_mnist(tmp_path / "c", arrays)
    assert len({digits(tmp_path / name)[0].fingerprint for name in "abc"}) == 3
    assert len({digits(tmp_path / name)[1].fingerprint for name in "abc"}) == 1


def test_a_subset_of_one_sample_is_a_dataset_too() -> None:
    train, _ = digits()
    (images, labels), *more = DataLoader(Subset(train, [5]), batch_size=8)
    assert images.shape == (1, 1, 8, 8) and labels.tolist() == [train.labels[5].item()] and not more
    assert len(list(train)) == len(train)


def truncated(folder: Path) -> Path:
    path = folder / IMAGES
    path.write_bytes(path.read_bytes()[:-100])
    return path


def too_long(folder: Path) -> Path:
    path = folder / TEST_LABELS
    path.write_bytes(path.read_bytes() + b"\0")
    return path


def only_a_header(folder: Path) -> Path:
    path = folder / IMAGES
    path.write_bytes(path.read_bytes()[:9])
    return path


def empty(folder: Path) -> Path:
    path = folder / LABELS
    path.write_bytes(b"")
    return path


def wrong_magic(folder: Path) -> Path:
    path = folder / TEST_IMAGES
    path.write_bytes(b"\x89PNG" + path.read_bytes()[4:])
    return path


def labels_for_images(folder: Path) -> Path:
    path = folder / TEST_IMAGES
    path.write_bytes((folder / TEST_LABELS).read_bytes())
    return path


def half_a_gzip(folder: Path) -> Path:
    path = folder / LABELS
    whole = gzip.compress(path.read_bytes())
    path.unlink()
    path = folder / (LABELS + ".gz")
    path.write_bytes(whole[: len(whole) // 2])
    return path


def not_gzipped(folder: Path) -> Path:
    return (folder / LABELS).rename(folder / (LABELS + ".gz"))


def fewer_labels(folder: Path) -> Path:
    path = folder / LABELS
    path.write_bytes(idx_bytes(small_mnist()[LABELS][:-3]))
    return folder / IMAGES


def label_of_no_digit(folder: Path) -> Path:
    labels = small_mnist()[TEST_LABELS]
    labels[5] = 10
    (folder / TEST_LABELS).write_bytes(idx_bytes(labels))
    return folder / TEST_LABELS


def nine_classes(folder: Path) -> Path:
    labels = small_mnist()[LABELS]
    (folder / LABELS).write_bytes(idx_bytes(np.where(labels == 9, 4, labels).astype(np.uint8)))
    return folder / LABELS


def one_missing(folder: Path) -> Path:
    (folder / TEST_LABELS).unlink()
    return folder / TEST_LABELS


EXPECTED = {
    truncated: "31276 bytes, but 40 x 28 x 28 values take 31376",
    too_long: "29 bytes, but 20 values take 28",
    only_a_header: "ends after 9 bytes",
    empty: "is empty; an IDX file begins with 00 00 08 01",
    wrong_magic: "begins with the bytes 89 50 4e 47; an IDX file begins with 00 00 08 03",
    labels_for_images: "begins with the bytes 00 00 08 01; an IDX file begins with 00 00 08 03",
    half_a_gzip: "cannot be read: Compressed file ended",
    not_gzipped: "cannot be read: Not a gzipped file",
    fewer_labels: "40 images, train-labels-idx1-ubyte 37 labels",
    label_of_no_digit: "the label 10 is none of the digits 0 to 9",
    nine_classes: "no image of 9; MNIST has all ten digits",
    one_missing: "has some of MNIST's files, but not t10k-labels-idx1-ubyte",
}


@pytest.mark.parametrize("damage", EXPECTED, ids=lambda damage: damage.__name__)
def test_damaged_mnist_is_one_error_that_names_the_file_and_the_next_step(tmp_path: Path, damage) -> None:
    write_mnist(tmp_path)
    path = damage(tmp_path)
    with pytest.raises(DataError) as raised:
        digits(tmp_path)
    text = str(raised.value)
    assert str(path) in text or (str(path.parent) in text and path.name in text)
    assert EXPECTED[damage] in text
    assert "lockstep data" in text and "\n" not in text


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKSTEP_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"LOCKSTEP_DATA names .*nowhere, but that is no folder"):
        digits()
