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
    """Notes what it sends by value. names: by module, and by qualified name in it. lines: of cells, by file name."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.names: dict[str, dict[str, Any]] = {}
        self.lines: dict[str, list[str]] = {}

    def reducer_override(self, obj: Any) -> Any:
        """What pickle asks for each object."""
        reduced = super().reducer_override(obj)
        if reduced is not NotImplemented and isinstance(obj, (type, FunctionType)):
            self.names.setdefault(obj.__module__, {}).update(found_by(obj))
            file = obj.__code__.co_filename if isinstance(obj, FunctionType) else ""
            if file in linecache.cache and not os.path.exists(file):
                self.lines[file] = linecache.getlines(file)
        return reduced


def found_by(obj: type | FunctionType) -> dict[str, Any]:
    """What has to be in its module so that it is found there, by qualified name; nothing if it is not."""
    outer, dot, _ = obj.__qualname__.partition(".")
    there = getattr(sys.modules.get(obj.__module__), outer, None)
    if there is obj:
        return {outer: obj}
    # Of a method there is no need to send the whole class, which may be a check with all that it knows.
    nested = dot and isinstance(obj, type) and isinstance(there, type) and can_be_sent(there)
    return {outer: there, obj.__qualname__: obj} if nested else {}


def packed(function: Any, args: tuple) -> bytes:
    """``(function, args)`` for `unpacked`. Raises what pickle and the objects raise if they cannot be sent."""
    file = io.BytesIO()
    sender = Sender(file)
    sender.dump((function, args))
    names = {module: dict(content) for module, content in sender.names.items() if content}
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
        for content in names.values():
            for name in [name for name in content if "." in name]:
                content.pop(name).__qualname__ = name  # cloudpickle does not keep it
        if main := names.pop(MAIN, None):
            become_main(main)
        made = [add_module(name, content) for name, content in names.items() if name not in sys.modules]
        try:
            yield call
        finally:
            for module in made:
                cloudpickle.unregister_pickle_by_value(module)
                sys.modules.pop(module.__name__, None)


def add_module(name: str, content: dict[str, Any]) -> ModuleType:
    """A module with this content. What it holds is still sent by value: the next process cannot import it either."""
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(content)
    cloudpickle.register_pickle_by_value(module)
    return module
