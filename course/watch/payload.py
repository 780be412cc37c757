"""Describes what a communication call sends: bytes, type, and the value if it is a single number."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypedDict


class Payload(TypedDict):
    """What a call sends. bytes: None if it cannot be told. value: if it is a single number."""

    bytes: int | None
    dtype: str | None
    value: float | None


LARGEST = 2**63  # beyond it, integers are not kept


def describe(payload: Any) -> Payload:
    """Describe a tensor, an ndarray, a list of them, or any other object, which mpi4py pickles.

    What cannot be described is None. Raises nothing: the call that it describes must go on as without a watch.
    """
    return quietly(described, payload)


def describe_buffer(payload: Any, vector: bool = False) -> Payload:
    """Describe what mpi4py's methods in capitals take: whatever gives a buffer, or a list of it and perhaps counts,
    displacements and a type. vector: the counts are one for each rank. Raises nothing."""
    return quietly(described_buffer, payload, vector)


def quietly(describing: Callable[..., Payload], *args: Any) -> Payload:
    """What `describing` gives; nothing but None if it raises."""
    try:
        return describing(*args)
    except Exception:
        return {"bytes": None, "dtype": None, "value": None}


def described(payload: Any) -> Payload:
    """See `describe`. Raises what the payload raises when it is asked about itself."""
    if payload is None:
        return {"bytes": 0, "dtype": None, "value": None}
    if isinstance(payload, bool):
        return {"bytes": 1, "dtype": "bool", "value": payload}
    if isinstance(payload, (int, float)):
        return {"bytes": 8, "dtype": type(payload).__name__, "value": number(payload)}
    if hasattr(payload, "dtype") and hasattr(payload, "nbytes"):
        single = payload.numel() == 1 if hasattr(payload, "numel") else payload.size == 1
        dtype = str(payload.dtype).removeprefix("torch.")
        return {"bytes": int(payload.nbytes), "dtype": dtype, "value": number(payload.item()) if single else None}
    if isinstance(payload, (list, tuple)) and payload and all(hasattr(part, "dtype") for part in payload):
        parts = [described(part) for part in payload]
        value = parts[0]["value"] if len(parts) == 1 else None
        return {"bytes": sum(part["bytes"] for part in parts), "dtype": parts[0]["dtype"], "value": value}
    return {"bytes": len(pickle.dumps(payload)), "dtype": type(payload).__name__, "value": None}


def described_buffer(payload: Any, vector: bool) -> Payload:
    """See `describe_buffer`. Raises what the payload raises when it is asked about itself."""
    from mpi4py import MPI

    buffer, *rest = payload if isinstance(payload, (list, tuple)) else (payload,)
    if buffer is None:
        return {"bytes": 0, "dtype": None, "value": None}
    counts, datatype = [part for part in rest if not isinstance(part, (MPI.Datatype, str))], None
    if len(counts) < len(rest):
        datatype = rest[-1] if isinstance(rest[-1], MPI.Datatype) else MPI.Datatype.fromcode(rest[-1])
    about = described(buffer) if hasattr(buffer, "dtype") else {"dtype": type(buffer).__name__, "value": None}
    if not counts or counts[0] is None:
        return {**about, "bytes": MPI.buffer(buffer).nbytes}
    count = counts[0]
    if isinstance(count, tuple) and (not vector or hasattr(count[0], "__len__")):
        count = count[0]  # and a displacement, or displacements
    items = sum(map(int, count)) if hasattr(count, "__len__") else int(count)
    width = datatype.Get_size() if datatype else memoryview(buffer).itemsize
    return {**about, "bytes": items * width, "value": about["value"] if items == 1 else None}


def number(value: Any) -> float | None:
    """A number as JSON can hold it; None for what is complex or too large."""
    if isinstance(value, (bool, int)):
        return value if abs(value) < LARGEST else None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


ALIASES = {
    **dict.fromkeys(
        ("sendobj", "sendbuf", "obj", "tensor", "tensors", "input", "input_list", "object_list"), "payload"
    ),
    **dict.fromkeys(("root", "dest", "source", "dst", "src", "root_rank"), "peer"),
    **dict.fromkeys(("recvbuf", "output", "output_tensor"), "out"),
}


def flat(table: dict) -> dict[str, tuple[str, ...]]:
    """A table of argument names with one entry per operation, from one by groups of operations."""
    return {operation: names for operations, names in table.items() for operation in operations}


def bound(names: tuple[str, ...], args: tuple, kwargs: dict) -> dict:
    """Arguments by our names, whether they were passed by position or by the library's names."""
    return {
        **dict(zip(names, args, strict=False)),
        **{ALIASES.get(name, name): value for name, value in kwargs.items()},
    }
