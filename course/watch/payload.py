"""Describes what a communication call sends: bytes, type, and the numbers in it where they are few."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, NamedTuple


class Payload(NamedTuple):
    """What a call sends. bytes: None if it cannot be told. values: the numbers, if they are at most FEW; a number that
    JSON cannot hold is None."""

    bytes: int | None
    dtype: str | None
    values: list[float | None] | None


FEW = 8
LARGEST = 2**63  # beyond it, integers are not kept
new = tuple.__new__  # faster than a NamedTuple's own
NOTHING, EMPTY = Payload(None, None, None), Payload(0, None, None)
FORMATS = {"d": "float64", "f": "float32", "i": "int32", "l": "int64", "q": "int64"}  # of buffers, by struct's letters


def describe(payload: Any) -> Payload:
    """Describe a tensor, an ndarray, a list of them, or any other object, which mpi4py pickles.

    What cannot be described is None. Raises nothing: the call that it describes must go on as without a watch.
    """
    if type(payload) is float and isfinite(payload):  # the most frequent
        return new(Payload, (8, "float", [payload]))
    try:
        return described(payload)
    except Exception:
        return NOTHING


def describe_buffer(payload: Any, vector: bool = False) -> Payload:
    """Describe what mpi4py's methods in capitals take: whatever gives a buffer, or a list of it and perhaps counts,
    displacements and a type. vector: the counts are one for each rank. Raises nothing."""
    return quietly(described_buffer, payload, vector)


def describe_pickled(payload: Any) -> Payload:
    """Describe an object that mpi4py sends in a message: as many bytes as arrive. Raises nothing."""
    return quietly(described_pickled, payload)


def quietly(describing: Callable[..., Payload], *args: Any) -> Payload:
    """What `describing` gives; NOTHING if it raises."""
    try:
        return describing(*args)
    except Exception:
        return NOTHING


def described(payload: Any) -> Payload:
    """See `describe`. Raises what the payload raises when it is asked about itself."""
    if payload is None:
        return EMPTY
    kind, dtype = type(payload), getattr(payload, "dtype", None)
    if dtype is not None and (size := getattr(payload, "nbytes", None)) is not None:
        return new(Payload, (int(size), name_of(dtype), numbers(payload)))
    if isinstance(payload, bool):
        return Payload(1, "bool", [int(payload)])
    if isinstance(payload, (int, float)):
        return Payload(8, kind.__name__, [number(payload)])
    if isinstance(payload, (list, tuple)) and payload and all(hasattr(part, "dtype") for part in payload):
        parts = [described(part) for part in payload]
        values = [each for part in parts for each in part.values or [None] * (FEW + 1)]
        return Payload(sum(part.bytes for part in parts), parts[0].dtype, values if len(values) <= FEW else None)
    return Payload(len(pickle.dumps(payload)), kind.__name__, None)


def described_pickled(payload: Any) -> Payload:
    """See `describe_pickled`. Raises what pickle raises."""
    from mpi4py import MPI

    return described(payload)._replace(bytes=len(MPI.pickle.dumps(payload)))


def part_of(about: Payload, buffer: Any, rank: int, size: int) -> Payload:
    """Describe this rank's own block of a receive buffer. about: all of it."""
    rest = buffer[1:] if isinstance(buffer, (list, tuple)) else ()
    counts = next((part for part in rest if hasattr(part, "__len__") and not isinstance(part, str)), None)
    if counts is not None:
        counts = [int(count) for count in (counts[0] if hasattr(counts[0], "__len__") else counts)]
        return about._replace(bytes=about.bytes * counts[rank] // max(1, sum(counts)), values=None)
    each = len(about.values or ()) // size
    return about._replace(bytes=about.bytes // size, values=about.values and about.values[rank * each :][:each])


def described_buffer(payload: Any, vector: bool) -> Payload:
    """See `describe_buffer`. Raises what the payload raises when it is asked about itself."""
    if hasattr(payload, "dtype") and hasattr(payload, "nbytes"):
        return described(payload)
    from mpi4py import MPI

    buffer, *rest = payload if isinstance(payload, (list, tuple)) else (payload,)
    if buffer is None:
        return EMPTY
    counts, datatype = [part for part in rest if not isinstance(part, (MPI.Datatype, str))], None
    if len(counts) < len(rest):
        datatype = rest[-1] if isinstance(rest[-1], MPI.Datatype) else MPI.Datatype.fromcode(rest[-1])
    about = described(buffer) if hasattr(buffer, "dtype") else in_memory(buffer)
    if datatype is not None and datatype.is_predefined:
        dtype = named_type(datatype.typestr)
        about = about._replace(dtype=dtype, values=about.values if dtype == about.dtype else None)
    if not counts or counts[0] is None:
        return about._replace(bytes=MPI.buffer(buffer).nbytes)
    count, displaced = counts[0], len(counts) > 1
    if isinstance(count, tuple) and (not vector or hasattr(count[0], "__len__")):
        count, displaced = count[0], True
    items = sum(map(int, count)) if hasattr(count, "__len__") else int(count)
    width = datatype.Get_size() if datatype else memoryview(buffer).itemsize
    known = about.values is not None and not displaced and width * len(about.values) == about.bytes
    return about._replace(bytes=items * width, values=about.values[:items] if known else None)


@functools.cache
def named_type(typestr: str) -> str:
    """The name of a type of MPI's, by numpy's code of it."""
    import numpy as np

    return str(np.dtype(typestr)) if typestr[0] in "?biufc" else typestr


@functools.cache
def name_of(dtype: Any) -> str:
    """The name of a type of numbers; numpy takes two microseconds to make it."""
    return str(dtype).removeprefix("torch.")


def in_memory(buffer: Any) -> Payload:
    """Describe what gives a buffer and is neither array nor tensor."""
    try:
        view = memoryview(buffer)
    except TypeError:
        return Payload(None, type(buffer).__name__, None)
    letter = view.format.lstrip("@=<")
    if letter not in FORMATS or view.ndim != 1 or view.nbytes > FEW * view.itemsize:
        return Payload(view.nbytes, FORMATS.get(letter, type(buffer).__name__), None)
    return Payload(view.nbytes, FORMATS[letter], [number(each) for each in view.cast("B").cast(letter).tolist()])


def numbers(array: Any) -> list[float | None] | None:
    """The numbers of a tensor or an array; None if they are many."""
    numel = getattr(array, "numel", None)
    count = array.size if numel is None else numel()
    if count == 1:
        value = array.item()
        return [value if type(value) is float and isfinite(value) else number(value)]
    if count > FEW:
        return None
    return [number(each) for each in array.reshape(-1).tolist()]


def number(value: Any) -> float | None:
    """A number as JSON can hold it; None for what is complex, too large, or not finite."""
    if isinstance(value, int):
        return int(value) if abs(value) < LARGEST else None
    try:
        value = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if isfinite(value) else None


ALIASES = {
    **dict.fromkeys(("sendobj", "sendbuf", "obj", "tensor", "tensors", "input", "input_list"), "payload"),
    **dict.fromkeys(("object_list", "input_tensor", "input_tensors", "input_tensor_list", "self"), "payload"),
    **dict.fromkeys(("scatter_list", "scatter_object_input_list"), "payload"),
    **dict.fromkeys(("dst", "src", "root_rank"), "peer"),
    **dict.fromkeys(("group_dst", "group_src"), "place"),
    **dict.fromkeys(("recvbuf", "output", "output_tensor", "output_tensors", "gather_list"), "out"),
    "sendtag": "tag",
    "reduceOp": "op",
}


def flat(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """The names of each operation's arguments, from a table by operations, both with spaces between them."""
    return {operation: tuple(names.split()) for operations, names in table.items() for operation in operations.split()}


def bound(names: Sequence[str], args: tuple, kwargs: dict) -> dict:
    """Arguments by our names, whether they were passed by position or by the library's names; `buf` is the first."""
    if not kwargs:
        return dict(zip(names, args, strict=False))
    named = {names[0] if name == "buf" else ALIASES.get(name, name): value for name, value in kwargs.items()}
    return {**dict(zip(names, args, strict=False)), **named}
