"""A function with its arguments, as a pickle for another process, where what it is made of is found by name as here.

cloudpickle sends what another process cannot import, as what a notebook defines, by value. There it would be nowhere:
pickle looks a class up by its name in its module. So what is sent by value is told by module and name, too.
"""

from __future__ import annotations

import io
import linecache
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle

from course.calls.main_module import MAIN, become_main, can_be_sent, main_put_back


class Sender(cloudpickle.CloudPickler):
    """Notes what it sends by value. names: by module, and by name in it. lines: of notebook cells, by file name."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.names: dict[str, dict[str, Any]] = {}
        self.lines: dict[str, list[str]] = {}

    def reducer_override(self, obj: Any) -> Any:
        """What pickle asks for each object."""
        reduced = super().reducer_override(obj)
        if reduced is not NotImplemented and isinstance(obj, (type, FunctionType)):
            module, name = getattr(obj, "__module__", None), obj.__qualname__.partition(".")[0]
            there = getattr(sys.modules.get(module), name, None)
            # Of a method there is no need to send the whole class, which may be a check with all that it knows.
            nested = isinstance(obj, type) and isinstance(there, type) and "<locals>" not in obj.__qualname__
            if there is obj or (nested and can_be_sent(there)):
                self.names.setdefault(module, {})[name] = there
            file = obj.__code__.co_filename if isinstance(obj, FunctionType) else ""
            if file in linecache.cache and not os.path.exists(file):
                self.lines[file] = linecache.getlines(file)
        return reduced


def packed(function: Any, args: tuple) -> bytes:
    """``(function, args)`` for `unpacked`. Raises what pickle and the objects raise if they cannot be sent."""
    file = io.BytesIO()
    sender = Sender(file)
    sender.dump((function, args))
    names = {module: dict(content) for module, content in sender.names.items()}
    sender.dump((names, dict(sender.lines)))  # by the same pickler, so these are the same objects there
    return file.getvalue()


@contextmanager
def unpacked(payload: bytes) -> Iterator[tuple[Callable, tuple]]:
    """The function and the arguments that `packed` was given, with their modules, which go with this block."""
    with main_put_back():
        reader = pickle.Unpickler(io.BytesIO(payload))
        call, (names, lines) = reader.load(), reader.load()
        for file, text in lines.items():
            linecache.cache[file] = (sum(map(len, text)), None, text, file)
        if MAIN in names:
            become_main(names.pop(MAIN))
        made = [add_module(name, content) for name, content in names.items() if name not in sys.modules]
        try:
            yield call
        finally:
            for module in made:
                cloudpickle.unregister_pickle_by_value(module)
                del sys.modules[module.__name__]


def add_module(name: str, content: dict[str, Any]) -> ModuleType:
    """A module with this content. What it holds is still sent by value: the next process cannot import it either."""
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(content)
    cloudpickle.register_pickle_by_value(module)
    return module
