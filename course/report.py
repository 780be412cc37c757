"""What became of a run, rank by rank, and how it is told to a person."""

from __future__ import annotations

import json
import linecache
import re
import signal
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from course.watch import PREFIX, in_cell

FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)

PRINTED = 10_000  # characters of a rank's output that plain data keeps


@dataclass
class RankReport:
    """One rank of a run.

    rank: its number among the ranks of the run. state: "returned", "raised", "waiting" (in a communication call),
    "running" (in anything else) or "died". call: the communication call that it waits in. line, source: of the
    student's cell, where it stands or raised. code: exit status, or minus the signal's number. loss: what took all
    ranks, e.g. that their job reached its time limit. events: see `course.watch`.
    """

    rank: int
    world_rank: int
    state: str
    result: Any = None
    error: dict | None = None
    call: str | None = None
    line: int | None = None
    source: str | None = None
    code: int | None = None
    loss: str | None = None
    seconds: float | None = None
    stdout: str = ""
    events: list[dict] = field(default_factory=list)

    def stand_at(self, stack: str) -> None:
        """Read from a faulthandler dump where this rank stands, and whether it waits for others."""
        for match in FRAME.finditer(stack):  # innermost first
            name, file, line = match["name"], match["file"], int(match["line"])
            if "." in name and name.split(".")[0] in PREFIX.values():
                self.call, self.state = name, "waiting"
            if in_cell(file):
                self.line, self.source = line, linecache.getline(file, line).strip() or None
                break

    def refuse(self, reason: str) -> None:
        """Take what this rank gave for nothing: it cannot be read."""
        self.state, self.result = "raised", None
        self.error = {"type": "UnreadableResult", "message": reason, "line": None, "source": None, "traceback": reason}

    def sentence(self, source: bool = True, plural: bool = False) -> str:
        """What this rank did, in a few words. source: quote the line of the cell. plural: said of several ranks."""
        if self.state == "returned":
            words = "returned" + self._calls()
        elif self.state == "raised":
            message = first_line(self.error["message"])
            words = f"raised {self.error['type']}" + (f": {message}" if message else "")
        elif self.state == "waiting":
            words = f"wait{'' if plural else 's'} in {self.call}"
        elif self.state == "died":
            words = f"died: {self.loss or ending(self.code)}" + (f", in {self.call}" if self.call else "")
        else:
            words = "still run" if plural else "still runs"
        if self.line is not None:
            words += f", cell line {self.line}" + (f":  {self.source}" if source and self.source else "")
        return words

    def _calls(self) -> str:
        counts = Counter(f"{PREFIX[event['library']]}.{event['op']}" for event in self.events)
        if not counts:
            return " without communicating"
        return f" after {enumerate_words([name if n == 1 else f'{n} x {name}' for name, n in counts.items()])}"


@dataclass
class Outcome:
    """What became of one run.

    state: "ok", "raised", "hang" (ranks wait for each other), "too-slow" (a rank still computes), "rank-died" or
    "interrupted"; the refinements of "raised" in REFINED, most of them for a check's subject.
    """

    state: str
    ranks: list[RankReport]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether every rank returned."""
        return self.state == "ok"

    @property
    def results(self) -> list[Any]:
        """The results in rank order; None for a rank that has none."""
        return [rank.result for rank in self.ranks]

    @property
    def events(self) -> list[list[dict]]:
        """Each rank's communication; see `course.watch`."""
        return [rank.events for rank in self.ranks]

    @property
    def detail(self) -> str:
        """One sentence: who waits where, who raised what, who died how."""
        first = self.ranks[0]
        if self.state in REFINED.values() and first.error and first.error["message"]:
            return first_line(first.error["message"])
        groups: dict[str, list[RankReport]] = {}
        for rank in self.ranks:
            groups.setdefault(rank.sentence(source=False), []).append(rank)
        # The cause comes before its consequences.
        first = sorted(groups.values(), key=lambda group: group[0].rank)
        ordered = sorted(first, key=lambda group: (ORDER.index(group[0].state), bool(group[0].loss)))
        parts = [
            f"{name_ranks([rank.rank for rank in group])} {group[0].sentence(source=False, plural=len(group) > 1)}"
            for group in ordered
        ]
        return "; ".join(parts) + "."

    @property
    def report(self) -> str:
        """One line a rank."""
        return "\n".join(f"rank {rank.rank}  {rank.sentence()}" for rank in self.ranks)

    def plain(self) -> dict:
        """As plain JSON, with the end of what was printed. A result that JSON cannot carry is a "bad-result"."""
        ranks = [replace(rank, result=None, stdout=rank.stdout[-PRINTED:]) for rank in self.ranks]
        ranks = [asdict(rank) for rank in ranks]  # without results, whose copying could run the student's code
        state, detail = self.state, self.detail
        for entry, rank in zip(ranks, self.ranks, strict=True):
            try:
                entry["result"] = json.loads(json.dumps(rank.result))
            except Exception:  # whatever is wrong with it, it is no plain data
                state, detail = (
                    "bad-result",
                    f"rank {rank.rank} returned what is not plain data: {type(rank.result).__name__}",
                )
        return {"state": state, "detail": detail, "report": self.report, "seconds": self.seconds, "ranks": ranks}


ORDER = ["died", "raised", "waiting", "running", "returned"]
REFINED = {
    "NotImplementedError": "not-done",
    "NoSuchName": "no-such-name",
    "CellFails": "cell-fails",
    "TooMuchOutput": "too-much-output",
    "UnreadableResult": "bad-result",
}


def judge_state(ranks: list[RankReport]) -> str:
    """The state of a run from those of its ranks: the cause before its consequences."""
    states = {rank.state for rank in ranks}
    if "died" in states:
        return "rank-died"
    if "raised" in states:
        kinds = {REFINED.get(rank.error["type"], "raised") for rank in ranks if rank.error}
        return kinds.pop() if len(kinds) == 1 else "raised"
    if "running" in states:
        return "too-slow"
    return "hang" if "waiting" in states else "ok"


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "unknown"
    if code >= 0:
        return f"its process exited with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def first_line(text: str) -> str:
    """The first line of `text`, shortened."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 160 else line[:157] + "..."


def enumerate_words(words: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def name_ranks(ranks: list[int]) -> str:
    """``rank 1``, ``ranks 0 and 2``."""
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {enumerate_words([str(rank) for rank in ranks])}"
