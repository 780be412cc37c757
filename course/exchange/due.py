"""A student's deadline, as the student can read it: in the exchange, or beside a lab that was packed for elsewhere.

It is told, and not trusted: the gradebook decides what is late. Notebooks use this, so it does without nbgrader, which
takes seconds to import.
"""

from __future__ import annotations

import getpass
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from jupyter_core.paths import jupyter_config_path
from traitlets.config import Config, ConfigFileNotFound, JSONFileConfigLoader, PyFileConfigLoader

ROOT = "/usr/local/share/nbgrader/exchange"  # where nbgrader has its exchange if nobody says otherwise
BESIDE = "deadline.txt"  # in the folder of a lab that was packed
FORMAT = "%Y-%m-%d %H:%M:%S UTC"


def deadline_file(root: Path | str, course: str, assignment: str) -> Path:
    """The file with an assignment's deadline in the exchange at `root`. Neither `list` nor `fetch` looks there."""
    return Path(root, course, "outbound", f".{assignment}.deadline")


def extension_file(root: Path | str, course: str, assignment: str, student: str) -> Path:
    """The file with a student's own deadline in the exchange at `root`. No nbgrader command looks there."""
    return of_student(root, course, f".{assignment}.extensions", student)


def of_student(root: Path | str, course: str, folder: str, student: str) -> Path:
    """A student's own file in a hidden folder of what is released in a course."""
    return Path(root, course, "outbound", folder, quote(student, safe="").replace(".", "%2E"))


def content_of(deadline: datetime) -> bytes:
    """The content of such a file, for a deadline in naive UTC."""
    return f"{deadline.strftime(FORMAT)}\n".encode()


def read_time(path: Path) -> datetime | None:
    """The deadline in a file, as naive UTC; None if there is none to be read."""
    try:
        return datetime.strptime(path.read_text(encoding="utf-8").strip(), FORMAT)
    except (OSError, ValueError):
        return None


def read_deadline(root: Path | str, course: str, assignment: str, student: str) -> datetime | None:
    """A student's deadline as it was released with an assignment, as naive UTC; None if there is none."""
    common = read_time(deadline_file(root, course, assignment))
    own = read_time(extension_file(root, course, assignment, student))
    return max(common, own) if common and own else common


def deadline_here(lab: Path) -> datetime | None:
    """The deadline of whoever works in the folder `lab`, as naive UTC; None if none is known.

    The exchange is the hub's, or the one that nbgrader's configuration names. Where it has labs of this name in several
    courses, the one counts whose folder this is in, or which the configuration names.
    """
    settings = nbgrader_settings() if "LOCKSTEP_EXCHANGE" not in os.environ else Config()
    root = os.environ.get("LOCKSTEP_EXCHANGE") or settings.Exchange.get("root") or ROOT
    student = os.environ.get("JUPYTERHUB_USER") or settings.CourseDirectory.get("student_id") or getpass.getuser()
    courses = {path.parts[-3] for path in Path(root).glob(f"*/outbound/.{lab.name}.deadline")}
    for course in (lab.parent.name, settings.CourseDirectory.get("course_id"), *(courses if len(courses) == 1 else ())):
        if course in courses:
            return read_deadline(root, course, lab.name, student)
    return read_time(lab / BESIDE)


def nbgrader_settings() -> Config:
    """What nbgrader's configuration files say, of which the last counts; nothing of one that cannot be run."""
    found = Config()
    for folder in reversed(jupyter_config_path()):
        for loader in (
            JSONFileConfigLoader("nbgrader_config.json", folder),
            PyFileConfigLoader("nbgrader_config.py", folder),
        ):
            try:
                found.merge(loader.load_config())
            except ConfigFileNotFound:
                continue
            except Exception:  # it runs anybody's code, and a deadline is worth no failed cell
                continue
    return found


def deadline_sentence(deadline: datetime, now: datetime) -> str:
    """The sentence that tells a student the deadline, in the time of this machine. Both are naive UTC."""
    local = deadline.replace(tzinfo=UTC).astimezone()
    when = f"{local:%A} {local.day} {local:%B %Y, %H:%M %Z}"
    if deadline < now:
        return f"The deadline was {when}, {duration(now - deadline)} ago: what you hand in now is late."
    return f"Hand in by {when}: in {duration(deadline - now)}."


def to_the_minute(time: datetime) -> str:
    """A naive time in UTC, as messages have it: pages show it in the reader's own zone."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def duration(span: timedelta) -> str:
    """A time span in its two largest units: "3 d 4 h", "12 min", "5 s"."""
    seconds = int(span.total_seconds())
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{number} {unit}" for number, unit in parts[:2] if number) or "less than 1 s"
