"""What git makes of the repository's files, whatever the settings of whoever clones it, or takes an archive."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from small_clone import ROOT

# As Git for Windows sets them, and for file systems without rights and links.
SETTINGS = ["core.autocrlf=true", "core.eol=crlf", "core.fileMode=false", "core.symlinks=false", "core.safecrlf=true"]
# What no file may be called where Windows and macOS are to hold the clone.
RESERVED = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
LONGEST = 150  # characters of a path, of the 260 that Windows allows with the clone's own


def git(*arguments: str | Path, cwd: Path = ROOT) -> str:
    """What git says, with those settings."""
    options = [word for setting in SETTINGS for word in ("-c", setting)]
    return subprocess.check_output(["git", *options, *arguments], cwd=cwd, text=True)


def tracked() -> dict[str, str]:
    """The mode of each file that git has, by its path."""
    lines = (line.split("\t", 1) for line in git("ls-files", "-z", "--stage").split("\0") if line)
    return {name: about.split()[0] for about, name in lines}


def assert_it_starts(folder: Path, *command: str) -> None:
    """The scripts in `folder` have programs that there are, and `command` prints how ./lockstep is used."""
    scripts = [folder / name for name, mode in tracked().items() if mode == "100755"]
    first = {script: script.read_bytes().partition(b"\n")[0] for script in scripts}
    assert {script: line for script, line in first.items() if not line.startswith(b"#!") or b"\r" in line} == {}
    assert "usage: ./lockstep COMMAND" in subprocess.check_output([*command, "--help"], cwd=folder, text=True)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with those settings."""
    folder = tmp_path_factory.mktemp("cloned") / "kit"
    git("clone", "-q", "--depth", "1", f"file://{ROOT}", folder)
    return folder


def test_a_clone_starts_whatever_gits_settings_are(clone):
    assert_it_starts(clone, "./lockstep")
    modes = tracked()
    assert [name for name, mode in modes.items() if mode == "100755" and not os.access(clone / name, os.X_OK)] == []


def test_a_clone_has_each_file_as_git_keeps_it(clone):
    """Also labs/, which is compared with what is built; and git sees no change, which would be in the way of a pull."""
    lines = git("ls-files", "--eol", cwd=clone).splitlines()
    assert [line for line in lines if not re.match(r"i/(lf|none) +w/\1|i/-text +w/-text", line)] == []
    assert git("status", "--porcelain", cwd=clone) == ""


def test_an_archive_starts_also_where_it_was_unpacked_without_rights(tmp_path):
    git("archive", "--output", tmp_path / "kit.tar", "HEAD")
    subprocess.run(["tar", "--no-same-permissions", "-xf", tmp_path / "kit.tar", "-C", tmp_path], check=True)
    assert_it_starts(tmp_path, "./lockstep")
    (tmp_path / "lockstep").chmod(0o644)
    assert_it_starts(tmp_path, "bash", "lockstep")


def test_names_are_such_as_each_system_can_hold():
    modes = tracked()
    assert [name for name, mode in modes.items() if mode not in ("100644", "100755")] == []  # a link, say
    assert len({name.casefold() for name in modes}) == len(modes)
    parts = {part for name in modes for part in name.split("/")}
    assert [part for part in parts if re.search(r'[^ -~]|[<>:"\\|?*]|[. ]$', part) or RESERVED.match(part)] == []
    assert [name for name in modes if len(name) > LONGEST] == []
