"""Explains why a step of the set-up failed, and what mends it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
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
        r"(No matching distribution found for \S+)",
        "{}: no network, or the index that pip is told to use does not have it",
        f"see `pip config list` and `env | grep PIP_` (PIP_NO_INDEX must not be set), {AGAIN}",
    ),
    (r"(Permission denied.*)", "not allowed to write: {}", f'sudo chown -R "$USER" . ~/.cache/lockstep, {AGAIN}'),
    (r"Killed signal|annot allocate memory|out of memory", "out of memory", "MAKEFLAGS=-j1 ./lockstep setup"),
)

# Bytes. With less free space, a step is assumed to have failed for lack of it: its message may not have fitted either.
FULL = 100e6


class SetupFailed(Exception):
    """The set-up cannot go on. Says what failed, why, and the command that mends it."""

    def __init__(self, what: str, why: str, mend: str) -> None:
        super().__init__(f"{what}\n  why:   {why}\n  mend:  {mend}")


def explain(what: str, output: str, folders: Iterable[Path]) -> SetupFailed:
    """The most likely cause of the failure `what`, from its output and the free space in `folders`."""
    for folder in folders:
        if folder.exists() and shutil.disk_usage(folder).free < FULL:
            return SetupFailed(what, f"the disk is full, at {folder}", f"free 3 GB there (see: df -h), {AGAIN}")
    for pattern, why, mend in CAUSES:
        if found := re.search(pattern, output):
            return SetupFailed(what, why.format(*found.groups()), mend)
    lines = [line.strip() for line in output.splitlines()]
    errors = [line for line in lines if re.search(r"error|fatal|not found", line, re.IGNORECASE)]
    # Prefer the first error of a compiler or CMake; pip's own only say that something failed.
    first = [line for line in errors if re.search(r"\berror: |CMake Error", line) and "subprocess-exited" not in line]
    why = (first or errors[-1:] or ["unknown"])[0]
    return SetupFailed(what, why, "see the end of the log; to start afresh: rm -rf .venv && ./lockstep setup")
