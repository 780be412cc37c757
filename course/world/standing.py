"""Where a rank stands that has not returned, by what faulthandler writes of it."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass

from course.watch.events import PREFIX, in_cell
from course.world.meeting import MEETING, in_meeting

FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)
# Files of torch that are on the stack only while something is compiled, and what a program calls to have it compiled.
COMPILERS = {
    "/torch/_dynamo/convert_frame.py": "torch.compile",
    "/torch/_inductor/compile_fx.py": "torch.compile",
    "/torch/_inductor/async_compile.py": "torch.compile",
    "/torch/utils/cpp_extension.py": "torch.utils.cpp_extension",
}


@dataclass
class Place:
    """state: "waiting" in a communication call, or "running". call: that call, or what compiles. line, source: of the
    student's cell."""

    state: str = "running"
    call: str | None = None
    line: int | None = None
    source: str | None = None


def place_of(stack: str) -> Place:
    """Where a rank with this stack stands, and whether it waits for others."""
    place = Place()
    for match in FRAME.finditer(stack):  # innermost first
        name, file, line = match["name"], match["file"], int(match["line"])
        compiler = next((call for end, call in COMPILERS.items() if file.endswith(end)), None)
        if compiler and place.call is None:
            place.call = compiler
        if "." in name and name.split(".")[0] in PREFIX.values():
            place.call, place.state = name, "waiting"
        if in_meeting(file, name):
            place.call, place.state = MEETING, "waiting"
            break
        if in_cell(file):
            place.line, place.source = line, linecache.getline(file, line).strip() or None
            break
    return place
