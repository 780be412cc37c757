"""The file in which a rank's calls are noted while it runs.

It lies in shared memory: what is written to it survives the process, however that ends, and costs no call of the
operating system. After a header it has a slot for each call, in which a few bytes note its begin and its end, and then
lines of text, each a JSON array, with all that is rare, long, or said once for many calls:

    ["group", [0, 2], 0]    ranks of the run, and which of their communicators; calls name them by the number of this
                            line among those of groups
    ["cell", "<cell 1>"]    the file of a notebook cell that calls come from, as tracebacks name it
    ["call", {...}]         a `course.watch.events.Description`; slots name it likewise
    ["values", 7, [...]]    what call 7 puts in, where its slot cannot hold it
    ["more", 7, {...}]      what there is to say of the end of call 7, likewise
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from collections.abc import Iterator, Sequence
from math import isfinite, isnan, nan
from typing import NamedTuple

LIMIT = 10_000  # calls of one rank in one run; later ones are not noted
CHUNK = 2**16  # bytes by which the text grows
EXACT = 2**53  # up to it, a slot holds an integer exactly

EMPTY, CALLED, UNDER_WAY, AWAITED, DONE = range(5)  # states of a slot
# What a slot holds of numbers: none, one, or none as the text has them; or how often the call was made; or that there
# is one which is not finite.
NONE, FLOAT, INTEGER, TEXT, COUNT, NOT_FINITE = range(6)

CLOSED = (TypeError, ValueError)  # what a mapping that is closed raises, by the version of Python
# When the last entry was made, how many slots are used, whether there are more, or what is not seen, bytes of text.
HEADER = struct.Struct("<dIBBxxQ")
LATEST, COUNTED, SAID = struct.Struct("<d"), struct.Struct("<dI"), struct.Struct("<Q")
SAID_AT, FULL_AT, UNSEEN_AT = HEADER.size - SAID.size, 12, 13
SLOT = struct.Struct("<IB3xdddBB6xdd")  # see `Slot`
BEGIN, WAIT, END = struct.Struct("<IB3xdddB"), struct.Struct("<dB"), struct.Struct("<BB6xdd")  # parts of it
SIZE, WAIT_AT, END_AT = SLOT.size, 24, 32
SLOTS = HEADER.size
LINES = SLOTS + LIMIT * SIZE


class Slot(NamedTuple):
    """A call, as its slot has it.

    known: number of its description. start, waited, end: seconds since the run began; `waited` is not a number while
    nobody waits. value, result: see `packed`, with value_kind and result_kind.
    """

    known: int
    value_kind: int
    start: float
    value: float
    waited: float
    state: int
    result_kind: int
    end: float
    result: float


def packed(numbers: Sequence[float | None] | None) -> tuple[int, float]:
    """Numbers as a slot holds them: their kind, and the number if it is one."""
    if not numbers:
        return NONE, 0.0
    if len(numbers) == 1:
        number = numbers[0]
        if type(number) is float:
            return FLOAT, number
        if type(number) is int and -EXACT <= number <= EXACT:
            return INTEGER, number
        if number is None:
            return NOT_FINITE, 0.0
    return TEXT, 0.0


def unpacked(kind: int, number: float) -> list[float | None] | None:
    """The numbers that a slot holds; None if it holds none. Raises ValueError for what `packed` does not give."""
    if kind in (NONE, TEXT, COUNT):
        return None
    if kind == NOT_FINITE:
        return [None]
    if kind not in (FLOAT, INTEGER) or not isfinite(number):
        raise ValueError("not a number of a slot")
    return [number if kind == FLOAT else int(number)]


class Log:
    """Writes the file at `path`; what was there is lost. Raises OSError where there is no room for it.

    Threads may write slots at once. A log that is closed raises one of CLOSED when it is written to.
    """

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.posix_fallocate(self.file, 0, LINES + CHUNK)  # else a full disk would be a signal, and not an error
        self.memory = mmap.mmap(self.file, LINES + CHUNK)
        self.said = 0
        self.saying = threading.Lock()

    def begin(self, number: int, known: int, kind: int, value: float, at: float) -> None:
        """Note that call `number` begins. kind, value: see `packed`."""
        BEGIN.pack_into(self.memory, SLOTS + number * SIZE, known, kind, at, value, at, CALLED)
        COUNTED.pack_into(self.memory, 0, at, number + 1)

    def leave(self, number: int, at: float) -> None:
        """Note that call `number` returned while its operation goes on."""
        WAIT.pack_into(self.memory, SLOTS + number * SIZE + WAIT_AT, nan, UNDER_WAY)
        LATEST.pack_into(self.memory, 0, at)

    def wait(self, number: int, at: float) -> None:
        """Note that the rank waits for call `number`."""
        place = SLOTS + number * SIZE + WAIT_AT
        before = LATEST.unpack_from(self.memory, place)[0]
        WAIT.pack_into(self.memory, place, at if isnan(before) else before, AWAITED)
        LATEST.pack_into(self.memory, 0, at)

    def end(self, number: int, kind: int, result: float, at: float) -> None:
        """Note that call `number` is complete. kind, result: see `packed`."""
        END.pack_into(self.memory, SLOTS + number * SIZE + END_AT, DONE, kind, at, result)
        LATEST.pack_into(self.memory, 0, at)

    def say(self, line: bytes) -> None:
        """Append a line of text. Raises OSError where there is no room for it."""
        with self.saying:
            begin = LINES + self.said
            end = begin + len(line) + 1
            if end > len(self.memory):
                size = LINES + -(-(end - LINES) // CHUNK) * CHUNK
                os.posix_fallocate(self.file, 0, size)
                self.memory.resize(size)
            self.memory[begin:end] = line + b"\n"
            self.said = end - LINES
            SAID.pack_into(self.memory, SAID_AT, self.said)

    def overflow(self) -> None:
        """Note that there is more than this log has: there was no room for it."""
        self.memory[FULL_AT] = 1

    def unseen(self) -> None:
        """Note that the rank communicates by a way that is not recorded."""
        self.memory[UNSEEN_AT] = 1

    def close(self) -> None:
        """Let go of the file."""
        with self.saying:
            self.memory.close()
            os.close(self.file)


def header(path: str) -> bytes:
    """The header of a log, which differs after each entry; empty if there is no log."""
    try:
        with open(path, "rb") as file:
            return file.read(HEADER.size)
    except FileNotFoundError:
        return b""


def is_full(path: str) -> bool:
    """Whether there was more than this log has."""
    return header(path)[FULL_AT : FULL_AT + 1] == b"\x01"


def has_unseen(path: str) -> bool:
    """Whether the rank communicated by a way that is not recorded; see `course.watch.unseen`."""
    return header(path)[UNSEEN_AT : UNSEEN_AT + 1] == b"\x01"


def read(path: str) -> tuple[list[tuple[int, Slot]], list[bytes]]:
    """The calls of a log with their numbers, in order, and its lines of text. A file that is missing has none."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEADER.size)
            if len(head) < HEADER.size:
                return [], []
            _, count, *_ = HEADER.unpack(head)
            slots = list(numbered(file.read(min(count + 64, LIMIT) * SIZE)))  # threads may be ahead of the count
            return slots, texts(path)  # after the slots were read: what they name was said before
    except FileNotFoundError:
        return [], []


def texts(path: str) -> list[bytes]:
    """The lines of text of a log. A file that is missing has none."""
    try:
        with open(path, "rb") as file:
            file.seek(SAID_AT)
            head = file.read(SAID.size)
            said = SAID.unpack(head)[0] if len(head) == SAID.size else 0
            file.seek(LINES)
            return file.read(min(said, os.fstat(file.fileno()).st_size)).splitlines()
    except FileNotFoundError:
        return []


def numbered(data: bytes) -> Iterator[tuple[int, Slot]]:
    """The slots that are used, with their numbers."""
    for number, slot in enumerate(SLOT.iter_unpack(data[: len(data) // SIZE * SIZE])):
        if slot[5] != EMPTY:
            yield number, Slot._make(slot)
