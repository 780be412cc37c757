"""What differs between ranks in collective calls that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from course.watch.differences.difference import Difference, difference
from course.watch.differences.groups import Group, Streams, comparable, items_in, operation_of
from course.watch.events import Event
from course.watch.wording import by_rank, call_name, capital, enumerate_words, in_line, name_ranks

ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter"})
# Kinds to which all ranks bring equally much. Of others the record has sums, or each rank may have its own.
EQUAL = frozenset({"allreduce", "reduce", "broadcast", "scatter", "gather", "allgather", "scan", "reduce_scatter"})
ARGUMENTS = ("peer", "reduction", "bytes", "room", "dtype")


def compared(found: Streams, ended: Sequence[bool], broken: bool) -> tuple[list[Difference], dict[Group, int]]:
    """What differs, and the place in the calls of a communicator from which on they do not belong together.

    ended: by rank, whether there is no more to come. broken: whether the run did not come to its end.
    """
    differences: list[Difference] = []
    parted: dict[Group, int] = {}
    for group, calls in found.items():
        for number in range(max(map(len, calls.values()))):
            here = {rank: log[number] for rank, log in sorted(calls.items()) if number < len(log)}
            if len({operation_of(event) for event in here.values()}) > 1:
                parted[group] = number
                differences.append(other_calls(group, calls, number, ended))
                break
            if len(here) > 1 and not alike(here):
                differences += in_arguments(group, here, broken)
    return differences, parted


def alike(here: Mapping[int, Event]) -> bool:
    """Whether all ranks give the same arguments: most calls of a run need no closer look."""
    first = next(iter(here.values()))
    return all(event[name] == first[name] for event in here.values() for name in ARGUMENTS)


def other_calls(group: Group, calls: Mapping[int, list[Event]], number: int, ended: Sequence[bool]) -> Difference:
    """The difference between ranks that make other calls in the same place: one leaves a call out, or the order is
    another one."""
    here = {rank: log[number] for rank, log in sorted(calls.items()) if number < len(log)}
    rest = {rank: [operation_of(event) for event in calls[rank][number:]] for rank in here}
    longest = max(rest, key=lambda rank: len(rest[rank]))
    first = here[longest]
    lacking = [rank for rank in rest if rest[rank] != rest[longest]]
    if all(ended[rank] and is_part(rest[rank], rest[longest]) for rank in lacking):
        makes = "makes" if len(lacking) == 1 else "make"
        text = (
            f"{capital(name_ranks(lacking))} never {makes} the call of {call_name(first)}{in_line(first)} that "
            f"{name_ranks([rank for rank in here if rank not in lacking])} made: {group.everyone} have to."
        )
        return difference("call-missing", here.items(), text, lacking)
    text = (
        f"The ranks make other calls in the same place: {group.place(number, len(ended))}, "
        f"{by_rank(here, call_name)}. {group.rule}"
    )
    return difference("other-order", here.items(), text)


def is_part(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether `many`, with some left out, is `few`."""
    left = iter(many)
    return len(few) < len(many) and all(each in left for each in few)


def in_arguments(group: Group, here: Mapping[int, Event], broken: bool) -> Iterator[Difference]:
    """What differs in the arguments of one collective call. here: by rank."""
    first = next(iter(here.values()))
    if "neighbor" in first["op"].lower():
        return
    if first["kind"] in ROOTED:
        yield from differing(
            "root-differs",
            {rank: event for rank, event in here.items() if event["peer"] in group.members},
            lambda event: group.members.index(event["peer"]),
            lambda event: f"root {group.members.index(event['peer'])}",
            "name different roots",
        )
    named = {rank: event for rank, event in here.items() if event["reduction"]}
    yield from differing(
        "operator-differs",
        named,
        lambda event: event["reduction"],
        lambda event: event["reduction"],
        "reduce otherwise",
    )
    if not as_it_is(first):
        return
    typed = {rank: event for rank, event in here.items() if comparable(event["dtype"])}
    types = list(
        differing(
            "dtype-differs", typed, lambda event: event["dtype"], lambda event: event["dtype"], "have other types"
        )
    )
    yield from types
    if not types and is_equal(first, broken):
        yield from differing(
            "size-differs",
            {rank: event for rank, event in here.items() if brought(rank, event)},
            lambda event: event["room"] if event["room"] is not None else event["bytes"],
            lambda event: items_in(event["bytes"] if event["room"] is None else event["room"], event["dtype"]),
            "bring unequal amounts",
        )


def differing(
    key: str,
    calls: Mapping[int, Event],
    value: Callable[[Event], object],
    said: Callable[[Event], str],
    how: str,
) -> Iterator[Difference]:
    """The difference, if there is one between the values of some ranks' calls."""
    if len({value(event) for event in calls.values()}) < 2:
        return
    names = enumerate_words(sorted({call_name(event) for event in calls.values()}))
    places = {in_line(event) for event in calls.values()}
    place = places.pop() if len(places) == 1 else ""
    yield difference(key, calls.items(), f"In {names}{place}, the ranks {how}: {by_rank(calls, said)}.")


def as_it_is(event: Event) -> bool:
    """Whether numbers are sent as they are in memory. Of a packed object, each rank may have another one."""
    return event["op"][0].isupper() if event["library"] == "mpi4py" else "object" not in event["op"]


def is_equal(event: Event, broken: bool) -> bool:
    """Whether all ranks have to bring equally much to this call."""
    operation = event["op"].lower().removesuffix("_init")
    if event["library"] == "mpi4py":
        return event["kind"] in EQUAL - {"reduce_scatter"} and not operation.endswith("v")
    if event["library"] == "horovod":
        return event["kind"] in EQUAL - {"allgather"}
    return event["kind"] in EQUAL - {"scatter"} and (broken or event["kind"] not in ("allgather", "gather"))


def brought(rank: int, event: Event) -> bool:
    """Whether it is known how much a rank brings. The root of a scatter has the parts of all ranks."""
    if event["kind"] == "scatter":
        return event["room"] is not None and event["peer"] != rank
    return event["room"] is not None or bool(event["bytes"])
