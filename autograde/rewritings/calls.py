"""Rewritings of calls of MPI, torch.distributed and Horovod: arguments by name, and buffers as memoryviews.

Each takes the syntax tree of an answer's cell, which it may change, and the name of its TODO, and returns the tree.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache

BUFFERS = {
    **{"Send": 1, "Recv": 1, "Isend": 1, "Irecv": 1, "Ssend": 1, "Bcast": 1, "Reduce": 2, "Allreduce": 2},
    **{"Gather": 2, "Allgather": 2, "Scatter": 2, "Alltoall": 2, "Reduce_scatter_block": 2, "Scan": 2, "Exscan": 2},
}  # mpi4py's methods whose first arguments are buffers, and how many


@cache
def parameters(library: str, name: str) -> tuple[str, ...]:
    """The names of a library function's parameters, in order; none if it cannot be asked for them."""
    if library == "mpi":
        from mpi4py.MPI import Intracomm

        function = getattr(Intracomm, name, None)
    elif library == "torch":
        from torch import distributed

        function = getattr(distributed, name, None)
    else:
        import horovod.torch as hvd

        function = getattr(hvd, name, None)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD,)
    given = list(signature.parameters.values())[library == "mpi" :]
    return tuple(each.name for each in given) if all(each.kind in kinds for each in given) else ()


def library_of(function: ast.expr) -> str:
    """Which library a called method is of, by the name before its point; empty if that tells nothing."""
    if not isinstance(function, ast.Attribute):
        return ""
    owner = ast.unparse(function.value)
    if owner in ("dist", "distributed", "torch.distributed"):
        return "torch"
    if owner in ("hvd", "horovod.torch"):
        return "horovod"
    return "mpi" if owner in ("comm", "COMM", "world", "MPI.COMM_WORLD", "self.comm") else ""


class Keywords(ast.NodeTransformer):
    """Positional arguments are given by name."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call of one of the three libraries."""
        self.generic_visit(node)
        library = library_of(node.func)
        if not library or not node.args or any(isinstance(each, ast.Starred) for each in node.args):
            return node
        names = parameters(library, node.func.attr)
        if len(names) < len(node.args):
            return node
        named = [ast.keyword(name, value) for name, value in zip(names, node.args, strict=False)]
        return ast.Call(node.func, [], [*named, *node.keywords])


class Memoryviews(ast.NodeTransformer):
    """Arrays that MPI sends and receives are given as memoryviews."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call with buffers that are plain names."""
        self.generic_visit(node)
        if library_of(node.func) == "mpi" and node.func.attr in BUFFERS:
            node.args = [
                ast.Call(ast.Name("memoryview", ast.Load()), [each], [])
                if place < BUFFERS[node.func.attr] and isinstance(each, ast.Name)
                else each
                for place, each in enumerate(node.args)
            ]
        return node


def keywords(tree: ast.Module, todo: str) -> ast.Module:
    """Arguments of communication are named."""
    return Keywords().visit(tree)


def memoryviews(tree: ast.Module, todo: str) -> ast.Module:
    """Buffers are memoryviews."""
    return Memoryviews().visit(tree)
