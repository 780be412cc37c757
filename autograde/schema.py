"""What evidence must look like before a verdict reads it: parts of JSON Schemas, and the test whether they fit.

Evidence comes from a process that runs students' code, so nothing about it is believed. A schema says how many ranks,
calls and numbers there are for a case: what is not there cannot be judged, and must not pass for right.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import fastjsonschema

from autograde.check import LARGEST, MESSAGES
from course.report import ORDER, REFINED
from course.watch import KINDS, LIMIT, PREFIX

DEEPEST = 20  # lists and objects inside each other
NULL = {"type": "null"}
MOST_DIGITS = 310  # of a whole number; more than any number that is not refused has

# What became of at least one rank, by the state of the run; see `course.report.judge_state`.
# A bad result may also be found when all ranks have returned.
CAUSES = dict.fromkeys(["raised", *REFINED.values()], "raised")
CAUSES |= {"rank-died": "died", "too-slow": "running", "hang": "waiting"}
del CAUSES["bad-result"]


def load_evidence(line: bytes) -> Any:
    """What a line of JSON in UTF-8 holds. Raises ValueError, which says why, for what evidence cannot be.

    That is: no JSON, a name twice in one object, a number that is not finite, one of very many digits, and lists in
    lists in lists. Half a surrogate pair, which is no character and can be written to no file, becomes "?".
    """
    try:
        text = line.decode("utf-8")
        loaded = json.loads(
            text,
            parse_constant=refuse,
            parse_float=finite,
            parse_int=whole,
            object_pairs_hook=without_twins,
        )
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    level = [loaded]
    for _ in range(DEEPEST):
        inside = (part for part in level if isinstance(part, (list, dict)))
        level = [each for part in inside for each in (part.values() if isinstance(part, dict) else part)]
    if any(isinstance(part, (list, dict)) for part in level):
        raise ValueError("it is nested too deeply")
    if "\\ud" in text.lower():
        loaded = json.loads(json.dumps(loaded, ensure_ascii=False).encode("utf-8", "replace"))
    return loaded


def refuse(name: str) -> None:
    """For NaN and Infinity, which Python's json takes for JSON."""
    raise ValueError(f"{name} is not JSON")


def finite(text: str) -> float:
    """A number with a point or an exponent, unless it is so large that it becomes infinite."""
    if abs(number := float(text)) == float("inf"):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def whole(text: str) -> int:
    """A whole number of not too many digits."""
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits is too large")
    return int(text)


def without_twins(pairs: list[tuple[str, Any]]) -> dict:
    """An object with each name once."""
    if len(made := dict(pairs)) < len(pairs):
        raise ValueError("an object has a name twice")
    return made


def problem(schema: dict, evidence: Any) -> str | None:
    """Where `evidence`, as `load_evidence` gives it, does not fit `schema`, in one line; None where it does."""
    text, told = json.dumps(schema), None
    for detailed in (False, True):  # to tell all details takes longer to compile: only where there is something to tell
        try:
            compiled(text, detailed)(evidence)
            return told
        except fastjsonschema.JsonSchemaValueException as error:
            told = " ".join(error.message[:1000].replace("data", "evidence", 1).split())[:300]
        except (RecursionError, OverflowError) as error:
            return f"evidence cannot be read: {type(error).__name__}"
    return told


@lru_cache(maxsize=256)
def compiled(schema: str, detailed: bool) -> Any:
    """The function that tests for a schema. Making it takes longer than calling it, and many cases share one."""
    options = {"use_default": False, "use_formats": False, "detailed_exceptions": detailed}
    return fastjsonschema.compile(json.loads(schema), **options)


def number(least: float = -LARGEST, most: float = LARGEST) -> dict:
    """A number, never true or false."""
    return {"type": "number", "minimum": least, "maximum": most}


def integer(least: int = -(10**300), most: int = 10**300) -> dict:
    """A whole number."""
    return {"type": "integer", "minimum": least, "maximum": most}


def string() -> dict:
    """A text of any length; findings cut what they quote."""
    return {"type": "string"}


def boolean() -> dict:
    """True or false."""
    return {"type": "boolean"}


def optional(schema: dict) -> dict:
    """Null, or what fits `schema`, which has a `type`."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*kinds, "null"]}


def array(items: dict, count: int | None = None, *, least: int = 0, most: int | None = None) -> dict:
    """A list of `count` entries, or of `least` to `most`, which all fit `items`."""
    least, most = (count, count) if count is not None else (least, most)
    return {"type": "array", "items": items, "minItems": least} | ({} if most is None else {"maxItems": most})


def numbers(count: int | None = None) -> dict:
    """A list of numbers, null for those that are not finite."""
    return array(optional(number()), count)


def record(**properties: dict) -> dict:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def one_of(schema: dict, name: str, other: str) -> dict:
    """An object that fits `schema` and has just one of two properties; the other is null."""
    given, missing = {"not": NULL}, NULL
    return schema | {
        "if": {"properties": {name: missing}},
        "then": {"properties": {other: given}},
        "else": {"properties": {other: missing}},
    }


def described_value() -> dict:
    """A value as `autograde.probes.described` gives it."""
    return record(float=boolean(), type=string(), value=optional(number()))


def event() -> dict:
    """One communication call, as `course.watch.read_log` gives it."""
    return record(
        library={"enum": [*PREFIX]},
        op=string(),
        kind={"enum": sorted({*KINDS.values(), "other"})},
        line=optional(integer()),
        peer={},  # whatever the student passed: no verdict looks at it
        reduction=optional(string()),
        ranks=optional(integer()),
        bytes=optional(integer(0)),
        dtype=optional(string()),
        value=number() | {"type": ["number", "boolean", "string", "null"]},
        start=number(),
        end=optional(number()),
        failed=boolean(),
        state={"enum": ["called", "under way", "awaited", "done"]},
    )


def rank_report() -> dict:
    """One rank of a run, as `course.report.RankReport`, with any result where it returned, and none elsewhere."""
    error = record(
        type=string(),
        message=string(),
        line=optional(integer()),
        source=optional(string()),
        traceback=string(),
    )
    report = record(
        rank=integer(0),
        world_rank=integer(0),
        state={"enum": ORDER},
        result={},
        error=optional(error),
        call=optional(string()),
        line=optional(integer()),
        source=optional(string()),
        code=optional(integer()),
        loss=optional(string()),
        seconds=optional(number()),
        stdout=string(),
        events=array(event(), most=LIMIT),
    )
    return report | {
        "if": where("state", "returned"),
        "else": {"properties": {"result": NULL}},
        "allOf": [
            {
                "if": where("state", "raised"),
                "then": {"properties": {"error": {"type": "object"}}},
                "else": {"properties": {"error": NULL}},
            }
        ],
    }


def outcome(ranks: int, result: dict) -> dict:
    """A run on so many ranks, as `course.report.Outcome.plain`, each of whose results fits `result`.

    A run with state "ok" has a result of every rank. In another, a rank that returned may have one, or null.
    """
    numbers = [{"properties": {"rank": {"enum": [rank]}}} for rank in range(ranks)]
    causes = [
        {"if": where("state", state), "then": {"properties": {"ranks": {"contains": where("state", cause)}}}}
        for state, cause in CAUSES.items()
    ]
    run = record(
        state={"enum": ["ok", *MESSAGES]},
        detail=string(),
        report=string(),
        seconds=number(0),
        ranks=array(rank_report(), ranks),
    )
    perhaps = {"if": {"properties": {"result": NULL}}, "else": {"properties": {"result": result}}}
    return run | {
        "if": where("state", "ok"),
        "then": each_rank(where("state", "returned", result=result)),
        "else": each_rank(perhaps),
        "allOf": [each_rank(numbers), *causes],
    }


def where(name: str, value: str, **others: dict) -> dict:
    """That a property has a value, and that others fit their schemas."""
    return {"properties": {name: {"enum": [value]}, **others}}


def each_rank(items: dict | list[dict]) -> dict:
    """That the ranks of a run fit `items`: all of them, or each its own."""
    return {"properties": {"ranks": {"items": items}}}
