"""Ranks find by name what a notebook defines and `world.run` sends, and may exchange it."""

from __future__ import annotations

import functools
import linecache
import sys
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

from course.calls.main_module import become_main
from course.calls.sent_call import packed, unpacked
from course.world import COMM, World

NOTEBOOK = """
import enum, inspect, multiprocessing, pickle, sys
from dataclasses import dataclass

@dataclass
class Part:
    rank: int

class Kind(enum.Enum):
    ONE = 1

def twice(x):
    return 2 * x

def exchange(comm):
    return comm.allgather((Part(comm.rank), Kind.ONE))

def pass_on(comm, part):
    return comm.allgather(part)

def source(comm):
    import torch
    return inspect.getsource(twice), torch.jit.script(twice)(torch.ones(1)).item()

def spawned(comm):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(twice, [comm.rank]), pool.map(Part, [comm.rank])

def main_of_rank(comm):
    return repr(sys.modules["__main__"]), hasattr(sys.modules["__main__"], "Part")
"""
CHECK = """
class Data:
    class Part:
        pass

    def __init__(self):
        self.part = Data.Part()

def exchange(comm, data):
    return [[type(each).__name__, type(each.part) is type(data.part)] for each in comm.allgather(data)]
"""


@pytest.fixture
def notebook() -> dict[str, Any]:
    """What a notebook's cell has defined in this process."""
    file = "<cell of a notebook>"
    linecache.cache[file] = (len(NOTEBOOK), None, NOTEBOOK.splitlines(keepends=True), file)
    namespace = become_main({})
    exec(compile(NOTEBOOK, file, "exec", dont_inherit=True), namespace)
    return namespace


def test_ranks_exchange_objects_of_a_notebooks_classes(world: World, notebook):
    part, one = notebook["Part"], notebook["Kind"].ONE
    both = [(part(0), one), (part(1), one)]
    assert world.run(notebook["exchange"], COMM, size=2) == [both, both]
    given = [part(5), part(5)]
    assert world.run(notebook["pass_on"], COMM, part(5), size=2) == [given, given]
    assert world.run(functools.partial(notebook["pass_on"], part=part(5)), COMM, size=2) == [given, given]


def test_ranks_see_the_text_of_a_notebooks_functions(world: World, notebook):
    assert world.run(notebook["source"], COMM, size=1) == [("def twice(x):\n    return 2 * x\n", 2.0)]


@pytest.mark.thorough
def test_processes_that_ranks_start_find_a_notebooks_functions(world: World, notebook):
    assert world.run(notebook["spawned"], COMM, size=1, deadline=120) == [([0], [notebook["Part"](0)])]


def test_afterwards_a_ranks_main_is_what_it_was_before(world: World, notebook):
    def names() -> list:
        main = sys.modules["__main__"]
        return [repr(main), sys.modules.get("__mp_main__") is main, {*vars(main)} & {"Part", "exchange"}]

    before = world.run(names, size=1)
    world.run(notebook["exchange"], COMM, size=1)
    assert world.run(names, size=1) == before


def test_what_no_rank_can_import_is_found_there_as_well(world: World, monkeypatch):
    """As a class that a check defines, of which an answer is given objects."""
    module = ModuleType("only_here")
    exec(CHECK, vars(module))
    monkeypatch.setitem(sys.modules, "only_here", module)
    cloudpickle.register_pickle_by_value(module)
    try:
        data = module.Data()
        assert world.run(module.exchange, COMM, data, size=2) == [[["Data", True]] * 2] * 2
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def test_what_is_sent_by_value_has_a_module_as_long_as_it_is_called(notebook):
    with unpacked(packed(notebook["exchange"], (1,))) as (function, args):
        assert args == (1,)
        there = sys.modules["__main__"]
        assert there.exchange is function is not notebook["exchange"]
        assert there.Part is function.__globals__["Part"]
    assert sys.modules["__main__"].exchange is notebook["exchange"]
