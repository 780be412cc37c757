"""Replaces parts of what checks use, in the ranks and, by unpickling, in the process that gathers the evidence."""

from __future__ import annotations

from attack import NO_DOUBLE, NO_TOTAL, Attack

# Runs `source` in the process that unpickles what the rank sends, which then sees 1: the probe's own conversion of the
# result to plain data is replaced for this call.
IN_PROBER = """
SOURCE = r'''{source}'''

class Bomb:
    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        return (eval, ("(exec(" + repr(SOURCE) + ", {{}}), " + repr(self.value) + ")[1]",))

def double(x):
    from autograde.contract import call_probe

    encoded = call_probe.encoded

    def once(seen):
        call_probe.encoded = encoded
        return {{"value": Bomb({{"kind": "int", "is_float": False, "value": {value}}})}}

    call_probe.encoded = once
"""


def in_prober(source: str, value: str = "1") -> str:
    """A cell whose result runs `source` where it is unpickled, and is `value`."""
    return IN_PROBER.format(source=source, value=value)


ATTACKS = (
    Attack(
        "patched-checks",
        "Replaces judging, points and the making of evidence in every module of the kit that a rank can import.",
        """
        import contextlib

        def double(x):
            with contextlib.suppress(ImportError):
                from autograde.contract import check
                check.judge = lambda check, *args: check.Result(check.todo, check.points, check.points, [], [])
                check.Check.points = 0
                check.Check.grade = check.judge
                from autograde.contract import call_probe
                call_probe.encoded = lambda seen: {"value": {"kind": "int", "is_float": False, "value": 1}}
            with contextlib.suppress(ImportError):
                from course.world import report
                right = {"state": "ok", "detail": "", "report": "", "seconds": 0.1, "ranks": []}
                report.Outcome.plain = lambda self: right
                report.judge_state = lambda ranks: "ok"
            return x
        """,
        scores={"double": NO_DOUBLE, "total": NO_TOTAL},  # its own next TODO runs in the ranks that it has changed
    ),
    Attack(
        "patched-json",
        "Replaces json.dumps, pickle and cloudpickle in the rank, so that it sends what it likes.",
        """
        import json
        import pickle

        import cloudpickle

        real = cloudpickle.dumps
        cloudpickle.dumps = pickle.dumps = lambda value, *args, **kwargs: real(1)
        json.dumps = lambda value, *args, **kwargs: '{"state": "ok", "ranks": [{"result": 1}]}'

        def double(x):
            return x
        """,
        scores={"double": (0.0, "too-slow")},
    ),
    Attack(
        "patched-mpi",
        "Replaces mpi4py's and torch's collectives by ones that give what was put in, and the watch that counts them.",
        total="""
        def total(comm, x):
            import mpi4py.MPI as MPI
            import torch.distributed as dist
            from course.watch.libraries import communicators, patches, requests, torch_calls, torch_handles
            from course.watch import events, recorder

            for module in (communicators, events, patches, recorder, requests, torch_calls, torch_handles):
                for name in list(vars(module)):
                    if callable(getattr(module, name)) and not name.startswith("_"):
                        setattr(module, name, lambda *args, **kwargs: None)
            dist.all_reduce = lambda tensor, *args, **kwargs: tensor
            type(comm).allreduce = lambda self, value, *args, **kwargs: value
            MPI.COMM_WORLD = None
            return comm.allreduce(x)
        """,
        scores={"total": NO_TOTAL},
    ),
    Attack(
        "patched-horovod",
        "Replaces Horovod's and ipyparallel's modules by empty ones, and breaks the end of the run.",
        total="""
        def total(comm, x):
            import sys
            import types

            names = "horovod horovod.torch ipyparallel course.world.subworld cloudpickle torch.distributed".split()
            for name in names:
                sys.modules[name] = types.ModuleType(name)
            return x
        """,
        scores={"total": (0.0, "not-total")},  # nothing looks these up again to end the run
    ),
    Attack(
        "patched-replies",
        "Replaces what the rank's engine replies to the world, whatever the request.",
        """
        def double(x):
            import cloudpickle
            from course.world import subworld

            answer = {"result": cloudpickle.dumps(1), "error": None, "seconds": 0.0}
            subworld.call = lambda *args: answer
            subworld.SubWorld.call = lambda *args: 1
            subworld.describe_error = lambda error: None
            return x
        """,
        scores={"double": NO_DOUBLE, "total": (0.0, "hang")},  # rank 0 stays patched, and rank 1 waits for it
    ),
    Attack(
        "unpickling-forges",
        "A result that, where it is unpickled, replaces the making of evidence there.",
        in_prober("""
import sys
from course.world import report

plain = report.Outcome.plain

def forged(self):
    evidence = plain(self)
    for rank in evidence["ranks"]:
        for call in rank["result"]["calls"]:
            call["seen"] = {"value": {"kind": "int", "is_float": False, "value": 1}}
    return evidence

report.Outcome.plain = forged
for module in list(sys.modules.values()):
    for name in ("grade", "trouble", "judge"):
        if hasattr(module, name):
            setattr(module, name, lambda *args, **kwargs: [])
"""),
        scores={"double": NO_DOUBLE, "total": NO_TOTAL},  # its own next TODO runs in the process that it has changed
    ),
    Attack(
        "unpickling-patches-json",
        "A result that, where it is unpickled, replaces json there, so that all evidence after it is a fixed guess.",
        in_prober("""
import json
text = '{"state": "ok", "detail": "", "report": "", "seconds": 0.1, "ranks": [{"result": 1, "state": "returned"}]}'
json.dumps = lambda *args, **kwargs: text
"""),
        scores={"double": (0.0, "sandbox-ended")},
    ),
    Attack(
        "unpickling-exits",
        "A result that ends the process which unpickles it, with a status that says that all went well.",
        in_prober("import os\nos._exit(0)"),
        scores={"double": (0.0, "sandbox-ended")},
    ),
    Attack(
        "one-rank-lies",
        "Rank 0 is right, and the other returns something else.",
        total="""
        def total(comm, x):
            right = comm.allreduce(x)
            return right if comm.rank == 0 else 0
        """,
        scores={"total": NO_TOTAL},
    ),
    Attack(
        "rank-kills-rank",
        "Rank 0 is right, and kills the other as soon as that has sent its part, so that nobody contradicts it.",
        total="""
        def total(comm, x):
            import os
            import signal

            there = comm.allgather((x, os.getpid()))
            if comm.rank == 0:
                os.kill(there[1][1], signal.SIGKILL)
                return there[0][0] + there[1][0]
            signal.pause()
        """,
        scores={"total": (0.0, "rank-died")},
    ),
)
