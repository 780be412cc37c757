"""Tests in a lab's own folder. They import its modules relatively: `from ..figures.shares import shares_picture`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import cloudpickle
import pytest

FOLDER = "tests"  # in the lab's


def lab_of(path: Path) -> str | None:
    """The name of the lab to which a test module belongs; None if it is no lab's own."""
    folder = path.parent
    return folder.parent.name if folder.name == FOLDER and (folder.parent / "lab.py").is_file() else None


def lab_test(path: Path) -> ModuleType:
    """Import a test module of a lab's folder as a part of the package that this folder is.

    No lab's folder has an `__init__.py`, and its name begins with a digit: it is a namespace package, which no import
    statement can name, but a relative one finds. What ranks are to run of it travels to them as code, as they cannot
    import it.
    """
    package, root = ".".join(path.parts[-4:-1]), str(path.parents[3])
    if root not in sys.path:
        sys.path.append(root)
    module = importlib.import_module(f"{package}.{path.stem}")
    cloudpickle.register_pickle_by_value(sys.modules[path.parts[-4]])
    return module


class LabTests(pytest.Module):
    """A test module of a lab's folder."""

    def _getobj(self) -> ModuleType:
        return lab_test(self.path)
