"""What an answer defines is found by name in the module that it is in, as in a program of its own."""

from __future__ import annotations

import pytest
from student_cells import cell

from autograde.cells.subject import Subject
from course.world import COMM, World

# What a cell defines before its `f(comm)`.
OWN = """
import copy, enum, functools, inspect, io, multiprocessing, pickle, sys, typing
from dataclasses import dataclass, fields
import torch
import torch.distributed as dist

class Place(typing.NamedTuple):
    host: str
    rank: int

@dataclass
class Part:
    right: int
    after: "Part | None" = None

class Kind(enum.Enum):
    ONE = 1

class Outer:
    class Inner:
        rank = 0

def twice(x):
    return 2 * x

def counted(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

@counted
def thrice(x):
    return 3 * x

def found(value):
    return pickle.loads(pickle.dumps(value))

"""
ALL = """
def f(comm):
    seen = []
    for name in [name for name in globals() if name.startswith("use_")]:
        try:
            seen.append(globals()[name](comm))
        except Exception as error:
            seen.append(f"{type(error).__name__}: {error}")
    return seen
"""
# Bodies of functions of a communicator, each of which returns True.
USES = {
    "named tuple in a collective": "return comm.allgather(Place('a', comm.rank))[1] == Place('a', 1)",
    "dataclass from rank 0": "return isinstance(comm.bcast(Part(3, Part(4)) if comm.rank == 0 else None).after, Part)",
    "enum": "return comm.allgather(Kind.ONE) == [Kind.ONE] * comm.size",
    "message": """
    other = 1 - comm.rank
    return comm.sendrecv(Part(comm.rank), dest=other, source=other) == Part(other)""",
    "nested class": "return type(comm.bcast(Outer.Inner())) is Outer.Inner",
    "function": "return comm.bcast(twice)(2) == 4 and found(functools.partial(twice, 3))() == 6",
    "decorated function": "return found(thrice) is thrice and thrice(2) == 6",
    "exception": """
    class_ = type('Late', (Exception,), {})
    globals()['Late'] = class_
    return isinstance(found(class_('x')), class_)""",
    "deep copy": "return copy.deepcopy([Part(1), Kind.ONE, twice]) == [Part(1), Kind.ONE, twice]",
    "file of torch": """
    file = io.BytesIO()
    torch.save({"part": Part(2)}, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)["part"] == Part(2)""",
    "safe file of torch": """
    file = io.BytesIO()
    torch.serialization.add_safe_globals([Part])
    torch.save({"part": Part(2)}, file)
    return torch.load(io.BytesIO(file.getvalue()))["part"] == Part(2)""",
    "type hints": "return typing.get_type_hints(Part)['after'] == typing.Optional[Part]",
    "module": "import __main__; return inspect.getmodule(twice) is sys.modules[__name__] is __main__",
    "source of a function": "return inspect.getsource(twice) == 'def twice(x):\\n    return 2 * x\\n'",
    "source of a class": "return inspect.getsource(Place).startswith('class Place(typing.NamedTuple):')",
    "torch.jit": "return torch.jit.script(twice)(torch.ones(1)).item() == 2",
    "forked processes": """
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(twice, [1, 2]) == [2, 4] and pool.map(Part, [1]) == [Part(1)]""",
    "forked processes that are ended at once": """
    import os, signal, time
    ends = []
    for _ in range(20):
        if not (forked := os.fork()):
            time.sleep(60)
            os._exit(1)
        os.kill(forked, signal.SIGTERM)
        ends.append(os.waitpid(forked, 0)[1])
    return ends == [signal.SIGTERM] * 20""",
    "workers of a loader": """
    loader = torch.utils.data.DataLoader([1, 2], batch_size=1, num_workers=1, collate_fn=lambda batch: Part(batch[0]))
    return [*loader] == [Part(1), Part(2)]""",
    "objects of torch.distributed": """
    parts, given = [None] * dist.get_world_size(), [Part(1) if comm.rank == 0 else None]
    dist.all_gather_object(parts, Part(dist.get_rank()))
    dist.broadcast_object_list(given)
    return parts == [Part(0), Part(1)] and given == [Part(1)]""",
}
SLOW = {  # a second and more each, for a Python that is started
    "spawned processes": """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(twice, [1, 2]) == [2, 4] and pool.map(Part, [1]) == [Part(1)]""",
    "processes of a fork server": """
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        return pool.map(given, [1, 2]) == [2, 3]""",
}


def uses(world: World, bodies: dict[str, str], head: str = "", deadline: float = 20) -> dict[str, list]:
    """By name, what these bodies of functions of a cell return on two ranks, or raise. Twice, as in two cases."""

    def on_rank(subject: Subject, comm: object) -> list:
        def given(x: int) -> int:
            return x + 1

        return subject.load(given=given)(comm)

    functions = [f"def use_{number}(comm):\n    {body.strip()}\n" for number, body in enumerate(bodies.values())]
    text = cell(head + OWN + "\n".join(functions) + ALL)
    results = []
    for _ in range(2):
        results += world.run(on_rank, text, COMM, size=2, init="torch", deadline=deadline)
    return dict(zip(bodies, map(list, zip(*results, strict=True)), strict=True))


def right(bodies: dict[str, str]) -> dict[str, list]:
    """What `uses` gives where all is well."""
    return {name: [True] * 4 for name in bodies}


def test_what_a_cell_defines_is_found_in_its_module(world: World):
    assert uses(world, USES) == right(USES)


def test_what_a_probe_gives_stays_as_it_is():
    def given(x: int, *, more: int = 1) -> int:
        """Counts its calls."""
        vars(given)["calls"] = vars(given).get("calls", 0) + 1
        return x + more

    class Kept:
        def __init__(self, x: int) -> None:
            super().__init__()
            self.x = x

    before = [(one.__module__, one.__qualname__) for one in (given, Kept)]
    f = Subject("f", "import pickle\ndef f(x): return pickle.loads(pickle.dumps((given, Kept(x))))").load(
        given=given, Kept=Kept
    )
    found, kept = f(3)
    assert (found(1), found(1, more=5), given.calls, kept.x, isinstance(kept, Kept)) == (2, 6, 2, 3, True)
    assert (found.__module__, found.__qualname__, found.__doc__) == ("__main__", "given", "Counts its calls.")
    assert [(one.__module__, one.__qualname__) for one in (given, Kept)] == before


def test_it_is_found_with_annotations_that_are_texts(world: World):
    some = {name: USES[name] for name in ("dataclass from rank 0", "type hints", "named tuple in a collective")}
    assert uses(world, some, "from __future__ import annotations\n") == right(some)


@pytest.mark.thorough
def test_it_is_found_in_processes_that_are_started_by_themselves(world: World):
    assert uses(world, SLOW, deadline=120) == right(SLOW)
