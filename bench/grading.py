"""What grading a class costs: `lockstep grade` beside plain `nbgrader autograde`, in one run on the same submissions.

    python bench/grading.py [--submissions 30] [--jobs N] [--skip-plain]

The class hands in lab 03, some TODOs right, some wrong, and two submissions deadlock. Run it on a machine that does
nothing else; the plain way takes about a minute for each submission.

Plain means: nbgrader as it comes, one submission after another, each executed as a notebook, with an ipyparallel
cluster of its own (see `plain_world.py`). It is given the same checks and the same cases, hidden ones included, and
the environment variables that our ranks get. Making the course is not measured, and neither is feedback on the plain
side, which nbgrader writes by another command; `lockstep grade` writes it.

    memory      peak over samples of the PSS (each page shared by n processes counts 1/n to each) of all processes that
                the command started, orphans included.
    CPU         what the whole machine did meanwhile, from /proc/stat, less this script's own part. The times that
                processes inherit from their children would miss most ranks: in a killed process namespace nobody
                collects them. So the machine must be idle otherwise; it is looked at first, and named if it is not.
    overhead    (jobs x wall - sum of probing) / submissions, in seconds. Each worker is paid for all the time from start
                to end: for starting the grader, warming up, starting ranks and sandboxes, judging, writing the gradebook
                and the feedback, and for having nothing to do at the end. Probing is the time between sending a
                probe and having its evidence. What probes lose because a neighbour takes the processor from them
                counts as probing, and so does the start of torch's or Horovod's group: with `--jobs 1` there is
                no such neighbour.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import click
import nbformat
import psutil
from nbgrader.api import Gradebook, MissingEntry

from autograde.build import build
from autograde.cli import grade
from autograde.labs import Lab, find_lab, load_checks, load_variants
from course.launch import mpi_environment, mpiexec

REPOSITORY = Path(__file__).resolve().parents[1]
LAB = "03_pi_allreduce"
SEED = 2025
RANKS = 4
WRONG_SHARE = 0.4  # of the TODOs
# Mistakes that let ranks wait for each other; the two submissions that hang make the last two of these.
HANG = {"collective-skipped", "uneven-collectives", "world-not-comm"}
HANGING = (("parallel_pi", "only_rank_0"), ("parallel_pi_horovod", "only_rank_0"))
# The lab as it is with plain ranks, and with the cases that we draw.
PLAIN = {
    "from course.world import COMM, World": "from plain_world import COMM, PlainWorld as World",
    'Checker("checks.py", world)': f'Checker("checks.py", world, seed={SEED})',
}
SAMPLE = 0.5  # seconds between two looks at the memory
LOOK = 2.0  # seconds for which the machine is looked at before
GOAL_RATIO, GOAL_OVERHEAD = 8, 2.0
PR_SET_CHILD_SUBREAPER = 36

Answers = dict[str, dict[str, str]]  # student -> TODO -> source
Scores = dict[str, dict[str, float | None]]  # student -> TODO -> points


@dataclass(frozen=True)
class Usage:
    """What a command took. wall, cpu: seconds. peak: bytes. busy: processors that others used before. left: processes
    that it left behind.
    """

    wall: float
    cpu: float
    peak: int
    busy: float
    left: int
    code: int


def answers(lab: Lab, count: int) -> Answers:
    """`count` submissions of `lab`, the same ones each time; from three on, two of them hang."""
    right, wrong = load_variants(lab.variants)
    reference = nbformat.reads(build(lab).instructor[lab.notebook].content.decode(), as_version=4)
    solution = {cell.id: cell.source for cell in reference.cells}
    todos = [check.todo for check in load_checks(lab.checks)]
    rng = random.Random(SEED)
    made: Answers = {}
    for number in range(count):
        made[f"student-{number:03}"] = chosen = {}
        for todo in todos:
            bad = [known.source for known in wrong[todo].values() if known.finding not in HANG]
            good = [solution[todo], *right[todo].values()]
            chosen[todo] = rng.choice(bad if rng.random() < WRONG_SHARE else good)
    for third, (todo, mistake) in enumerate(HANGING if count > 2 else (), 1):
        made[f"student-{third * count // 3:03}"][todo] = wrong[todo][mistake].source
    return made


def hand_in(folder: Path, released: bytes, handed_in: Answers) -> None:
    """Write each student's notebook into the `submitted` folder `folder`."""
    for student, sources in handed_in.items():
        notebook = nbformat.reads(released.decode(), as_version=4)
        for cell in notebook.cells:
            cell.source = sources.get(cell.id, cell.source)
        (folder / student / LAB).mkdir(parents=True)
        nbformat.write(notebook, folder / student / LAB / f"{LAB}.ipynb")


def environment(scratch: Path) -> dict[str, str]:
    """For both ways: configuration, temporary files and IPython's profile in `scratch`."""
    for name in ("config", "tmp"):
        (scratch / name).mkdir(exist_ok=True)
    places = [str(Path(mpiexec()).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(scratch / "config"),
        "JUPYTER_DATA_DIR": str(scratch / "config"),
        "IPYTHONDIR": str(scratch / "config"),
        "TMPDIR": str(scratch / "tmp"),
        "PATH": os.pathsep.join(places),
    }


def ours(scratch: Path, handed_in: Answers, jobs: int | None) -> Usage:
    """Grade with `lockstep grade` in a copy of the course at `scratch`/course."""
    root = scratch / "course"
    shutil.copytree(REPOSITORY / "solutions" / LAB, root / "solutions" / LAB)
    released = build(find_lab(root, LAB)).student[f"{LAB}.ipynb"].content
    hand_in(root / "class" / "submitted", released, handed_in)
    command = [sys.executable, "-m", "autograde", "grade", LAB, "--no-collect", f"--seed={SEED}"]
    command += [f"--jobs={jobs}"] if jobs else []
    env = environment(scratch) | {"LOCKSTEP_COURSE": str(root)}
    return measured(command, REPOSITORY, env, scratch / "ours.log")


def plain(scratch: Path, handed_in: Answers) -> Usage:
    """Grade with stock `nbgrader autograde` in the course folder `scratch`/plain."""
    root = scratch / "plain"
    shutil.copytree(REPOSITORY / "solutions" / LAB, root / "solutions" / LAB)
    lab = find_lab(root, LAB)
    text = lab.source.read_text(encoding="utf-8")
    for of_ours, of_theirs in PLAIN.items():
        if of_ours not in text:
            raise SystemExit(f"{LAB}/lab.py has no {of_ours!r}, which the plain way replaces")
        text = text.replace(of_ours, of_theirs)
    lab.source.write_text(text, encoding="utf-8")
    built = build(lab)
    (root / "source" / LAB).mkdir(parents=True)
    (root / "source" / LAB / lab.notebook).write_bytes(built.instructor[lab.notebook].content)
    shutil.copy(lab.checks, root / "source" / LAB)
    env = environment(scratch) | mpi_environment(RANKS)
    env["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), str(Path(__file__).parent)])
    nbgrader = [sys.executable, "-m", "nbgrader"]
    subprocess.run([*nbgrader, "generate_assignment", LAB], cwd=root, env=env, check=True, capture_output=True)
    hand_in(root / "submitted", built.student[lab.notebook].content, handed_in)
    return measured([*nbgrader, "autograde", LAB], root, env, scratch / "plain.log")


def machine() -> float:
    """Seconds that the machine's processors have worked, less what this process did."""
    times, own = psutil.cpu_times(), psutil.Process().cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq - own.user - own.system


def pss(process: psutil.Process) -> int:
    """Proportional set size in bytes; 0 for a process that is gone."""
    with suppress(psutil.NoSuchProcess):
        return process.memory_full_info().pss
    return 0


def bury_orphans(command: int) -> None:
    """Take the exit status of ended processes that fell to us; not of the process `command`, which we started."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, ChildProcessError):
            if child.pid != command and child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)


def measured(command: list[str], cwd: Path, env: dict[str, str], log: Path) -> Usage:
    """Run `command` with its output in `log`, and look at all that it starts."""
    before = machine()
    time.sleep(LOOK)
    busy = (machine() - before) / LOOK
    this, peak = psutil.Process(), 0
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans stay below us, and are counted
    before, began = machine(), time.monotonic()
    with open(log, "wb") as output:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdout=output, stderr=subprocess.STDOUT)
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(SAMPLE)
            break
        peak = max(peak, sum(map(pss, this.children(recursive=True))))
        bury_orphans(process.pid)
    wall, cpu = time.monotonic() - began, machine() - before
    left = [child for child in this.children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE]
    for child in left:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    return Usage(wall, cpu, peak, busy, len(left), process.returncode)


def scores(database: Path, students: Answers) -> Scores:
    """Points in the gradebook; no entry for a student whose submission was lost."""
    found: Scores = {}
    with Gradebook(f"sqlite:///{database}") as gradebook:
        for student in students:
            with suppress(MissingEntry):
                notebook = gradebook.find_submission_notebook(LAB, LAB, student)
                found[student] = {grade.name.removesuffix("-check"): grade.auto_score for grade in notebook.grades}
    return found


def graded(folder: Path) -> list[nbformat.NotebookNode]:
    """The notebooks in an `autograded` folder."""
    return [nbformat.read(path, as_version=4) for path in sorted(folder.glob(f"*/{LAB}/{LAB}.ipynb"))]


def parts(notebooks: list[nbformat.NotebookNode]) -> dict[str, float]:
    """Seconds that executed cells took, on average over the notebooks, by what they are for."""
    spent = dict.fromkeys(("cluster", "checks", "other cells"), 0.0)
    for notebook in notebooks:
        for cell in notebook.cells:
            times = sorted(map(datetime.fromisoformat, cell.metadata.get("execution", {}).values()))
            kind = "checks" if cell.id.endswith("-check") else "cluster" if "World(" in cell.source else "other cells"
            spent[kind] += sum((after - before).total_seconds() for before, after in pairwise(times))
    return {kind: seconds / max(1, len(notebooks)) for kind, seconds in spent.items()}


def default_jobs() -> int:
    """How many submissions `lockstep grade` examines at once where nobody says."""
    [option] = [option for option in grade.params if option.name == "jobs"]
    jobs = option.get_default(click.Context(grade))
    if jobs is None:
        raise SystemExit("give --jobs: `lockstep grade` does not say what its default is")
    return jobs


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Compare `lockstep grade` with plain `nbgrader autograde`.")
    parser.add_argument("--submissions", type=int, default=30)
    parser.add_argument("--jobs", type=int, help="of `lockstep grade`; else its own default")
    parser.add_argument("--skip-plain", action="store_true", help="only `lockstep grade`")
    options = parser.parse_args()
    handed_in = answers(find_lab(REPOSITORY, LAB), options.submissions)
    jobs = options.jobs or default_jobs()
    with tempfile.TemporaryDirectory(prefix="bench-grading-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        us = ours(scratch, handed_in, options.jobs)
        complain("lockstep grade", us, scratch / "ours.log")
        our_scores = scores(scratch / "course" / "class" / "gradebook.db", handed_in)
        our_notebooks = graded(scratch / "course" / "class" / "autograded")
        them = None if options.skip_plain else plain(scratch, handed_in)
        print_table(us, them, len(handed_in))
        print_overhead(us, our_notebooks, jobs)
        if them is not None:
            complain("nbgrader autograde", them, scratch / "plain.log")
            print_parts(them, graded(scratch / "plain" / "autograded"), len(handed_in))
            print_differences(our_scores, scores(scratch / "plain" / "gradebook.db", handed_in), handed_in)


def complain(name: str, usage: Usage, log: Path) -> None:
    """Say what makes the numbers doubtful."""
    if usage.busy > 0.1:
        print(f"{name}: {usage.busy:.1f} processors were busy before it started: these numbers are noise")
    if usage.code:
        said = "\n  ".join(log.read_text(errors="replace").splitlines()[-10:])
        print(f"{name} exited with {usage.code}:\n  {said}")


def print_table(us: Usage, them: Usage | None, count: int) -> None:
    """What both ways took, and how many times more the plain way took."""
    print(f"{count} submissions of {LAB:31} {'lockstep':>10} {'plain':>10} {'ratio':>7}")
    for name, number in {
        "wall time, s": lambda usage: usage.wall,
        "wall time, s a submission": lambda usage: usage.wall / count,
        "CPU (whole machine), s a submission": lambda usage: usage.cpu / count,
        "peak memory (PSS), MiB": lambda usage: usage.peak / 2**20,
        "processes left behind": lambda usage: usage.left,
    }.items():
        mine, theirs = number(us), number(them) if them else float("nan")
        ratio = f"{theirs / mine:7.2f}" if mine else ""
        print(f"{name:49} {mine:10.1f} {theirs:10.1f} {ratio}")
    if them:
        print(f"throughput: {them.wall / us.wall:.1f} times that of the plain way (goal: at least {GOAL_RATIO})")


def print_overhead(us: Usage, notebooks: list[nbformat.NotebookNode], jobs: int) -> None:
    """What of our workers' time was not probing."""
    seconds = [notebook.metadata.lockstep.get("seconds") for notebook in notebooks]
    if not seconds or None in seconds:
        print("overhead: not known, as the graded notebooks do not say how long their probes ran")
        return
    worked, probing = jobs * us.wall, sum(each["probing"] for each in seconds)
    overhead = (worked - probing) / len(seconds)
    latency = sum(each["total"] for each in seconds) / len(seconds)
    print(f"overhead with {jobs} at once: {overhead:.2f} s a submission (goal: at most {GOAL_OVERHEAD:g} s), ", end="")
    print(f"{1 - probing / worked:.0%} of the workers' time; {latency:.1f} s from taken up to saved, on average")


def print_parts(them: Usage, notebooks: list[nbformat.NotebookNode], count: int) -> None:
    """Where the time of a plain submission went."""
    spent = parts(notebooks)
    spent["the rest (nbgrader, kernel start and end)"] = them.wall / count - sum(spent.values())
    print("plain, s a submission: " + ", ".join(f"{name} {value:.1f}" for name, value in spent.items()))


def print_differences(mine: Scores, theirs: Scores, students: Answers) -> None:
    """How many submissions got the same points for each TODO, and which did not."""
    same = [student for student in students if student in mine and mine[student] == theirs.get(student)]
    print(f"scores of the plain way that equal ours: {len(same)} of {len(students)}")
    for student in sorted(set(students) - set(same)):
        pairs = {todo: (points, theirs.get(student, {}).get(todo)) for todo, points in mine.get(student, {}).items()}
        differing = {todo: pair for todo, pair in pairs.items() if pair[0] != pair[1]}
        print(f"  {student}: " + ", ".join(f"{todo} ours {a}, plain {b}" for todo, (a, b) in differing.items()))


if __name__ == "__main__":
    main()
