"""What `./lockstep doctor --class` prints of each thing that it looks at."""

from __future__ import annotations

from dataclasses import dataclass

OK, WRONG, UNSEEN = "ok", "WRONG", "not seen"
SUDO = "sudo ./lockstep doctor --class"
START = "./lockstep hub"


@dataclass(frozen=True)
class Line:
    """One thing that was looked at: OK, WRONG or UNSEEN, what was seen, and the command that mends or shows it."""

    name: str
    state: str
    seen: str
    mend: str = ""
