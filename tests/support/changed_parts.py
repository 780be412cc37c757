"""Which parts of what a call shows may be anything, and the call keeps all its points: each is changed, and judged.

Honest evidence of a right answer is changed as little as possible: a number is shifted, a list shortened, true and
false turned, a text made longer, what is empty filled. Then a criterion has to fail, or the evidence is refused; else
nobody looks at this part. The criteria themselves say what is judged, so there is no list of it. What need not be seen
is declared at its class of evidence, see `unjudged`, `judged_in_calls` and
`judged_in_places` of `autograde.contract.evidence`.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from autograde.contract.evidence import Evidence, decoded, encoded
from autograde.rubric import CallCheck, Criterion
from autograde.rubric.judge import Call

SHIFTED, SHORTENED, TURNED, LONGER, FILLED = "shifted", "shortened", "turned", "made longer", "filled"
STRICT = (SHIFTED, SHORTENED)  # changes that have to be seen in each place, not just in one
IN_EMPTY = (1, 0.5, "x", True, [1], [])  # what fits of these comes in the place of None, or into an empty list
REFUSED = "refused"
RANKS = 8  # on so many at least each change is made, of all calls together


@dataclass(frozen=True)
class Part:
    """A part of what a call shows on a rank.

    fields: that lead to it, each with its class; no further than to one that is judged in some places only. path: from
    what is shown to the part. kind: how it is changed. values: for its place, of which the first that fits is taken.
    in_calls, in_places: whether a field on the way is declared so.
    """

    fields: tuple[str, ...]
    path: tuple
    kind: str
    values: tuple
    in_calls: bool
    in_places: bool

    @property
    def name(self) -> str:
        """Its fields, and the change where each is judged by itself."""
        return f"{' > '.join(self.fields)} is {'changed' if self.in_places else self.kind}"


@dataclass
class Found:
    """What came of one kind of change of one field. part: one that was changed so. by: names of the criteria that
    failed, or REFUSED. unseen: the calls in which it was changed in one place, and none failed."""

    part: Part
    by: set[str] = field(default_factory=set)
    unseen: list[Call] = field(default_factory=list)

    def overlooked(self, criteria: dict[str, Criterion]) -> list[Call]:
        """The calls in which the change had to be seen, and was not."""
        if self.by and (self.part.in_places or self.part.kind not in STRICT):
            return []
        if not self.by or not self.part.in_calls:
            return self.unseen
        looking = [each for name, each in criteria.items() if name in self.by]
        return [call for call in self.unseen if any(each.looks_at(call.arguments) for each in looking)]


def overlooked(check: CallCheck, calls: Sequence[Call], rng: random.Random) -> list[str]:
    """The changes that no criterion sees, each with one call in which that is so.

    calls: honest ones. In each of them each field is changed in each way that it can be, in one place by chance, on
    rank 0 and others; and what is seen nowhere so, in all places together. A number or a list has to be seen in each
    place, all else in one. Raises what a judge raises, but for ValueError, by which evidence is refused.
    """
    criteria = {each.name: each for each in check.criteria if isinstance(each, Criterion)}
    changes: dict[str, Found] = {}
    for call in calls:
        assert not seen_by(check, criteria, call), f"call {call.number} is no honest one"
        for rank in sorted({0, *rng.sample(range(call.size), min(call.size, -(-RANKS // len(calls))))}):
            for part in one_of_each(call.seen[rank], rng):
                found = changes.setdefault(part.name, Found(part))
                if by := seen_by(check, criteria, changed(call, [(rank, part)])):
                    found.by |= by
                else:
                    found.unseen.append(call)
    for call in calls:
        for name in [name for name, found in changes.items() if not found.by]:
            same = [(rank, part) for rank, seen in enumerate(call.seen) for part in parts(seen) if part.name == name]
            changes[name].by |= seen_by(check, criteria, changed(call, same)) if same else set()
    # What is empty need not be looked at there if it is where there is something.
    looked_at = {found.part.fields for found in changes.values() if found.by}
    judged = {
        name: found.overlooked(criteria)
        for name, found in changes.items()
        if found.part.kind != FILLED or found.part.fields not in looked_at
    }
    return [f"{name}, {len(calls)} times, as with {calls[0].arguments}" for name, calls in judged.items() if calls]


def seen_by(check: CallCheck, criteria: dict[str, Criterion], call: Call | None) -> set[str]:
    """Names of the criteria that fail; REFUSED for evidence that does not fit, or None."""
    try:
        if call is None or not all(check.fits(call.case, call.arguments, each) for each in call.seen):
            return {REFUSED}
        looking = {name: each for name, each in criteria.items() if each.looks_at(call.arguments)}
        return {name for name, each in looking.items() if each.failure(call) is not None}
    except ValueError:
        return {REFUSED}


def one_of_each(shown: Evidence, rng: random.Random) -> list[Part]:
    """Of all parts with one name, one."""
    named = defaultdict(list)
    for part in parts(shown):
        named[part.name].append(part)
    return [*map(rng.choice, named.values())]


def changed(call: Call, same: Sequence[tuple[int, Part]]) -> Call | None:
    """The call with these parts changed, each on its rank; None if none of their values fits."""
    shown = [*call.seen]
    for rank, part in same:
        shown[rank] = with_part(shown[rank], part) or shown[rank]
    return None if shown == call.seen else replace(call, seen=shown)


def parts(
    shown: Any, fields: tuple[str, ...] = (), path: tuple = (), in_calls: bool = False, in_places: bool = False
) -> Iterator[Part]:
    """The parts of a tree of evidence that can be changed, without those that are declared as not judged."""
    if isinstance(shown, Evidence):
        for name in shown.__struct_fields__:
            if name not in shown.unjudged:
                own = fields if in_places else (*fields, f"{type(shown).__name__}.{name}")
                declared = in_calls or name in shown.judged_in_calls, in_places or name in shown.judged_in_places
                yield from parts(getattr(shown, name), own, (*path, name), *declared)
        return
    for kind, *values in changes_of(shown):
        yield Part(fields, path, kind, (*values,), in_calls, in_places)
    inside = shown.items() if isinstance(shown, dict) else enumerate(shown) if isinstance(shown, (list, tuple)) else ()
    for key, each in inside:
        yield from parts(each, fields, (*path, key), in_calls, in_places)


def changes_of(value: Any) -> Iterator[tuple]:
    """How a part can be changed, and what it is then."""
    match value:
        case bool():
            yield TURNED, not value
        case int():
            yield SHIFTED, value + 1
        case float():
            yield SHIFTED, 1.01 * value + 0.01
        case str():
            yield LONGER, f"{value}x"
        case None:
            yield FILLED, *IN_EMPTY
        case dict() if value:
            yield SHORTENED, dict([*value.items()][:-1])
        case list() | tuple() if value:
            yield SHORTENED, value[:-1]
        case list():
            yield FILLED, *([each] for each in IN_EMPTY)


def with_part(shown: Evidence, part: Part) -> Evidence | None:
    """What is shown with another part; None if none of the part's values fits."""
    for value in part.values:
        try:
            return decoded(type(shown), put(encoded(shown), part.path, encoded(value)))
        except (msgspec.ValidationError, LookupError):  # or it is in a list that has become shorter
            continue
    return None


def put(tree: Any, path: tuple, value: Any) -> Any:
    """A copy of a tree of lists and dicts with another value at a path."""
    if not path:
        return value
    key, *rest = path
    copied = dict(tree) if isinstance(tree, dict) else list(tree)
    copied[key] = put(tree[key], (*rest,), value)
    return copied
