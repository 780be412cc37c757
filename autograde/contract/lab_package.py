"""A lab's Python modules as texts, which can be imported here, in a sandbox, and on ranks, without files.

A lab's folder has ``checks/``, ``probes/`` and perhaps ``shared/`` and ``models/``: packages that import from each
other relatively. All of them run below one name, which follows from their texts. Classes of evidence cannot travel to a
rank as pickles do; their texts can.
"""

from __future__ import annotations

import hashlib
import importlib
import linecache
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from course.lab_archive import BESIDE_STUDENTS


@dataclass(frozen=True)
class LabPackage(MetaPathFinder, Loader):
    """The modules of one lab. name: of the package. texts: by name below it, such as ``probes.swap``; ``probes`` itself
    has the text of its ``__init__.py``."""

    name: str
    texts: Mapping[str, str]

    @classmethod
    def of(cls, files: Mapping[str, str], where: str) -> LabPackage:
        """The package of these files, by path such as ``probes/swap.py``. where: of the lab, for the package's name."""
        texts = {}
        for path, text in files.items():
            folder, _, file = path.rpartition("/")
            stem = file.removesuffix(".py")
            texts[folder if stem == "__init__" else f"{folder}.{stem}"] = text
        digest = hashlib.sha256(repr((where, sorted(texts.items()))).encode()).hexdigest()[:16]
        return cls(f"lockstep_lab_{digest}", texts)

    def beside_students(self) -> LabPackage:
        """The same package with those of its modules alone that run beside a student's code."""
        kept = {name: text for name, text in self.texts.items() if name.partition(".")[0] in BESIDE_STUDENTS}
        return LabPackage(self.name, kept)

    def modules(self, package: str) -> dict[str, ModuleType]:
        """Import all modules of one of its packages; returns them by file name without ``.py``. Raises what a module
        raises; then none of this lab's stays imported."""
        self.install()
        stems = {name: name.partition(".")[2] or "__init__" for name in self.texts if name.split(".")[0] == package}
        try:
            return {stem: importlib.import_module(f"{self.name}.{name}") for name, stem in stems.items()}
        except Exception:
            for loaded in [each for each in sys.modules if f"{each}.".startswith(f"{self.name}.")]:
                del sys.modules[loaded]
            raise

    def probes(self) -> dict[str, Any]:
        """The probes by TODO: what a module of `probes/` called as the TODO sets as PROBE, or has in PROBES by TODO."""
        found = {}
        for name, module in self.modules("probes").items():
            found |= getattr(module, "PROBES", None) or ({name: module.PROBE} if hasattr(module, "PROBE") else {})
        return found

    def install(self) -> None:
        """Let Python find the modules; once in a process."""
        if self.name not in sys.modules:
            root = ModuleType(self.name)
            root.__path__ = []
            root.__dict__["LAB_PACKAGE"] = self
            sys.modules[self.name] = root
            sys.meta_path.append(self)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Where Python asks for a module."""
        inner = name.removeprefix(f"{self.name}.")
        if inner not in self.texts or inner == name:
            return None
        return ModuleSpec(name, self, origin=f"<{name}>", is_package="." not in inner)

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's text."""
        text, file = self.texts[module.__name__.removeprefix(f"{self.name}.")], f"<{module.__name__}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), module.__dict__)


def package_of(module: str) -> LabPackage:
    """The lab that a module belongs to, by the module's name. Raises KeyError if it belongs to none."""
    return sys.modules[module.partition(".")[0]].__dict__["LAB_PACKAGE"]
