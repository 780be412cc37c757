"""Reads JSON from untrusted sources, such as evidence from a sandbox, and tests whether it fits a schema."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import fastjsonschema

MAX_DEPTH = 20  # of lists and objects inside each other
MAX_DIGITS = 310  # of an integer; no schema admits as many


def load_evidence(line: bytes) -> Any:
    """Parse one line of JSON in UTF-8. Raises ValueError, which says what is wrong.

    Refuses what is not JSON, an object with the same name twice, numbers that are not finite, integers of more than
    MAX_DIGITS digits, and nesting deeper than MAX_DEPTH. Half a surrogate pair, which no file can hold, becomes "?".
    """
    try:
        text = line.decode("utf-8")
        loaded = json.loads(
            text,
            parse_constant=refuse_constant,
            parse_float=parse_finite,
            parse_int=parse_integer,
            object_pairs_hook=unique_names,
        )
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    level = [loaded]
    for _ in range(MAX_DEPTH):
        inside = (part for part in level if isinstance(part, (list, dict)))
        level = [each for part in inside for each in (part.values() if isinstance(part, dict) else part)]
    if any(isinstance(part, (list, dict)) for part in level):
        raise ValueError("it is nested too deeply")
    if "\\ud" in text.lower():
        loaded = json.loads(json.dumps(loaded, ensure_ascii=False).encode("utf-8", "replace"))
    return loaded


def refuse_constant(name: str) -> None:
    """Refuse NaN and Infinity, which Python's json accepts."""
    raise ValueError(f"{name} is not JSON")


def parse_finite(text: str) -> float:
    """A number with a point or an exponent. Raises ValueError if it is too large for a float."""
    if abs(number := float(text)) == float("inf"):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def parse_integer(text: str) -> int:
    """An integer. Raises ValueError if it has too many digits."""
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits is too large")
    return int(text)


def unique_names(pairs: list[tuple[str, Any]]) -> dict:
    """An object. Raises ValueError if it has a name twice."""
    if len(result := dict(pairs)) < len(pairs):
        raise ValueError("an object has a name twice")
    return result


def problem(schema: dict, evidence: Any) -> str | None:
    """Where `evidence`, from `load_evidence`, does not fit `schema`, in one line; None if it fits."""
    text, message = json.dumps(schema), None
    for detailed in (False, True):  # detailed messages take longer to compile: only if something is wrong
        try:
            compiled(text, detailed)(evidence)
            return message
        except fastjsonschema.JsonSchemaValueException as error:
            message = " ".join(error.message[:1000].replace("data", "evidence", 1).split())[:300]
        except (RecursionError, OverflowError) as error:
            return f"evidence cannot be read: {type(error).__name__}"
    return message


@lru_cache(maxsize=256)
def compiled(schema: str, detailed: bool) -> Any:
    """The function that tests for a schema. Compiling takes longer than testing, and many cases share a schema."""
    options = {"use_default": False, "use_formats": False, "detailed_exceptions": detailed}
    return fastjsonschema.compile(json.loads(schema), **options)
