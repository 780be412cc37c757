"""Modules of the labs' checks in tests, and packages written from one text."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from autograde.contract.call_probe import CallProbe
from autograde.contract.lab_package import LabPackage
from autograde.labs.folder import lab_package

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"


def check_module(lab: str, name: str, package: str = "checks") -> ModuleType:
    """A module of the checks of one of the course's labs, e.g. ``check_module("06_distributed_sampler", "shard")``, or
    of another of its packages, such as its probes."""
    return lab_package(SOLUTIONS / lab).modules(package)[name]


def probe_of(todo: str, text: str) -> CallProbe:
    """The probe that the module of a lab's `probes/` with this text sets for a TODO."""
    return LabPackage.of({"probes/__init__.py": "", f"probes/{todo}.py": text}, "").probes()[todo]


def write_package(folder: Path, text: str) -> None:
    """Write the modules in `text` to `folder`. Each begins with a line like ``# == double.py``."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in re.split(r"^# == ", text, flags=re.MULTILINE)[1:]:
        name, _, source = part.partition("\n")
        (folder / name).write_text(source)
