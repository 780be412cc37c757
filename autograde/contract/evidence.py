"""What a probe saw, declared once: the class says its fields, how they travel as JSON, and what is refused.

A probe's module declares what one call of the student's function shows::

    class Seen(Evidence):
        result: Array

The rank encodes it, the grader decodes it strictly, and the JSON Schema that a sandbox's answer is held to is made from
the same class. Numbers that are not finite are None. Types of fields: int, float, bool, str, lists and dicts of these,
`X | None`, and the classes below. See https://jcristharif.com/msgspec/structs.html.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec

FEW = 24  # entries up to which an array is sent whole
SKETCHED = 9  # numbers that are sent of a larger one


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of what a call shows on one rank. The rest: see the functions of these names."""

    unjudged: ClassVar[Mapping[str, str]] = MappingProxyType({})
    judged_in_calls: ClassVar[Mapping[str, str]] = MappingProxyType({})
    judged_in_places: ClassVar[Mapping[str, str]] = MappingProxyType({})


def unjudged(**reasons: str) -> Callable[[type[Evidence]], type[Evidence]]:
    """Declares fields of a class that may be anything, as far as points go, each with the reason why.

    All other fields are judged: a test changes each of them, and a criterion has to see it. Raises ValueError for what
    is no field.
    """
    return declaring("unjudged", reasons)


def judged_in_calls(**reasons: str) -> Callable[[type[Evidence]], type[Evidence]]:
    """Declares fields that are judged only in calls at which certain criteria look; with the reason. Raises ValueError
    for what is no field."""
    return declaring("judged_in_calls", reasons)


def judged_in_places(**reasons: str) -> Callable[[type[Evidence]], type[Evidence]]:
    """Declares fields that are not judged in each list, call or rank in which they are, but in some; with the reason.
    Raises ValueError for what is no field."""
    return declaring("judged_in_places", reasons)


def declaring(name: str, reasons: Mapping[str, str]) -> Callable[[type[Evidence]], type[Evidence]]:
    """Adds reasons to those of a class, and of the one it is derived from, under this name."""

    def declared(kind: type[Evidence]) -> type[Evidence]:
        if unknown := {*reasons} - {*kind.__struct_fields__}:
            raise ValueError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
        setattr(kind, name, MappingProxyType({**getattr(kind, name), **reasons}))
        return kind

    return declared


@unjudged(kind="it chooses words", is_float="where a number is asked for, each kind of one will do")
class Number(Evidence):
    """A value where a number is expected.

    kind: its type, in words. is_float: whether it is a float (numpy's float64 is one). value: exact where it is an
    integer; None where it is no finite number.
    """

    kind: str
    is_float: bool
    value: int | float | None

    @classmethod
    def of(cls, value: Any) -> Number:
        """What a function returned; anything."""
        kind, number = type(value).__name__, None
        if hasattr(value, "dtype") and kind != str(value.dtype):
            kind = f"{kind} of {value.dtype}"
        try:
            plain = value.item() if hasattr(value, "item") else value
            if isinstance(plain, (str, bytes)):  # of which float() makes numbers, too
                raise TypeError("a text is no number")
            number = plain if type(plain) is int else float(plain)
            finite = math.isfinite(number)
        except Exception:  # whatever a value raises on conversion, it is no number
            return cls(kind, False, None)
        return cls(kind, isinstance(value, float), number if finite else None)


class Values(Evidence):
    """A value where several are expected, such as a tuple of three.

    kind: empty, or what came in their place, in words; then there are none. numbers: what each of them is, if it is a
    number.
    """

    kind: str
    numbers: list[Number]

    @classmethod
    def of(cls, value: Any, n: int) -> Values:
        """What a function returned; anything. n: how many are expected, in a tuple or another row."""
        from autograde.contract.calls import type_in_words

        kind = type_in_words(value)
        if isinstance(value, (str, bytes, dict, set, frozenset)):
            return cls(kind, [])
        try:
            values = [*islice(value, n + 1)]
        except Exception:  # whatever it raises, it does not consist of values
            return cls(kind, [])
        if len(values) != n:
            return cls(f"{kind} of {len(value)}" if isinstance(value, (list, tuple)) else kind, [])
        return cls("", [*map(Number.of, values)])

    def __getitem__(self, place: int) -> Number:
        """The value at a place; no number if nothing is there."""
        return self.numbers[place] if place < len(self.numbers) else Number(self.kind, False, None)


@unjudged(kind="it chooses words where numbers are missing")
class NumbersByName(Evidence):
    """A value where a dict of numbers is expected.

    kind: empty, or what came in place of a dict. numbers: as far as they are there.
    """

    kind: str
    numbers: dict[str, Number]

    @classmethod
    def of(cls, value: Any, names: list[str]) -> NumbersByName:
        """What a function returned; anything. names: those that are looked at."""
        from autograde.contract.calls import type_in_words

        if not isinstance(value, dict):
            return cls(type_in_words(value), {})
        return cls("", {name: Number.of(value[name]) for name in names if name in value})


@unjudged(digest="where bits are not compared, entries are", shares="where memory is not asked for, it may be shared")
class Array(Evidence):
    """A value where an array or a tensor is expected.

    kind: "array", "tensor", or what came instead, in words ("None", "a list"); then all else is empty. dtype: such as
    "float32". entries: all of them where they are few, else what `sketch` keeps. digest: of the bytes. shares: names of
    the arguments with which it shares memory.
    """

    kind: str
    dtype: str = ""
    shape: list[int] = []
    entries: list[int | float | None] = []
    digest: str = ""
    shares: list[str] = []

    def __post_init__(self) -> None:
        """Raises ValueError for what is no array, and has something of an array; for a dtype that there is not, and
        for entries that do not fit the shape."""
        if not self.is_array and any([self.dtype, self.shape, self.entries, self.digest, self.shares]):
            raise ValueError(f"{self.kind!r} has no dtype, shape, entries, digest or shared memory")
        if self.is_array:
            import numpy as np

            try:
                np.dtype(self.dtype)
            except TypeError as error:
                raise ValueError(f"{self.dtype!r} is no dtype") from error
            count = math.prod(self.shape)
            if len(self.entries) != (count if count <= FEW else SKETCHED):
                raise ValueError(f"an array of shape {self.shape} does not have {len(self.entries)} entries")

    @classmethod
    def of(cls, value: Any, **arguments: Any) -> Array:
        """What a function returned; anything. arguments: arrays that it should not share memory with, by name."""
        import numpy as np

        from autograde.contract.calls import type_in_words

        array = value.detach().cpu().numpy() if hasattr(value, "detach") else value
        if not isinstance(array, (np.ndarray, np.generic)) or array.dtype.kind not in "iufb":
            kind = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else type_in_words(value)
            return cls(kind)
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        plain = {
            name: each.detach().cpu().numpy() if hasattr(each, "detach") else each for name, each in arguments.items()
        }
        shares = [name for name, other in plain.items() if np.shares_memory(array, other)]
        kind = "tensor" if hasattr(value, "detach") else "array"
        return cls(kind, str(array.dtype), [*array.shape], sketch(array), digest, shares)

    @property
    def is_array(self) -> bool:
        """Whether it is an array or a tensor of numbers."""
        return self.kind in ("array", "tensor")


@unjudged(kind="it chooses words, and names a dtype where that is asked for")
class Points(Evidence):
    """A value where a path of points (m, n) is expected.

    kind: its type, in words, with dtype and shape of a tensor. rows: the points, of any sequence of pairs; not finite
    numbers are None; empty for what is none, or too long. attached: whether it has its autograd history.
    """

    kind: str
    rows: list[tuple[float | None, float | None]]
    attached: bool = False

    @classmethod
    def of(cls, value: Any, most: int = 1000) -> Points:
        """What a function returned; anything. most: points that are kept."""
        from autograde.contract.calls import type_in_words

        kind, attached = type_in_words(value), bool(getattr(value, "requires_grad", False))
        if hasattr(value, "detach"):
            kind = f"a tensor of {str(value.dtype).removeprefix('torch.')}, of shape {[*value.shape]}"
            value = value.detach().tolist() if value.numel() <= 2 * most else []
        try:
            rows = [tuple(float(each) if math.isfinite(each) else None for each in row) for row in value]
        except Exception as error:  # whatever a value raises on conversion, it is no point
            return cls(f"{kind} ({type(error).__name__}: {error})"[:200], [], attached)
        return cls(kind, rows if {*map(len, rows)} == {2} and len(rows) <= most else [], attached)


def sketch(values: Any) -> list[int | float | None]:
    """The entries of an array in order if they are few; else the first and last three, the middle one, the sum, and a
    sum weighted by place. It is linear in the array but for rounding, and exact for integers."""
    import numpy as np

    flat = np.asarray(values).ravel()
    if flat.dtype.kind == "b":
        flat = flat.astype(int)
    if flat.dtype.kind in "iu":
        if flat.size <= FEW:
            return flat.tolist()
        whole = flat.astype(object)
        return [
            *flat[:3].tolist(),
            *flat[-3:].tolist(),
            int(flat[flat.size // 2]),
            whole.sum(),
            whole @ np.arange(flat.size),
        ]
    flat = flat.astype(float)
    if flat.size > FEW:
        weights = np.linspace(1, 2, flat.size)
        flat = np.array([*flat[:3], *flat[-3:], flat[flat.size // 2], flat.sum(), flat @ weights])
    return [float(each) if math.isfinite(each) else None for each in flat]


def encoded(evidence: Evidence) -> Any:
    """As plain data, of which JSON can be made."""
    return msgspec.to_builtins(evidence)


def decoded(kind: type[Evidence], data: Any) -> Any:
    """The inverse of `encoded`. Raises msgspec.ValidationError for what does not fit."""
    return msgspec.convert(data, kind)


def json_schema(kind: type[Evidence]) -> tuple[dict, dict]:
    """The JSON Schema of a class, and the definitions that it refers to, for ``$defs``. Every field has to be there,
    also one with a default: a rank sends all of them."""
    (schema,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return draft_7(schema), draft_7(definitions)


def draft_7(schema: Any) -> Any:
    """A schema with tuples as JSON Schema's draft 7 writes them, which is what holds evidence to it, and with no field
    that may be left out."""
    if isinstance(schema, list):
        return [*map(draft_7, schema)]
    if not isinstance(schema, dict):
        return schema
    plain = {name: draft_7(part) for name, part in schema.items()}
    if "prefixItems" in plain:
        plain |= {"items": plain.pop("prefixItems"), "additionalItems": False}
    if plain.get("type") == "object" and isinstance(plain.get("properties"), dict):
        plain["required"] = [*plain["properties"]]
    return plain
