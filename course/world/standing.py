"""Where a rank stands that has not returned, by what faulthandler writes of it."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass

from course.watch.events import PREFIX, in_cell
from course.world.meeting import MEETING, in_meeting

FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)
# Functions of torch that are on the stack only while something is compiled, by the ends of their files, and what a
# program calls to have it compiled. `run` and `wrapper` are there also while what was compiled runs.
COMPILERS = (
    (r"/torch/_dynamo/convert_frame\.py", r".*", "torch.compile"),
    (r"/torch/_inductor/(compile_fx|async_compile)\.py", r"(?!run$|wrapper$).*", "torch.compile"),
    (r"/torch/_inductor/.*", r"<module>", "torch.compile"),  # imported at the first call
    (r"/torch/utils/cpp_extension\.py", r".*", "torch.utils.cpp_extension"),
)


@dataclass
class Place:
    """state: "waiting" in a communication call, or "running". call: that call, or what compiles. line, source: of the
    student's cell."""

    state: str = "running"
    call: str | None = None
    line: int | None = None
    source: str | None = None


def compiler(file: str, name: str) -> str | None:
    """What a function of this file compiles for, if it does."""
    for path, function, call in COMPILERS:
        if re.search(f"{path}$", file) and re.fullmatch(function, name):
            return call
    return None


def place_of(stack: str) -> Place:
    """Where a rank with this stack stands, and whether it waits for others."""
    place = Place()
    for match in FRAME.finditer(stack):  # innermost first
        name, file, line = match["name"], match["file"], int(match["line"])
        if "." in name and name.split(".")[0] in PREFIX.values():
            place.call, place.state = name, "waiting"
        elif place.state == "running":
            place.call = place.call or compiler(file, name)
        if in_meeting(file, name):
            place.call, place.state = MEETING, "waiting"
            break
        if in_cell(file):
            place.line, place.source = line, linecache.getline(file, line).strip() or None
            break
    return place
