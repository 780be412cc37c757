"""How far a student is with each lab of a course: to be fetched, open, handed in, given back with a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nbgrader.utils import parse_utc

from course.corrections.own_folder import Correction, find_correction
from course.exchange.deadlines import how_late
from course.exchange.due import read_deadline
from course.exchange.handed_in.choice import read_choice
from course.exchange.handed_in.given import released_page, score
from course.exchange.receipts import contents_in, secret_of
from course.jupyterhub.pages.renamed import OtherNotebook, about_others, other_notebooks
from course.jupyterhub.pages.student_exchange import StudentExchange, Unavailable
from course.overview.about import About, plain
from course.overview.cells import NoNotebook, read_notebook
from course.overview.entries import look_at, look_into, unread
from course.overview.progress import Progress


@dataclass(frozen=True)
class Feedback:
    """Feedback on a submission. path: below the student's root, once it is fetched. score: None if it names none;
    after the late penalty."""

    of: datetime
    path: str
    score: float | None = None
    points: float | None = None
    penalty: float = 0.0


@dataclass(frozen=True)
class LabState:
    """A student's lab. Times are naive UTC.

    about: what the notebook says of itself. progress: how far the student is in it, once it is fetched. folder: where
    the lab is below the student's root, or would be. released: whether it can be fetched and handed in now. fetched:
    whether the folder is there. complete: whether the notebook is in it. handed_in: the last time, or None. chosen: the
    time of the one that counts by an instructor's choice, or None: then it is the last. late: how late the one was that
    counts, in words. in_time: whether one was handed in before the deadline. unsure: whether there is feedback on more
    than what is known to be handed in. saved: when the notebook was saved. changed: whether what would be handed in is
    another than the last. trouble: a sentence on what is in the way. renamed: the paths in the folder of notebooks that
    may be the lab's under another name.
    correction: that which the lab had after the student fetched it, or None.
    """

    course: str
    name: str
    about: About
    progress: Progress
    folder: str
    released: bool
    fetched: bool
    complete: bool
    deadline: datetime | None
    handed_in: datetime | None
    times: int
    late: str
    saved: datetime | None
    feedback: Feedback | None
    trouble: str
    in_time: bool = False
    unsure: bool = False
    correction: Correction | None = None
    changed: bool = False
    chosen: datetime | None = None
    renamed: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The notebook's, without marks of Markdown; the lab's name if it has none."""
        return plain(self.about.title) or self.name

    @property
    def notebook(self) -> str:
        """The notebook's path below the student's root."""
        return f"{self.folder}/{self.name}.ipynb"

    @property
    def counts(self) -> datetime | None:
        """When what counts was handed in."""
        return self.chosen or self.handed_in

    @property
    def to_do(self) -> bool:
        """Whether the student has still to hand it in."""
        return self.released and self.handed_in is None


@dataclass(frozen=True)
class CourseState:
    """A course's labs, or `trouble`: a sentence on why they are not shown. next: the lab to do next, or None."""

    name: str
    labs: tuple[LabState, ...] = ()
    trouble: str = ""

    @property
    def next(self) -> LabState | None:
        """Of the labs that are not handed in, the one whose deadline comes first."""
        left = [lab for lab in self.labs if lab.to_do]
        return min(left, key=lambda lab: (lab.deadline or datetime.max, lab.name), default=None)


def course_states(exchange: StudentExchange) -> list[CourseState]:
    """The student's courses with their labs. Raises Unavailable if not even the courses are known."""
    return [course_state(exchange, name) for name in exchange.courses()]


def course_state(exchange: StudentExchange, course: str, lab: str = "") -> CourseState:
    """A course with its labs: those released, and those once handed in; or with one of them."""
    try:
        released = {entry["assignment_id"]: entry for entry in exchange.released(course, lab)}
        handed_in = {entry["assignment_id"]: entry["submissions"] for entry in exchange.handed_in(course, lab)}
    except Unavailable as error:
        return CourseState(course, trouble=str(error))
    names = sorted({*released, *handed_in})
    return CourseState(course, tuple(lab_state(exchange, course, one, released, handed_in) for one in names))


def lab_state(
    exchange: StudentExchange,
    course: str,
    name: str,
    released: Mapping[str, dict[str, Any]],
    handed_in: Mapping[str, list[dict[str, Any]]],
) -> LabState:
    """A lab, from nbgrader's entries of all labs."""
    folder = exchange.root / course / name
    notebook = folder / f"{name}.ipynb"
    original = exchange.place / course / "outbound" / name / notebook.name
    deadline = read_deadline(exchange.place, course, name, exchange.student)
    # OwnList adds how late it was to the time.
    known = {one["timestamp"].partition(",")[0]: Path(one["path"]) for one in handed_in.get(name, ())}
    fetched = fetched_feedback(folder)
    times = sorted({*known, *fetched}, key=parse_utc)
    last = times[-1] if times else ""
    chosen = read_choice(exchange.place, course, name, exchange.student) if last else ""
    mine, about, progress = read_once(notebook)
    saved = saved_at(notebook)
    others = other_notebooks(notebook, original) if folder.is_dir() else []
    return LabState(
        course=course,
        name=name,
        about=about if about.title else look_at(original)[0],
        progress=progress,
        folder=f"{course}/{name}",
        released=name in released,
        fetched=folder.is_dir(),
        complete=notebook.is_file(),
        deadline=deadline,
        handed_in=parse_utc(last) if last else None,
        times=len(times),
        late=how_late(chosen or last, deadline) if last else "",
        saved=saved,
        feedback=newest_feedback(exchange, course, name, {time: known.get(time) for time in times}, chosen),
        trouble=trouble(exchange, course, name, progress, others),
        in_time=bool(times and deadline and parse_utc(times[0]) <= deadline),
        unsure=not fetched <= known.keys(),
        correction=find_correction(exchange.place, course, name, folder, mine) if mine and name in released else None,
        changed=bool(last) and is_changed(exchange, course, name, known.get(last), saved, parse_utc(last)),
        chosen=parse_utc(chosen) if chosen else None,
        renamed=tuple(each.where for each in others if each.to_rename),
    )


def read_once(notebook: Path) -> tuple[dict[str, Any] | None, About, Progress]:
    """A student's notebook, None if it cannot be read; what it says of itself, and how far the student is with it."""
    try:
        mine = read_notebook(notebook.read_bytes())
        return mine, *look_into(mine)
    except (OSError, NoNotebook) as error:
        return None, About(), Progress(trouble=unread(notebook, error))


def is_changed(
    exchange: StudentExchange, course: str, name: str, receipt: Path | None, saved: datetime | None, last: datetime
) -> bool:
    """Whether a student has changed a lab since it was handed in, at `last`; where that is not known, whether it was
    saved since."""
    contents = contents_in(receipt) if receipt else set()
    return exchange.content(course, name) not in contents if contents and saved else bool(saved and saved > last)


def fetched_feedback(folder: Path) -> set[str]:
    """The times of submissions on which there is feedback in a lab's folder."""
    return {page.parent.name for page in folder.glob("feedback/*/*.html") if is_time(page.parent.name)}


def is_time(text: str) -> bool:
    """Whether it is a time, as in a submission's name."""
    try:
        return bool(parse_utc(text))
    except (ValueError, OverflowError):
        return False


def saved_at(notebook: Path) -> datetime | None:
    """When a notebook was saved, as naive UTC; None if it is not there."""
    try:
        return datetime.fromtimestamp(notebook.stat().st_mtime, UTC).replace(tzinfo=None)
    except OSError:
        return None


def trouble(exchange: StudentExchange, course: str, name: str, progress: Progress, others: list[OtherNotebook]) -> str:
    """What is in the way of a lab: its notebook cannot be read, or that or its folder is too large, or was renamed,
    moved or removed. Empty if nothing is. others: notebooks beside it.
    """
    folder, file = f"{course}/{name}", f"{name}.ipynb"
    if (exchange.root / folder / file).is_file():
        damaged = f"{progress.trouble}. Rename it and fetch the lab anew: your file stays." if progress.trouble else ""
        return damaged or " ".join(filter(None, [exchange.too_large(course, name), about_others(file, folder, others)]))
    if others:
        return about_others(file, folder, others)
    elsewhere = [*exchange.root.glob(f"{course}/*/{file}"), *exchange.root.glob(f"*/{file}")]
    places = sorted(str(path.parent.relative_to(exchange.root)) for path in elsewhere)
    if places and not list((exchange.root / folder).glob("*.ipynb")):
        return (
            f"You have {file} in the folder {places[0]}, and only {folder} is handed in. Rename or move it back, or "
            "fetch the lab anew: that leaves your folder as it is."
        )
    if (exchange.root / folder).is_dir():
        return f"{file} is missing in your folder {folder}. If you renamed it, rename it back; or fetch it anew."
    return ""


def newest_feedback(
    exchange: StudentExchange, course: str, name: str, receipts: Mapping[str, Path | None], chosen: str
) -> Feedback | None:
    """The feedback on what counts by an instructor's choice, else on the newest submission that has some; None if there
    is none. receipts: by time, oldest first.
    """
    for time, receipt in sorted(reversed(receipts.items()), key=lambda each: each[0] != chosen):
        path = f"{course}/{name}/feedback/{time}/{name}.html"
        secret = secret_of(receipt) if receipt else ""
        released = [released_page(exchange.place, course, name, secret)] if secret else []
        for page in (*released, exchange.root / path):
            try:
                text = page.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            return Feedback(parse_utc(time), path, *score(text))
    return None
