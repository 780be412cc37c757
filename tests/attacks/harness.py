"""Grades a class with attackers in it, and finds what they changed, reached or left behind."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import secrets
import socket
import sqlite3
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from attack import Attack, Place
from classroom import Classroom
from small_course import ANSWERS, LAB, make_course

# Low, so that a test need not fill this machine to reach them.
LIMITS = {
    "memory": 1_500 * 2**20,
    "processes": 60,
    "cpu": 30,
    "file": 64 * 2**20,
    "disk": 96 * 2**20,
    "evidence": 2**20,
    "todo": 10,
    "notebook": 40,
    "submission": 600,  # in which starting sandboxes counts, too
}
NEIGHBOURS = {
    "ada": ANSWERS,
    "bob": {"double": "def double(x):\n    return 2 * abs(x)", "total": "def total(comm, x):\n    return x"},
    "zoe": ANSWERS,
}
PATIENCE = 120.0  # seconds that the grader's own may take to end, see `course.world`
# Runs a command with a /dev/shm and System V segments of its own, and writes into $0 what is in them when it has ended,
# and the grader's own had time to end: other tests leave things on this machine, too.
OWN_MEMORY = """
mount -t tmpfs none /dev/shm && "$@"
status=$?
for _ in $(seq 1200); do
    [ -n "$(ls -A /dev/shm)$(tail -n +2 /proc/sysvipc/shm)" ] || break
    sleep 0.1
done
ls -A /dev/shm > "$0"
tail -n +2 /proc/sysvipc/shm >> "$0"
exit $status
"""
PR_SET_CHILD_SUBREAPER = 36
GRADES = """
    SELECT student.id, base_cell.name, grade_cells.max_score, grade.auto_score, grade.manual_score, grade.extra_credit,
        grade.needs_manual_grade, submitted_assignment.timestamp, submitted_notebook.late_submission_penalty,
        submitted_notebook.flagged, comment.auto_comment, comment.manual_comment
    FROM grade
    JOIN base_cell ON base_cell.id = grade.cell_id
    JOIN grade_cells ON grade_cells.id = grade.cell_id
    JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id
    JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
    JOIN student ON student.id = submitted_assignment.student_id
    LEFT JOIN comment ON comment.notebook_id = grade.notebook_id AND comment.cell_id = grade.cell_id
    ORDER BY student.id, base_cell.name
"""


@dataclass(frozen=True)
class Seen:
    """What is to be seen of a class after its grading.

    place: where it was. status, output: of `lockstep grade`; status None: it hung. rows: of grades.csv, by student.
    grades: the gradebook's rows. schema: of the gradebook. mode: of its file. changed: files of the course and the home
    that are not as before, but for gradebook, graded notebooks and feedback. left: what the grading left behind.
    reached: which of the test's sockets somebody connected to. leaked: files for students, or for a look by the
    instructor, that hold a secret. attackers: names of those who were graded beside the neighbours.
    """

    place: Place
    status: int | None
    output: str
    rows: dict[str, dict[str, str]]
    grades: list[tuple]
    schema: list[str]
    mode: int
    changed: set[str]
    left: list[str]
    reached: list[str]
    leaked: list[str]
    attackers: set[str]

    def of(self, *students: str) -> list[tuple]:
        """The gradebook's rows of these students."""
        return [row for row in self.grades if row[0] in students]


def graded(root: Path, attacks: Sequence[Attack], limits: dict, jobs: int = 3, seconds: float = 1500) -> Seen:
    """Grade the neighbours and these attackers, in a course at `root`. limits: over LIMITS."""
    adopt_orphans()
    with field(root, LIMITS | limits) as (place, doors):
        for student, answers in NEIGHBOURS.items():
            place.room.put(student, place.room.answered(answers))
        for attack in attacks:
            attack.put(place)
        before, temporary, shared = files(place), root.parent / "tmp", root.parent / "shared-memory.txt"
        processes = offspring()
        temporary.mkdir()
        status, output = place.room.apart(
            *("grade", LAB, "--no-collect", "--jobs", str(jobs), "--seed", "5"),
            seconds=seconds,
            within=("unshare", "--mount", "--ipc", "sh", "-c", OWN_MEMORY, str(shared)),
            HOME=str(place.home),
            TMPDIR=str(temporary),
            LOCKSTEP_ATTACKED=place.secret,
        )
        left = leftovers(processes, temporary)
        left += [f"in shared memory: {line}" for line in shared.read_text().splitlines()] if status is not None else []
        left += [str(path) for top in (Path("/tmp"), Path("/var/tmp")) for path in top.glob(f"*{place.mark}*")]
        after = files(place)
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        reached = [name for name, door in doors.items() if connected(door)]
        book = root / "class" / "gradebook.db"
        with contextlib.closing(sqlite3.connect(f"file:{book}?mode=ro", uri=True)) as database:
            grades = database.execute(GRADES).fetchall()
            schema = sorted(text for (text,) in database.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL"))
        csv = root / "class" / LAB / "grades.csv"
        rows = place.room.rows() if csv.exists() else {}
        mode = stat.S_IMODE(book.stat().st_mode)
        names = {attack.name for attack in attacks}
        return Seen(place, status, output, rows, grades, schema, mode, changed, left, reached, leaks(place), names)


@contextlib.contextmanager
def field(root: Path, limits: dict) -> Iterator[tuple[Place, dict[str, socket.socket]]]:
    """A built course at `root`, with sockets that listen as long as the grading takes."""
    room = Classroom(make_course(root), LAB, config=f"c.Judge.limits = {limits!r}")
    assert room.lockstep("build").exit_code == 0
    secret, mark, home = secrets.token_hex(16), f"was-here-{secrets.token_hex(4)}", root.parent / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text(secret)
    (room.exchange / "lockstep" / "inbound").mkdir(parents=True)
    (room.exchange / "lockstep" / "inbound" / "secret.txt").write_text(secret)
    with contextlib.ExitStack() as stack:
        doors = {"TCP": stack.enter_context(socket.socket())}
        doors["TCP"].bind(("127.0.0.1", 0))
        for name, address in (("abstract", f"\0{mark}"), ("file", str(root.parent / "door"))):
            doors[name] = stack.enter_context(socket.socket(socket.AF_UNIX))
            doors[name].bind(address)
        for door in doors.values():
            door.listen()
            door.setblocking(False)
        port = doors["TCP"].getsockname()[1]
        yield Place(room, home, secret, port, mark, root.parent / "door", mark), doors


def leaks(place: Place) -> list[str]:
    """Files that grading made in the class's folder with a secret, an answer or a part of the gradebook in them."""
    secrets = (place.secret.encode(), b"nobody has thought of this before", b"SQLite format 3")
    folders = [place.room.root / "class" / name for name in ("autograded", "feedback", LAB)]
    made = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in made if any(secret in path.read_bytes() for secret in secrets)]


def connected(door: socket.socket) -> bool:
    """Whether somebody connected."""
    with contextlib.suppress(BlockingIOError):
        door.accept()[0].close()
        return True
    return False


def files(place: Place) -> dict[str, str]:
    """A fingerprint of each file that a grading must leave as it is."""
    found = {}
    own = {"gradebook.db", "autograded", "feedback", LAB}  # what grading writes in class/
    for top in (place.room.root, place.home):
        for folder, folders, names in os.walk(top):
            if Path(folder) == place.room.root / "class":
                folders[:] = [name for name in folders if name not in own]
                names = [name for name in names if name not in own]
            for path in (Path(folder, name) for name in names):
                seen = path.lstat()
                small = stat.S_ISREG(seen.st_mode) and seen.st_size < 2**20
                content = hashlib.sha256(path.read_bytes()).hexdigest() if small else str(seen.st_mtime_ns)
                found[str(path.relative_to(place.home.parent))] = f"{seen.st_mode} {seen.st_size} {content}"
    return found


def adopt_orphans() -> None:
    """Make this process the parent of what its descendants leave behind, so that nobody gets out of its sight."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def offspring(but_of: Collection[tuple[int, float]] = ()) -> set[tuple[int, float]]:
    """Process id and start of each living descendant of this process; of those in `but_of`, the descendants not."""
    found, parents = set(), [psutil.Process()]
    while parents:
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in parents.pop().children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    known = (process.pid, process.create_time())
                    if process.status() != psutil.STATUS_ZOMBIE:
                        found.add(known)
                    if known not in but_of:  # servers that other tests use start programs at any time
                        parents.append(process)
    return found


def leftovers(processes: set[tuple[int, float]], temporary: Path) -> list[str]:
    """Processes and temporary files that are there now and were not before, once the grader's own had time to end."""
    end = time.monotonic() + PATIENCE
    while True:
        left = [f"process {pid}: {command(pid)}" for pid, _ in offspring(but_of=processes) - processes]
        left += [str(path) for path in temporary.iterdir()]
        if not left or time.monotonic() > end:
            return left[:20]
        time.sleep(0.1)


def command(pid: int) -> str:
    """A process's command line, as far as it can be read."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        return f"{process.name()} of {process.ppid()}, {process.status()}: {' '.join(process.cmdline())[:200]}"
    return "?"
