"""What a communication call sends: bytes, type, and the number itself where it is one number."""

from __future__ import annotations

import pickle
from typing import Any


def describe(payload: Any) -> dict:
    """``{"bytes": int | None, "dtype": str | None, "value": float | int | None}`` of what is sent.

    payload: a tensor, an ndarray, a buffer specification of mpi4py (``[array, type]``), or any object that mpi4py
    pickles.
    """
    if isinstance(payload, (list, tuple)) and payload and hasattr(payload[0], "dtype"):
        if len(payload) > 1 and all(hasattr(item, "dtype") for item in payload):
            parts = [describe(item) for item in payload]
            return {"bytes": sum(part["bytes"] for part in parts), "dtype": parts[0]["dtype"], "value": None}
        payload = payload[0]
    if payload is None:
        return {"bytes": 0, "dtype": None, "value": None}
    if hasattr(payload, "dtype") and hasattr(payload, "nbytes"):
        one = payload.numel() == 1 if hasattr(payload, "numel") else payload.size == 1
        dtype = str(payload.dtype).removeprefix("torch.")
        return {"bytes": int(payload.nbytes), "dtype": dtype, "value": payload.item() if one else None}
    if isinstance(payload, bool):
        return {"bytes": 1, "dtype": "bool", "value": payload}
    if isinstance(payload, (int, float)):
        return {"bytes": 8, "dtype": type(payload).__name__, "value": payload}
    try:
        size = len(pickle.dumps(payload))
    except Exception:  # what cannot be pickled cannot be sent: the call itself will say so
        size = None
    return {"bytes": size, "dtype": type(payload).__name__, "value": None}
