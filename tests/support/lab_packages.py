"""Modules of the labs' checks in tests, and packages written from one text."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from autograde.contract.labs import has_probes, load_package, load_rubrics

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"


def check_module(lab: str, name: str) -> ModuleType:
    """A module of the checks of one of the course's labs, e.g. ``check_module("06_distributed_sampler", "shard")``."""
    folder = SOLUTIONS / lab / "checks"
    return (load_rubrics if has_probes(folder) else load_package)(folder)[name]


def write_package(folder: Path, text: str) -> None:
    """Write the modules in `text` to `folder`. Each begins with a line like ``# == double.py``."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in re.split(r"^# == ", text, flags=re.MULTILINE)[1:]:
        name, _, source = part.partition("\n")
        (folder / name).write_text(source)
