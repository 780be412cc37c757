"""Describes what a communication call sends: bytes, type, and the value if it is a single number."""

from __future__ import annotations

import pickle
from typing import Any, TypedDict


class Payload(TypedDict):
    """What a call sends. bytes: None if it cannot be told. value: if it is a single number."""

    bytes: int | None
    dtype: str | None
    value: float | None


def describe(payload: Any) -> Payload:
    """Describe a tensor, an ndarray, a buffer specification of mpi4py (``[array, type]``), or any other object, which
    mpi4py pickles."""
    if isinstance(payload, (list, tuple)) and payload and hasattr(payload[0], "dtype"):
        if len(payload) > 1 and all(hasattr(item, "dtype") for item in payload):
            parts = [describe(item) for item in payload]
            return {"bytes": sum(part["bytes"] for part in parts), "dtype": parts[0]["dtype"], "value": None}
        payload = payload[0]
    if payload is None:
        return {"bytes": 0, "dtype": None, "value": None}
    if hasattr(payload, "dtype") and hasattr(payload, "nbytes"):
        single = payload.numel() == 1 if hasattr(payload, "numel") else payload.size == 1
        dtype = str(payload.dtype).removeprefix("torch.")
        return {"bytes": int(payload.nbytes), "dtype": dtype, "value": payload.item() if single else None}
    if isinstance(payload, bool):
        return {"bytes": 1, "dtype": "bool", "value": payload}
    if isinstance(payload, (int, float)):
        return {"bytes": 8, "dtype": type(payload).__name__, "value": payload}
    try:
        size = len(pickle.dumps(payload))
    except Exception:  # what cannot be pickled cannot be sent: the call itself will say so
        size = None
    return {"bytes": size, "dtype": type(payload).__name__, "value": None}


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
