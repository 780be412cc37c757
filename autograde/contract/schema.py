"""Parts of JSON Schemas, which say what evidence must look like before a verdict reads it.

Evidence comes from a process that runs students' code, so nothing about it is trusted. A schema says how many ranks,
calls and numbers a case must give: what is missing cannot be judged, and must not count as right.
"""

from __future__ import annotations

from autograde.contract.check import LARGEST
from autograde.contract.trouble import MESSAGES
from course.watch.events import BY_KIND, NOTE, PREFIX, WINDOW
from course.watch.log import LIMIT
from course.watch.payload import FEW
from course.world.report import ORDER, REFINED

NULL = {"type": "null"}

# The state of at least one rank, by the state of the run; see `course.world.report.judge_state`.
# A bad result is left out: it may also be found when all ranks have returned.
CAUSES = dict.fromkeys(["raised", *REFINED.values()], "raised")
CAUSES |= {"rank-died": "died", "too-slow": "running", "hang": "waiting"}
del CAUSES["bad-result"]


def number(least: float = -LARGEST, most: float = LARGEST) -> dict:
    """A number, never true or false."""
    return {"type": "number", "minimum": least, "maximum": most}


def integer(least: int = -(10**300), most: int = 10**300) -> dict:
    """A whole number."""
    return {"type": "integer", "minimum": least, "maximum": most}


def string() -> dict:
    """Text of any length; findings shorten what they quote."""
    return {"type": "string"}


def boolean() -> dict:
    """True or false."""
    return {"type": "boolean"}


def optional(schema: dict) -> dict:
    """Null, or what fits `schema`, which must have a `type`."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*kinds, "null"]}


def array(items: dict, count: int | None = None, *, least: int = 0, most: int | None = None) -> dict:
    """A list of `count` entries, or of `least` to `most`, that all fit `items`."""
    least, most = (count, count) if count is not None else (least, most)
    return {"type": "array", "items": items, "minItems": least} | ({} if most is None else {"maxItems": most})


def tuple_of(items: list[dict]) -> dict:
    """A list with one entry for each of `items`, in order, which fits it."""
    return {"type": "array", "items": items, "minItems": len(items), "maxItems": len(items)}


def record(**properties: dict) -> dict:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def event() -> dict:
    """One communication call: a `course.watch.events.Event`."""
    few = array(number() | {"type": ["number", "boolean", "null"]}, most=FEW)
    return record(
        library={"enum": [*PREFIX, NOTE]},
        op=string(),
        kind={"enum": sorted({*BY_KIND, NOTE, WINDOW, "other"})},
        line=optional(integer()),
        prepared=optional(integer()),
        name=optional(string()),
        peer=optional(integer()),
        source=optional(integer()),
        tag=optional(integer()),
        asked_source=optional(integer()),
        asked_tag=optional(integer()),
        reduction=optional(string()),
        members=optional(array(optional(integer(0)))),
        context=optional(integer(0)),
        bytes=optional(integer(0)),
        room=optional(integer(0)),
        dtype=optional(string()),
        values=optional(few),
        start=number(),
        received=optional(integer(0)),
        received_tag=optional(integer()),
        times=optional(integer(1)),
        results=optional(few),
        waited=optional(number()),
        end=optional(number()),
        failed=boolean(),
        state={"enum": ["called", "under way", "awaited", "done"]},
    )


def rank_report() -> dict:
    """One rank of a run: a `course.world.rank_report.RankRecord`. Only a rank that returned has a result, of any
    form."""
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
        full=boolean(),
        unseen=boolean(),
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
    """A run on so many ranks: a `course.world.report.OutcomeRecord`, whose results fit `result`.

    If the state is "ok", every rank has a result. In any other, a rank that returned has one or null.
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
    """The property `name` is `value`, and the others fit their schemas."""
    return {"properties": {name: {"enum": [value]}, **others}}


def each_rank(items: dict | list[dict]) -> dict:
    """The ranks of a run fit `items`: all the same one, or each its own."""
    return {"properties": {"ranks": {"items": items}}}
