"""The house has rooms that one can survey: few modules in a folder, and none of them endless.

Labs and tests are left out: their folders hold a module for each TODO, or for each sentence about the product.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autograde.labs.places import REPOSITORY

PACKAGES = ("course", "autograde")
MODULES = 12  # in a folder, beside its __init__
LINES = 300  # of a module. Most have a third of it; a stricter limit is kept by squeezing lines


def modules(package: str) -> dict[str, Path]:
    """The modules of a package, by name."""
    paths = sorted((REPOSITORY / package).rglob("*.py"))
    return {".".join(path.relative_to(REPOSITORY).with_suffix("").parts): path for path in paths}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_has_few_modules(package):
    by_folder: dict[str, list[str]] = {}
    for path in modules(package).values():
        if path.name != "__init__.py":
            by_folder.setdefault(path.parent.relative_to(REPOSITORY).as_posix(), []).append(path.stem)
    assert {folder: names for folder, names in by_folder.items() if len(names) > MODULES} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_module_is_not_endless(package):
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules(package).items()}
    assert {name: count for name, count in lines.items() if count > LINES} == {}
