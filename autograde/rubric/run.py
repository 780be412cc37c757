"""A run of a case, as the grader reads it: how it ended, and the calls that every rank came back from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from autograde.contract.calls import calls_apart
from autograde.contract.evidence import Evidence, decoded
from autograde.contract.gpu import ON_GPU, DeviceMistake
from autograde.contract.trouble import PLAIN
from autograde.rubric.judge import Call
from course.watch.notes import without_notes
from course.world.meeting import MEETING


def size_of(case: dict) -> int:
    """How many ranks a case runs on."""
    return len(case["ranks"]) if "ranks" in case else case.get("size", 1)


@dataclass(frozen=True)
class Run:
    """One case and the outcome of its run, see `course.world.report.OutcomeRecord`. kind: of the evidence."""

    case: dict
    outcome: dict
    kind: type[Evidence]

    @property
    def state(self) -> str:
        """How it ended: "ok", "raised", "hang" ..."""
        return self.outcome["state"]

    @property
    def report(self) -> str:
        """What each rank did."""
        return self.outcome["report"]

    @property
    def detail(self) -> str:
        """Why it did not come to its end, in a line."""
        return self.outcome["detail"]

    @property
    def ranks(self) -> list[dict]:
        """The record of each rank, see `course.world.rank_report.RankRecord`."""
        return self.outcome["ranks"]

    @property
    def errors(self) -> dict[int, str]:
        """By rank that raised one, the error: its type and its message."""
        errors = {rank["rank"]: rank["error"] for rank in self.ranks if rank["error"]}
        return {rank: f"{error['type']}: {error['message'][:200]}" for rank, error in errors.items()}

    @property
    def on_gpu(self) -> bool:
        """Whether it ran on a GPU, where nothing but the place of tensors is judged."""
        return bool(self.case.get(ON_GPU))

    @property
    def plain(self) -> bool:
        """Whether it ended before the TODO's code ran: nothing is written, or the cell fails."""
        return self.state in PLAIN

    @property
    def device_mistake(self) -> str:
        """The tensor that was on another device than it had to be, in words; empty if none was."""
        errors = [rank["error"] for rank in self.ranks if rank["error"]]
        return next((each["message"] for each in errors if each["type"] == DeviceMistake.__name__), "")

    @cached_property
    def logs(self) -> list[list[list[dict]]]:
        """By rank and call, as far as it came, the events and the notes among them."""
        return [calls_apart(rank["events"]) for rank in self.ranks]

    def of_call(self, number: int, notes: bool = False) -> list[list[dict]]:
        """By rank, the events of a call, which it may not have reached. notes: with the notes among them."""
        logs = [calls[number] if number < len(calls) else [] for calls in self.logs]
        return logs if notes else [without_notes(log) for log in logs]

    @property
    def events(self) -> list[list[dict]]:
        """By rank, the events of all calls."""
        return [[event for call in calls for event in without_notes(call)] for calls in self.logs]

    @property
    def reached(self) -> int:
        """Number of the call in which the last rank stands."""
        return min(min(map(len, self.logs)), len(self.case["calls"])) - 1

    @property
    def came_through(self) -> list[bool]:
        """By rank, whether it came to the end of the call in which the last one stands, or waits for the others in a
        meeting that the probe asks for after a call of the student's."""
        beyond = [len(log) > self.reached + 1 for log in self.logs]
        there = [rank["state"] == "returned" or rank["call"] == MEETING for rank in self.ranks]
        return [more or returned for more, returned in zip(beyond, there, strict=True)]

    @property
    def broken(self) -> dict:
        """The arguments of the call in which the last rank stands."""
        return self.case["calls"][self.reached]

    @property
    def full(self) -> list[int]:
        """The ranks that made more calls than are recorded."""
        return [rank["rank"] for rank in self.ranks if rank["full"]]

    def recorded(self, number: int) -> str:
        """How much of what was communicated in a call is recorded, see `Call.record`."""
        known = min((len(self.logs[rank]) - 1 for rank in self.full), default=number + 1)
        return "all" if number < known else "partly" if number == known else "none"

    @cached_property
    def calls(self) -> list[Call]:
        """The calls, if every rank came to the end. Raises msgspec.ValidationError if the evidence does not fit."""
        if self.state != "ok":
            return []
        results = [rank["result"] for rank in self.ranks]
        unseen = any(rank["unseen"] for rank in self.ranks)
        return [
            Call(
                case=self.case,
                number=number,
                arguments=arguments,
                seen=[decoded(self.kind, result["calls"][number]["seen"]) for result in results],
                events=self.of_call(number),
                notes=self.of_call(number, notes=True),
                changed=[result["calls"][number]["changed"] for result in results],
                tried=[result["calls"][number]["tried"] for result in results],
                overwritten=[rank for rank, result in enumerate(results) if number in result["overwritten"]],
                record=self.recorded(number),
                unseen=unseen,
            )
            for number, arguments in enumerate(self.case["calls"])
        ]
