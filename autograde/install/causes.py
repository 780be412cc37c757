"""Explains why a step of the set-up failed, and what mends it."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

AGAIN = "then: ./lockstep setup"

# A pattern in the output of a failed step, the cause, and what mends it. The first match counts.
CAUSES = (
    (r"No space left on device|Disk quota exceeded", "the disk is full", f"free 3 GB (see: df -h), {AGAIN}"),
    (
        r"NewConnectionError|ProxyError|ConnectTimeout|ReadTimeout|name resolution|Connection refused",
        "no network: the package index cannot be reached",
        f"connect (behind a proxy: export https_proxy=http://...; `pip config list` shows the index), {AGAIN}",
    ),
    (
        r"npm .*(?:ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET)",
        "no network: npm's registry cannot be reached",
        f"connect (behind a proxy: export https_proxy=http://...; `npm config get registry` shows it), {AGAIN}",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError",
        "the certificate of the package index is not trusted here",
        f"export PIP_CERT=<file with your institution's certificate>, {AGAIN}",
    ),
    (
        r"(?:TLS CA certificate bundle, invalid path|TLS certificate file, invalid path): (\S+)",
        "there is no file of certificates {}",
        f"let REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE or PIP_CERT name one that is there, or `unset` them, {AGAIN}",
    ),
    (
        r"(No matching distribution found for \S+)",
        "{}: no network, or the index that pip is told to use does not have it",
        f"see `pip config list` and `env | grep PIP_` (PIP_NO_INDEX must not be set), {AGAIN}",
    ),
    (r"(Permission denied.*)", "not allowed to write: {}", f'sudo chown -R "$USER" . ~/.cache/lockstep, {AGAIN}'),
    (r"Killed signal|annot allocate memory|out of memory", "out of memory", "MAKEFLAGS=-j1 ./lockstep setup"),
)

# Bytes. With less free space, a step is assumed to have failed for lack of it: its message may not have fitted either.
FULL = 100e6

# What may be meant for other programs, of what the set-up takes (see passed_on.py).
SUSPECTS = ("CC", "CXX", "LD_LIBRARY_PATH")
LINKER = re.compile(r"undefined reference|\bld\b.*: ")
# Errors of Python, pip, npm and make.
ERRORS = (
    r"^\s*[\w.]+(?:Error|Exception): ",
    r"^\s*ERROR: ",
    r"^npm (?:ERR!|error) (?!code|errno|syscall|path)",
    r"\*\*\* ",
)
# Those that only say that there was one before: pip's by a name with hyphens.
EMPTY = re.compile(r"Failed building wheel|Failed to build|error: [\w-]+$|exited with code")


class SetupFailed(Exception):
    """The set-up cannot go on. Says what failed, why, and the command that mends it."""

    def __init__(self, what: str, why: str, mend: str) -> None:
        super().__init__(f"{what}\n  why:   {why}\n  mend:  {mend}")


def explain(
    what: str, output: str, folders: Iterable[Path], environment: Mapping[str, str] | None = None
) -> SetupFailed:
    """The most likely cause of the failure `what`, from its output, the free space in `folders`, and the environment
    that it ran in."""
    for folder in folders:
        if folder.exists() and shutil.disk_usage(folder).free < FULL:
            return SetupFailed(what, f"the disk is full, at {folder}", f"free 3 GB there (see: df -h), {AGAIN}")
    for pattern, why, mend in CAUSES:
        if found := re.search(pattern, output):
            return SetupFailed(what, why.format(*found.groups()), mend)
    mend = "look for these words in the log; to start afresh: rm -rf .venv && ./lockstep setup"
    if suspects := [name for name in SUSPECTS if (environment or {}).get(name)]:
        without = " ".join(f"-u {name}" for name in suspects)
        mend = (
            f"where {', '.join(suspects)} may be meant for other programs: env {without} ./lockstep setup; else {mend}"
        )
    return SetupFailed(what, first_error(output), mend)


def first_error(output: str) -> str:
    """What an output says went wrong: with the lines that belong to it, and without those that only say that it did."""
    lines = [line for line in output.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if line.lstrip().startswith("CMake Error"):
            return cmake_error(lines[number:])
        if "collect2: error" in line:  # what the linker missed is above it
            return next((each.strip() for each in lines[number - 1 :: -1] if LINKER.search(each)), line.strip())
        if re.search(r"\berror: ", line) and not EMPTY.search(line):
            return line.strip()
    # Of a program that pip ran, in a box.
    if box := re.search(r"lines of output\]\n(.*?)\n *\[end of output\]", output, re.DOTALL):
        return box[1].strip().splitlines()[-1].strip()
    for pattern in ERRORS:
        if found := [line.strip() for line in lines if re.search(pattern, line) and not EMPTY.search(line)]:
            return found[0]
    words = [line.strip() for line in lines if re.search("error|fatal|not found", line, re.IGNORECASE)]
    return (words or ["unknown"])[-1]


def cmake_error(lines: list[str]) -> str:
    """The words of CMake's error, which stand below its first line, further to the right. lines: from that one on."""
    first, *rest = lines
    margin = len(first) - len(first.lstrip())
    words = itertools.takewhile(lambda line: len(line) - len(line.lstrip()) > margin, rest)
    said = " ".join(line.strip() for line in words) if first.endswith(":") else ""
    return f"CMake: {said}" if said else first.strip()
