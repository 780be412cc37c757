"""Tests in a lab's own folder. They import its modules relatively: `from ..figures.shares import shares_picture`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import cloudpickle
import pytest

from autograde.labs.folder import Lab

FOLDER = "tests"  # in the lab's


def lab_of(path: Path) -> str | None:
    """The name of the lab to which a test module belongs; None if it is no lab's own."""
    folder = path.parent
    return folder.parent.name if folder.name == FOLDER and (folder.parent / "lab.py").is_file() else None


def lab_test(path: Path) -> ModuleType:
    """Import a test module of a lab's folder as a part of the package that this folder is.

    The lab may be anywhere. Its folder has no `__init__.py`, and its name begins with a digit, so no import statement
    can name the package; relative ones find it. What ranks are to run of it travels to them as code, as they cannot
    import it.
    """
    lab = path.parents[1]
    name = f"lab_{lab.name}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(lab)]
        sys.modules[name] = package
        cloudpickle.register_pickle_by_value(package)
    return importlib.import_module(f"{name}.{FOLDER}.{path.stem}")


class LabTests(pytest.Module):
    """A test module of a lab's folder."""

    def _getobj(self) -> ModuleType:
        return lab_test(self.path)


class LabTestsAnywhere:
    """A plugin: the tests in labs' folders are modules of the labs' packages, those of LOCKSTEP_LABS, too.

    It is no part of the conftest.py of the repository, which pytest asks about files of the repository only. Tests
    that are elsewhere are called by their whole path, by which `tests/run.py` has them run once more.
    """

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        """A lab's own tests are part of its package."""
        if not lab_of(module_path):
            return None
        elsewhere = {} if module_path.is_relative_to(parent.config.rootpath) else {"nodeid": module_path.as_posix()}
        return LabTests.from_parent(parent, path=module_path, **elsewhere)


def register(config: pytest.Config, labs: Iterable[Lab]) -> None:
    """Collect the tests of labs' folders; where pytest was asked for no files, of those outside of it, too.

    labs: those of which tests are wanted. Which of the tests are of one lab is seen by their folder.
    """
    config.pluginmanager.register(LabTestsAnywhere())
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return
    folders = [lab.folder.resolve() / FOLDER for lab in labs]
    config.args += [str(folder) for folder in folders if folder.is_dir() and not folder.is_relative_to(config.rootpath)]
