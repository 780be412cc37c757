"""A class that a report is made on: what its students wrote, and the report, read."""

from __future__ import annotations

from html.parser import HTMLParser

from classroom import Classroom
from small_course import LAB

EVIL = "<img src=x onerror=alert(1)>"
RAISES = "def total(comm, x):\n    raise ValueError('<script>alert(2)</script>')"
HANGS = "def total(comm, x):\n    return comm.allreduce(x) if comm.rank else x"
DIES = "import os\n\ndef total(comm, x):\n    if comm.rank == 1:\n        os._exit(7)\n    return comm.allreduce(x)"
LONG = (
    "def double(x):\n" + "".join(f"    part_{n} = x * {n} - {n + 1} + {2 * n}\n" for n in range(9)) + "    return x + x"
)


class Page(HTMLParser):
    """A page taken apart. tables: rows of cell texts, by the heading above; titles: those of cells, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.words = ""
        self._heading: str | None = None
        self._cell: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin headings, rows and cells."""
        self.tags.append((tag, dict(attrs)))
        if tag == "h2":
            self._heading = dict(attrs)["id"]
        elif tag == "tr":
            self.tables.setdefault(self._heading, []).append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        """End cells."""
        if tag in ("td", "th"):
            self.tables[self._heading][-1].append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.words += data + " "
        if self._cell is not None:
            self._cell.append(data + " ")

    def row(self, heading: str, first: str) -> list[str]:
        """The row below a heading that begins with `first`."""
        return next(row for row in self.tables[heading] if row[0] == first)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of all elements called `tag`."""
        return [attributes for name, attributes in self.tags if name == tag]


def report(room: Classroom) -> Page:
    """Run `lockstep report` and read what it wrote."""
    result = room.lockstep("report", LAB)
    path = room.root / "class" / LAB / "report.html"
    assert (result.exit_code, result.output) == (0, f"{path}\n")
    return Page(path.read_text(encoding="utf-8"))
