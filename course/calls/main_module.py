"""The module `__main__` of code that comes as a text, or from another process, while it runs.

Many things look a name up in the module that a class or function says it is from: pickle, and with it messages,
torch.save and multiprocessing; typing, dataclasses, inspect. Code in a namespace that says it is `__main__` finds what
it defines only if the module of this name is this namespace.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from tempfile import NamedTemporaryFile
from types import ModuleType
from typing import Any

import cloudpickle

from course.processes.handover import FOLDER

MAIN = "__main__"
NAMES = (MAIN, "__mp_main__")  # the second is the name in processes that multiprocessing starts by itself


# A process that a rank starts is no rank, and has the environment of one: starting MPI there would end it by SIGSEGV.
NO_RANK = "import mpi4py\nmpi4py.rc.initialize = False\n"


class MainModule(ModuleType):
    """A module `__main__` with these names, and with what that before it has: there may be code of both under way.

    file: what `inspect` takes for its file; the code does not see it, as it sees none in a notebook.
    """

    __slots__ = ("__before", "__file")  # Python puts the class's name before them, so they hide no name of the code

    def __init__(self, names: Mapping[str, Any], file: str) -> None:
        super().__init__(MAIN)
        self.__before, self.__file = sys.modules.get(MAIN), file
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        if name == "__file__" and self.__file:
            return self.__file
        if name.startswith("__"):  # what one of them is, the other is not
            raise AttributeError(f"module '__main__' has no attribute {name!r}")
        return getattr(self.__before, name)


def as_program(main: MainModule) -> str:
    """A program that defines what can be sent of the names of a module."""
    names = {name: value for name, value in vars(main).items() if not name.startswith("__") and can_be_sent(value)}
    begin = NO_RANK if "mpi4py" in sys.modules else ""
    return f"{begin}import pickle\nglobals().update(pickle.loads({cloudpickle.dumps(names)!r}))\n"


def can_be_sent(value: Any) -> bool:
    """Whether cloudpickle can send it."""
    try:
        return bool(cloudpickle.dumps(value))
    except Exception:  # whatever is raised by it, or by methods of a class of the student's
        return False


def become_main(names: Mapping[str, Any], file: str = "") -> dict[str, Any]:
    """Make a module `__main__` with these names, and return its namespace. It stays; see `main_put_back`.

    file: of which `linecache` has the lines, for `inspect`.
    """
    module = MainModule(names, file)
    sys.modules.update(dict.fromkeys(NAMES, module))
    return vars(module)


@contextmanager
def main_put_back() -> Iterator[None]:
    """After this block, `__main__` is what it was before, and torch.load knows no classes of another one.

    Processes that multiprocessing starts in it have what `__main__` has, also those that are no forks ("spawn",
    "forkserver") and so would run the file of a program.
    """
    from multiprocessing import spawn

    before, prepare = {name: sys.modules.get(name) for name in NAMES}, spawn.get_preparation_data
    serialization = getattr(sys.modules.get("torch"), "serialization", None)
    safe = serialization.get_safe_globals() if serialization else []
    with ExitStack() as files:

        def with_main(name: str) -> dict[str, Any]:
            data, main = prepare(name), sys.modules[MAIN]
            if isinstance(main, MainModule):
                # In the ranks' folder, if there is one: it goes even if this process is killed.
                folder = os.environ.get(FOLDER)
                file = files.enter_context(NamedTemporaryFile("w", suffix=".py", dir=folder))
                file.write(as_program(main))
                file.flush()
                data.pop("init_main_from_name", None)
                data["init_main_from_path"] = file.name
            return data

        spawn.get_preparation_data = with_main
        try:
            yield
        finally:
            spawn.get_preparation_data = prepare
            for name, module in before.items():
                if module is None:
                    sys.modules.pop(name, None)
                else:
                    sys.modules[name] = module
            if serialization:
                serialization.clear_safe_globals()
                serialization.add_safe_globals(safe)
