"""`lockstep data`: real IDX files from a real web server, a real `datasets` folder, and no network at all."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from idx_files import idx_bytes, small_mnist

from course.data import digits, fetch, sentence_pairs
from course.data.folder import DataError

CLOSED = socket.socket()  # nothing listens there, and nobody else can
CLOSED.bind(("127.0.0.1", 0))
NOBODY = f"http://127.0.0.1:{CLOSED.getsockname()[1]}/"


class Server(http.server.ThreadingHTTPServer):
    """Serves a folder and counts what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        super().do_GET()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Offers the four files of a small MNIST, gzipped."""
    folder = tmp_path / "offered"
    folder.mkdir()
    for name, values in small_mnist().items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(idx_bytes(values), mtime=0))
    with Server(folder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def sums(tmp_path: Path, server: Server) -> dict[str, str]:
    """Their checksums."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "offered").iterdir()}


def test_the_files_come_whole_from_the_first_mirror_that_has_them_and_are_what_digits_reads(
    tmp_path: Path, server: Server, sums: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "mnist"
    assert str(target) in fetch.fetch_mnist(target, [NOBODY, server.url], sums)
    assert sorted(path.name for path in target.iterdir()) == sorted(sums)
    assert digits(tmp_path)[0].source.startswith(f"MNIST from {target}: 40 images")
    assert "100%" in capfd.readouterr().err  # a progress bar


def test_run_again_it_fetches_only_what_is_missing_or_damaged(
    tmp_path: Path, server: Server, sums: dict[str, str]
) -> None:
    target = tmp_path / "mnist"
    fetch.fetch_mnist(target, [server.url], sums)
    one, other, *_ = sorted(sums)
    (target / one).write_bytes(b"damaged")
    (target / other).unlink()
    (target / f"{other}.0123.partial").write_bytes(b"left by a run that was killed")
    server.asked.clear()
    fetch.fetch_mnist(target, [server.url], sums)
    assert sorted(server.asked) == [f"/{one}", f"/{other}"]
    assert sorted(path.name for path in target.iterdir()) == sorted(sums)
    digits(tmp_path)


def test_a_file_with_another_checksum_is_not_kept(tmp_path: Path, server: Server, sums: dict[str, str]) -> None:
    target = tmp_path / "mnist"
    bad = sorted(sums)[0]
    (tmp_path / "offered" / bad).write_bytes(gzip.compress(b"something else"))
    with pytest.raises(OSError, match=rf"{server.url}{bad}: invalid hash value") as raised:
        fetch.fetch_mnist(target, [server.url], sums)
    assert "\n" not in str(raised.value)
    assert not list(target.glob(f"{bad}*"))


def test_a_mirror_that_says_nothing_is_given_up(
    tmp_path: Path, server: Server, sums: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "PATIENCE", 5.0)  # in which the other mirror has to answer
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        mirrors = [f"http://127.0.0.1:{silent.getsockname()[1]}/", server.url]
        fetch.fetch_mnist(tmp_path / "mnist", mirrors, dict([*sums.items()][:1]))
    assert len(server.asked) == 1 and socket.getdefaulttimeout() is None


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A repository of a data set as on the hub: with a configuration en-it."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    repository = tmp_path / "repository"
    repository.mkdir()
    rows = [{"id": str(i), "translation": {"en": f"Sentence {i}.", "it": f"Frase {i}."}} for i in range(60)]
    (repository / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (repository / "README.md").write_text("---\nconfigs:\n- config_name: en-it\n  data_files: train.jsonl\n---\n")
    return str(repository)


def test_books_are_saved_whole_and_are_what_sentence_pairs_reads(tmp_path: Path, books: str) -> None:
    target = tmp_path / "data"
    target.mkdir()
    assert "opus_books is in" in fetch.fetch_books(target / "opus_books", books)
    assert [path.name for path in target.iterdir()] == ["opus_books"]
    pairs = sentence_pairs(50, 10, target)
    assert "opus_books" in pairs.source and len(pairs.train + pairs.held_out) == 60
    before = (target / "opus_books/dataset_dict.json").stat().st_mtime_ns
    fetch.fetch_books(target / "opus_books", "no such repository")  # it is there and whole: nothing is asked of anyone
    assert (target / "opus_books/dataset_dict.json").stat().st_mtime_ns == before


def test_damaged_books_are_fetched_again(tmp_path: Path, books: str) -> None:
    target = tmp_path / "opus_books"
    fetch.fetch_books(target, books)
    next(target.glob("train/*.arrow")).write_bytes(b"damaged")
    fetch.fetch_books(target, books)
    assert len(sentence_pairs(50, 10, tmp_path).train) == 50


def test_books_in_another_language_are_refused_and_not_kept(tmp_path: Path, books: str) -> None:
    rows = Path(books, "train.jsonl")
    rows.write_text(rows.read_text().replace('"it"', '"fr"'))
    target = tmp_path / "data"
    target.mkdir()
    with pytest.raises(DataError, match="holds en and fr"):
        fetch.fetch_books(target / "opus_books", books)
    assert not list(target.iterdir())


@pytest.mark.thorough
def test_without_a_network_one_error_says_what_failed_and_what_to_copy(tmp_path: Path) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if name != "LOCKSTEP_DATA"},
        # Nothing answers there, so the test asks no real host, on a machine with a network either.
        "https_proxy": NOBODY,
        "HTTPS_PROXY": NOBODY,
    }
    command = [sys.executable, "-m", "autograde", "data", str(tmp_path / "data")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("Error: not everything could be fetched.\n  mnist: https://ossci-datasets")
    assert "\n  opus_books: https://huggingface.co: " in done.stderr
    for name in fetch.SHA256:
        assert f"\n  {tmp_path / 'data/mnist' / name}\n" in done.stderr
    assert f"\n  {tmp_path / 'data/opus_books'} (the whole folder)" in done.stderr
    # What it leaves keeps no lab from working.
    assert digits(tmp_path / "data")[0].source.startswith("scikit-learn's digits")


def test_the_command_asks_for_a_folder(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LOCKSTEP_DATA"}
    command = [sys.executable, "-m", "autograde", "data"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "name the FOLDER for the data, or set LOCKSTEP_DATA" in done.stderr
