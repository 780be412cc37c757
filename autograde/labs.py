"""Finds labs and loads their checks and variants. A lab is a folder of `solutions/` that holds a `lab.py`."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import cloudpickle

from autograde.check import Check
from autograde.variants import Wrong

# How many ranks a lab's checks run on, where its checks.py sets no RANKS.
DEFAULT_RANKS = 4
PARTS = ("cases", "probe", "schema", "verdict")  # what a check must have of its own


class LabError(Exception):
    """A lab's files are not as they must be. The message names the lab, the place and what to do."""


@dataclass(frozen=True)
class Lab:
    """One lab: its name (``03_pi_allreduce``, also the name of its notebook) and its source folder."""

    name: str
    folder: Path

    @property
    def notebook(self) -> str:
        """File name of the lab's notebook."""
        return f"{self.name}.ipynb"

    @property
    def source(self) -> Path:
        """The notebook as percent text, answers included."""
        return self.folder / "lab.py"

    @property
    def checks(self) -> Path:
        """The lab's checks, hidden cases included."""
        return self.folder / "checks.py"

    @property
    def variants(self) -> Path:
        """Other right answers, and known mistakes."""
        return self.folder / "variants.py"


def find_labs(root: Path) -> list[Lab]:
    """All labs of the course at `root`, by name."""
    return [Lab(path.parent.name, path.parent) for path in sorted((root / "solutions").glob("*/lab.py"))]


def find_lab(root: Path, name: str) -> Lab:
    """The lab called `name`. Raises LabError, which lists the labs there are."""
    labs = {lab.name: lab for lab in find_labs(root)}
    if name not in labs:
        there_are = f"there are: {', '.join(labs)}" if labs else "there are none"
        raise LabError(f"no lab `{name}` in {root / 'solutions'}; {there_are}")
    return labs[name]


def load_module(path: Path) -> ModuleType:
    """Import the file at `path` under a name of its own, so that several labs' `checks.py` can be there at once.

    Its functions travel to ranks by value: a rank needs neither the file nor the name. Loading an unchanged file again
    gives the same module. Raises LabError where there is no such file, or it does not run.
    """
    path = Path(path).resolve()
    try:
        text = path.read_bytes()
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from error
    name = f"lockstep_{path.stem}_{hashlib.sha256(bytes(path) + text).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(compile(text, path, "exec"), module.__dict__)  # not through importlib: that leaves __pycache__ in the lab
    except Exception as error:
        del sys.modules[name]
        raise LabError(f"{path} does not load: {type(error).__name__}: {error}") from error
    cloudpickle.register_pickle_by_value(module)
    return module


def load_checks(path: Path, *, probes_only: bool = False) -> list[Check]:
    """The checks in the `checks.py` at `path`, in the lab's order, each TODO once. Raises LabError.

    probes_only: the file is what `autograde.probe_only` makes, without cases, verdicts and schemas.
    """
    checks = getattr(load_module(path), "CHECKS", None)
    if not isinstance(checks, list) or not all(isinstance(check, Check) for check in checks):
        raise LabError(f"{path} must end with CHECKS = [...], a list with one Check for each TODO")
    todos = [check.todo for check in checks]
    for todo in todos:
        if todos.count(todo) > 1:
            raise LabError(f"{path}: CHECKS has more than one check for `{todo}`")
    for check in checks:
        for part in ("probe",) if probes_only else PARTS:
            if getattr(type(check), part) is getattr(Check, part):
                raise LabError(f"{path}: the check of `{check.todo}` has no `{part}`; see autograde/check.py")
    return checks


def load_ranks(path: Path) -> int:
    """How many ranks the checks at `path` need: the constant RANKS in it."""
    ranks = getattr(load_module(path), "RANKS", DEFAULT_RANKS)
    if not isinstance(ranks, int) or ranks < 1:
        raise LabError(f"{path}: RANKS must be a whole number from 1 on, not {ranks!r}")
    return ranks


def load_variants(path: Path) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, Wrong]]]:
    """RIGHT and WRONG of the `variants.py` at `path`: TODO -> name -> source text, or Wrong."""
    module = load_module(path)
    for name in ("RIGHT", "WRONG"):
        if not isinstance(getattr(module, name, None), dict):
            raise LabError(f"{path} must have a dictionary {name}: TODO -> name -> variant")
    return module.RIGHT, module.WRONG
