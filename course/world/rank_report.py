"""What one rank did in a run, in data and in words."""

from __future__ import annotations

import linecache
import re
import signal
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from course.watch.events import PREFIX, DamagedLog, Event, cells_of, in_cell, read_log
from course.watch.log import has_unseen, is_full
from course.watch.notes import without_notes
from course.watch.wording import enumerate_words
from course.world.meeting import MEETING, is_meeting
from course.world.standing import place_of

TRACED = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+)', re.MULTILINE)  # in a traceback


class ErrorReport(TypedDict):
    """An exception on a rank. line, source: of the student's cell, None if the traceback does not lead through it."""

    type: str
    message: str
    line: int | None
    source: str | None
    traceback: str


class RankRecord(TypedDict):
    """A `RankReport` as plain JSON data."""

    rank: int
    world_rank: int
    state: str
    result: Any
    error: ErrorReport | None
    call: str | None
    line: int | None
    source: str | None
    code: int | None
    loss: str | None
    seconds: float | None
    stdout: str
    events: list[Event]
    full: bool
    unseen: bool


@dataclass
class RankReport:
    """What one rank did in a run.

    rank: its number among the ranks of the run; world_rank: in the world. state: "returned", "raised", "waiting" (in a
    communication call), "running" (in anything else) or "died". call: the communication call it waits in, or what it
    still compiles by. line, source: where in the student's cell it stands or raised. code: exit status, or minus the
    signal's number. loss: what ended it from outside, e.g. that no memory was left; without a code, what ended all,
    e.g. their job's limit. full: whether it made more calls than `events` has: there is an end to what is recorded.
    unseen: whether it communicated by a way that is not recorded, see `course.watch.unseen`. cells: the files of the
    notebook cells that its calls come from.
    """

    rank: int
    world_rank: int
    state: str
    result: Any = None
    error: ErrorReport | None = None
    call: str | None = None
    line: int | None = None
    source: str | None = None
    code: int | None = None
    loss: str | None = None
    seconds: float | None = None
    stdout: str = ""
    events: list[Event] = field(default_factory=list)
    full: bool = False
    unseen: bool = False
    cells: list[str] = field(default_factory=list)

    def fail(self, error: ErrorReport) -> None:
        """Take what this rank raised. The text of a notebook's cells is in this process, not on the rank."""
        for match in TRACED.finditer(error["traceback"] if error["source"] is None else ""):
            if in_cell(match["file"]) and int(match["line"]) == error["line"]:
                error["source"] = linecache.getline(match["file"], error["line"]).strip() or None
        self.state, self.error, self.line, self.source = "raised", error, error["line"], error["source"]

    def stand_at(self, stack: str) -> None:
        """Take from a faulthandler dump where this rank stands, and whether it waits for others."""
        place = place_of(stack)
        self.state, self.call, self.line, self.source = place.state, place.call, place.line, place.source

    @property
    def killed(self) -> bool:
        """Whether this rank died by a signal that also comes when its host ends."""
        return self.state == "died" and self.code in (-signal.SIGKILL, -signal.SIGTERM) and not self.loss

    def die(self, code: int | None, ran_out: str) -> None:
        """Take how this rank's process ended. ran_out: what to say if it was killed as no memory was left."""
        self.state, self.error, self.code = "died", None, code
        if ran_out:
            self.loss = f"{ending(code)}, as {ran_out} (smaller arrays or fewer ranks take less)"

    @property
    def with_host(self) -> bool:
        """Whether this rank ended as all did."""
        return bool(self.loss) and self.code is None

    def end_with_host(self, end: str) -> None:
        """Take the end of its host as the cause, unless this rank has returned, or ended in a way of its own."""
        if self.killed or self.state in ("waiting", "running") or (self.state == "died" and self.code is None):
            self.state, self.loss, self.code, self.call, self.line, self.source = "died", end, None, None, None, None

    def before_meeting(self) -> RankReport:
        """This report, or where this rank waits for others after its call, that of one that has returned."""
        if self.state != "waiting" or self.call != MEETING:
            return self
        last = self.events[-1:] if self.events and is_meeting(self.events[-1]) else []
        return replace(self, state="returned", events=self.events[: len(self.events) - len(last)])

    def read(self, log: str) -> None:
        """Take what this rank has communicated. log: path of the file in which it was noted."""
        try:
            self.events, self.full, self.unseen = read_log(log), is_full(log), has_unseen(log)
            self.cells = cells_of(log)
        except DamagedLog as error:
            self.refuse(str(error))

    def refuse(self, reason: str) -> None:
        """Discard what this rank returned, which cannot be read."""
        self.state, self.result = "raised", None
        self.error = {"type": "UnreadableResult", "message": reason, "line": None, "source": None, "traceback": reason}

    def sentence(self, source: bool = True, plural: bool = False, late: str = "the others") -> str:
        """What this rank did, in a few words. source: quote the cell's line. plural: for several ranks that agree.
        late: the ranks for which those wait that have returned."""
        if self.state == "returned":
            words = "returned" + self._calls()
        elif self.state == "raised":
            message = first_line(self.error["message"])
            words = f"raised {self.error['type']}" + (f": {message}" if message else "")
        elif self.state == "waiting" and self.call == MEETING:
            words = f"returned{self._calls()}, and wait{'' if plural else 's'} for {late}"
        elif self.state == "waiting":
            words = f"wait{'' if plural else 's'} in {self.call}"
        elif self.state == "died":
            words = f"died: {self.loss or ending(self.code)}" + (f", in {self.call}" if self.call else "")
        elif self.call:
            words = f"still compile{'' if plural else 's'} in {self.call}"
        else:
            words = "still run" if plural else "still runs"
        if self.line is not None:
            words += f", cell line {self.line}" + (f":  {self.source}" if source and self.source else "")
        return words

    def _calls(self) -> str:
        counts: Counter[str] = Counter()
        for event in without_notes(self.events):
            if not is_meeting(event):
                counts[f"{PREFIX[event['library']]}.{event['op']}"] += event["times"] or 1
        words = [name if n == 1 else f"{n} x {name}" for name, n in counts.items()]
        words += ["more"] * self.full + ["what is not recorded"] * self.unseen
        return f" after {enumerate_words(words)}" if words else " without communicating"


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "unknown"
    if code >= 0:
        return f"its process exited with status {code}"
    if code == -signal.SIGBUS:
        return "killed by SIGBUS, as where shared memory is full (`df -h /dev/shm`)"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def first_line(text: str) -> str:
    """The first line of `text`, shortened."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 160 else line[:157] + "..."
