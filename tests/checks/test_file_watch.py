"""While a file is written anew, every moment at which a kill would leave something else is seen."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from autograde.probes.checkpoint_files import fingerprint
from autograde.probes.file_watch import leave_half, watched_folder


def in_place(path: str) -> None:
    torch.save({"epoch": 2}, path)


def by_handle(path: str) -> None:
    with open(path, "wb") as file:
        torch.save({"epoch": 2}, file)


def by_pathlib(path: str) -> None:
    Path(path).write_bytes(b"new")


def by_copy(path: str) -> None:
    torch.save({"epoch": 2}, f"{path}.part")
    shutil.copy2(f"{path}.part", path)


def by_truncation(path: str) -> None:
    os.truncate(path, 3)


def replaced(path: str) -> None:
    torch.save({"epoch": 2}, f"{path}.part")
    os.replace(f"{path}.part", path)


def renamed_by_pathlib(path: str) -> None:
    part = Path(f"{path}.tmp")
    with part.open("wb") as file:
        torch.save({"epoch": 2}, file)
    part.rename(path)


def from_beside(path: str) -> None:
    with tempfile.TemporaryDirectory(dir=Path(path).parent.parent) as folder:
        torch.save({"epoch": 2}, f"{folder}/new")
        shutil.move(f"{folder}/new", path)


def removed_first(path: str) -> None:
    torch.save({"epoch": 2}, f"{path}.part")
    os.remove(path)
    os.rename(f"{path}.part", path)


@pytest.fixture
def path(tmp_path) -> str:
    """A checkpoint in a folder of its own."""
    (tmp_path / "run").mkdir()
    torch.save({"epoch": 1}, tmp_path / "run" / "file.pt")
    return str(tmp_path / "run" / "file.pt")


def moments(path: str, write: Callable[[str], None]) -> set[str]:
    """What the file was at some moment: "old", "new", "gone" or "other"."""
    before = fingerprint(path)
    with watched_folder(path, fingerprint) as seen:
        write(path)
    names = {None: "gone", before: "old", fingerprint(path): "new"}
    return {names.get(moment["file"], "other") for moment in seen["moments"]}


@pytest.mark.parametrize("write", [replaced, renamed_by_pathlib, from_beside])
def test_a_file_that_is_put_in_place_whole_is_the_old_or_the_new_one_at_any_moment(path, write):
    assert moments(path, write) <= {"old", "new"}
    assert torch.load(path)["epoch"] == 2


@pytest.mark.parametrize("write", [in_place, by_handle, by_pathlib, by_copy])
def test_a_file_that_is_written_in_place_is_seen_half_written(path, write):
    assert "other" in moments(path, write)


def test_a_file_that_is_cut_short_is_seen(path):
    before = fingerprint(path)
    with watched_folder(path, fingerprint) as seen:
        by_truncation(path)
    assert [moment["file"] for moment in seen["moments"]] != [before]
    assert seen["touched"] == ["file.pt"]


def test_a_file_that_is_gone_for_a_while_is_seen(path):
    assert "gone" in moments(path, removed_first)


def test_files_beside_it_and_those_that_were_touched_are_named(path):
    with watched_folder(path, fingerprint) as seen:
        replaced(path)
        Path(path).read_bytes()
    assert set(seen["touched"]) == {"file.pt", "file.pt.part"}
    assert ["file.pt.part"] in [moment["others"] for moment in seen["moments"]]


def in_a_folder(path: str) -> None:
    os.mkdir(f"{path}.tmp")
    torch.save({"epoch": 2}, f"{path}.tmp/new")
    os.replace(f"{path}.tmp/new", path)
    os.rmdir(f"{path}.tmp")


def test_of_a_temporary_folder_a_kill_leaves_the_folder_with_half_a_file(path, tmp_path):
    with watched_folder(path, fingerprint) as seen:
        in_a_folder(path)
    others = {name for moment in seen["moments"] for name in moment["others"]}
    assert others == {"file.pt.tmp/", "file.pt.tmp/new"}
    for name in others:
        leave_half(tmp_path / "run", name)
    assert (tmp_path / "run" / "file.pt.tmp" / "new").is_file()


def test_nothing_is_noted_of_other_folders_nor_afterwards(path, tmp_path):
    with watched_folder(path, fingerprint) as seen:
        in_place(str(tmp_path / "other.pt"))
    in_place(path)
    assert seen == {"touched": [], "moments": []}


def test_a_file_from_another_disk_cannot_be_renamed_into_the_folder_and_is_copied_by_shutil(path, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "new"
    torch.save({"epoch": 2}, elsewhere)
    with watched_folder(path, fingerprint), pytest.raises(OSError, match="cross-device"):
        os.replace(elsewhere, path)
    assert "other" in moments(path, lambda target: shutil.move(elsewhere, target))


@pytest.mark.parametrize("write", [in_place, replaced])
def test_what_is_seen_in_the_middle_of_a_write_is_what_a_kill_leaves(path, write):
    """A process that is really killed when it has written half of the new file."""
    program = f"""
import os, signal, sys
sys.path[:0] = {sys.path!r}
import autograde.probes.file_watch as w, test_file_watch as t
look = lambda path: os.kill(os.getpid(), signal.SIGKILL)
with w.watched_folder({path!r}, look):
    t.{write.__name__}({path!r})
"""
    before, seen = fingerprint(path), moments(path, write)
    torch.save({"epoch": 1}, path)
    ended = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    assert (fingerprint(path) != before) == ("other" in seen)
