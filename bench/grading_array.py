"""What grading by a job array costs compared with grading on one machine, and how it would scale.

    python bench/grading_array.py [--submissions 16] [--students 1000] [--plot scaling.png]

The same submissions of lab 03 (see `grading.py`) are graded on this machine, and by `--slurm`. If SLURM_CONF is not
set, `--slurm` uses a new cluster of two nodes, both on this machine: then the array can only be slower, and the
difference is the cost of Slurm, the start of tasks and the shared folder.

Then a class of 1,000 is simulated on 1 to 64 nodes like this machine, from measured times:

    start    seconds from sbatch to a result, less its examination: Slurm, Python, the fork server, the first ranks
    times    seconds of each submission's examination here, with as many at once as this machine carries
    writer   seconds to write one submission into the gradebook and its feedback page, one after the other

Each node runs one task at a time, and each task a chunk of submissions, as in `autograde.slurm.array_grading`. The
ideal is all examinations spread evenly over all nodes, without start and writer. Reading and judging a submission's
evidence takes some hundredths of a second, and is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt
from cost import Usage, measured
from grading import LAB, REPOSITORY, SEED, Answers, answers, complain, environment, graded, hand_in, scores

from autograde.classroom import grades
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.nbgrader_steps import released_notebook
from autograde.classroom.submissions.submission import read_submission, to_grade
from autograde.labs.folder import find_lab, load_lab
from autograde.making.build import build
from autograde.sandbox import examine
from autograde.sandbox.resources.limits import Limits, Settings, default_jobs
from autograde.slurm.array_grading import CHUNK, examined_on_nodes, split_evenly

NODES = (1, 2, 4, 8, 16, 32, 64)
REPEATS = 3  # measurements of a task's start


@dataclass(frozen=True)
class Measured:
    """Times in seconds, see above. jobs: submissions examined at once on a node."""

    start: float
    times: list[float]
    writer: float
    jobs: int


@contextlib.contextmanager
def cluster() -> Iterator[None]:
    """The cluster that SLURM_CONF names, or one made for this block."""
    if "SLURM_CONF" in os.environ:
        yield
        return
    program = REPOSITORY / "slurm" / "local" / "cluster"
    folder = tempfile.mkdtemp(prefix="bench-", dir="/tmp")
    os.chmod(folder, 0o755)
    subprocess.run([program, "start", folder], check=True, stdout=subprocess.DEVNULL)
    os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
    try:
        yield
    finally:
        del os.environ["SLURM_CONF"]
        subprocess.run([program, "clean", folder], check=True)


def make_course(scratch: Path, handed_in: Answers) -> Path:
    """Make a course with the lab and its class at `scratch`/course."""
    root = scratch / "course"
    (root / "solutions").mkdir(parents=True)
    subprocess.run(["cp", "-r", REPOSITORY / "solutions" / LAB, root / "solutions"], check=True)
    hand_in(root / "class" / "submitted", build(find_lab(root, LAB)).student[f"{LAB}.ipynb"].content, handed_in)
    return root


def grade(scratch: Path, handed_in: Answers, *options: str) -> tuple[Usage, Path]:
    """Grade in a fresh course below `scratch`. Returns what it took, and the course."""
    root = make_course(scratch, handed_in)
    command = [sys.executable, "-m", "autograde", "grade", LAB, "--no-collect", f"--seed={SEED}", *options]
    usage = measured(command, REPOSITORY, environment(scratch) | {"LOCKSTEP_COURSE": str(root)}, scratch / "log")
    complain(f"lockstep grade {' '.join(options)}", usage, scratch / "log")
    return usage, root


def start_of_task(root: Path, sources: dict[str, str]) -> float:
    """Seconds from sbatch to the result of one submission, less its examination."""
    settings = Settings(limits=Limits(), sandboxed=True, seed=SEED, jobs=None)
    taken, given = [], examine.Answers(sources, frozenset())
    for _ in range(REPEATS):
        began = time.monotonic()
        with examined_on_nodes(root, load_lab(find_lab(root, LAB)), {"one": given}, settings) as outcomes:
            ((_, examined),) = outcomes
            taken.append(time.monotonic() - began - examined.seconds["total"])
    return mean(taken)


def writing(root: Path, handed_in: Answers) -> float:
    """Seconds to write one examined submission into the gradebook, and its feedback."""
    course, lab, began = Course(root), load_lab(find_lab(root, LAB)), time.monotonic()
    released = released_notebook(root, lab)
    for student in sorted(handed_in):
        folder, notes = course.folder("submitted", student, LAB), grades.notes(course, lab, student)
        submission = to_grade(lab, folder, read_submission(folder / lab.notebook), released)
        course.autograde(lab, student, submission, examine.Examined(notes.marked, notes.seed, notes.seconds))
        course.feedback(LAB, student)
    return (time.monotonic() - began) / len(handed_in)


def simulated(nodes: int, times: list[float], known: Measured) -> float:
    """Simulated seconds until the last submission is in the gradebook. times: of the submissions' examinations."""
    free = [0.0] * nodes
    ended = []
    for chunk in split_evenly([str(number) for number in range(len(times))], CHUNK):
        slots = [heappop(free) + known.start] * known.jobs
        heapify(slots)
        for name in chunk:
            ended.append(slots[0] + times[int(name)])
            heapreplace(slots, ended[-1])
        heappush(free, max(slots))
    written = 0.0
    for end in sorted(ended):
        written = max(written, end) + known.writer
    return written


def plot(path: Path, times: list[float], known: Measured) -> None:
    """Draw and print the simulation."""
    ideal = [sum(times) / known.jobs / nodes for nodes in NODES]
    whole = [simulated(nodes, times, known) for nodes in NODES]
    tasks = [simulated(nodes, times, Measured(known.start, known.times, 0.0, known.jobs)) for nodes in NODES]
    print(f"{len(times)} students, minutes:  " + " ".join(f"{nodes:6}" for nodes in NODES) + "  nodes")
    for name, seconds in (("simulated", whole), ("without the writer", tasks), ("ideal", ideal)):
        print(f"  {name:24}" + " ".join(f"{each / 60:6.1f}" for each in seconds))
    figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
    for label, seconds, style in (
        ("simulated", whole, "o-"),
        ("tasks alone", tasks, "s--"),
        ("ideal", ideal, "k:"),
    ):
        axes.loglog(NODES, [each / 60 for each in seconds], style, label=label, base=2)
    axes.axhline(len(times) * known.writer / 60, color="gray", lw=0.8, label="the one writer, without a break")
    axes.set(xlabel="nodes", ylabel="minutes", title=f"Grading {len(times):,} students by a job array (simulated)")
    axes.set_xticks(NODES, map(str, NODES))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend()
    figure.savefig(path, dpi=150)
    print(f"drawn to {path}")


def main() -> None:
    """Measure, print, simulate."""
    parser = argparse.ArgumentParser(description="Compare grading by a job array with grading here; simulate a class.")
    parser.add_argument("--submissions", type=int, default=16)
    parser.add_argument("--students", type=int, default=1000)
    parser.add_argument("--plot", type=Path, metavar="PNG", default=Path("grading_array.png"))
    options = parser.parse_args()
    handed_in = answers(find_lab(REPOSITORY, LAB), options.submissions)
    jobs = default_jobs(Limits())
    with cluster(), tempfile.TemporaryDirectory(prefix="bench-array-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        for part in ("here", "array"):
            (scratch / part).mkdir()
        here, root = grade(scratch / "here", handed_in, f"--jobs={jobs}")
        array, other = grade(scratch / "array", handed_in, "--slurm")
        print(f"{options.submissions} submissions of {LAB:24} {'here':>8} {'array':>8} {'ratio':>6}")
        for what, one, two in (
            ("wall time, s", here.wall, array.wall),
            ("CPU (whole machine), s", here.cpu, array.cpu),
        ):
            print(f"{what:40} {one:8.1f} {two:8.1f} {two / one:6.2f}")
        mine, theirs = (scores(each / "class" / "gradebook.db", handed_in) for each in (root, other))
        same = sum(mine.get(student) == theirs.get(student) is not None for student in handed_in)
        print(f"equal scores: {same} of {len(handed_in)}")
        times = [notebook.metadata.lockstep["seconds"]["total"] for notebook in graded(root / "class" / "autograded")]
        started = start_of_task(root, handed_in[min(handed_in)])
        known = Measured(started, times, writing(root, handed_in), jobs)
    print(
        f"a task's start {known.start:.1f} s; an examination {mean(times):.1f} s on average ({min(times):.1f} to "
        f"{max(times):.1f}), {jobs} at once; the writer {known.writer:.2f} s a submission"
    )
    rng = random.Random(SEED)
    plot(options.plot, rng.choices(known.times, k=options.students), known)


if __name__ == "__main__":
    main()
