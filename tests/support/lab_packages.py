"""Modules of the labs' checks in tests, and packages written from one text."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from autograde.contract.labs import has_probes, lab_package, load_package, load_rubrics

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"


def check_module(lab: str, name: str, package: str = "checks") -> ModuleType:
    """A module of the checks of one of the course's labs, e.g. ``check_module("06_distributed_sampler", "shard")``, or
    of another package of a lab with rubrics, such as its probes."""
    folder = SOLUTIONS / lab / "checks"
    if package != "checks":
        return lab_package(folder.parent).modules(package)[name]
    return (load_rubrics if has_probes(folder) else load_package)(folder)[name]


def write_package(folder: Path, text: str) -> None:
    """Write the modules in `text` to `folder`. Each begins with a line like ``# == double.py``."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in re.split(r"^# == ", text, flags=re.MULTILINE)[1:]:
        name, _, source = part.partition("\n")
        (folder / name).write_text(source)
