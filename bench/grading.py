"""What grading a class costs: `lockstep grade` and plain `nbgrader autograde`, in one run on the same submissions.

    python bench/grading.py [--submissions 30] [--jobs N] [--skip-plain] [--lab 03_pi_allreduce]

The class hands in a lab: some TODOs are right, some wrong, and two submissions deadlock. Run it on an idle machine.
The plain way takes half a minute per submission, and minutes for one that hangs. It is there for lab 03 alone, so name
another lab with `--skip-plain`.

Plain means nbgrader as it comes: one submission after another, each executed as a notebook with its own ipyparallel
cluster (see `plain_world.py`). It gets the same checks and cases, including hidden ones, the environment of our ranks,
and the time that it needs: nbgrader's own 30 s for a cell would end it early. Making the courses is not measured.
`lockstep grade` also writes feedback, which plain nbgrader leaves to another command.

Both have to give the same scores: a ratio to other work says nothing, so there is none then. If they do not, or one of
them fails, the exit status is 1.

`cost.py` says how memory and CPU are measured.

    overhead = (jobs x wall - sum of probing) / submissions, in seconds

It counts each worker from start to end, including the start of the grader, of sandboxes and of ranks, verdicts,
gradebook, feedback, and idle workers at the end. Probing is the time from sending a probe until its evidence is back.
That includes the start of torch's or Horovod's group, new ranks after a hang, and time lost to other probes on the same
processors. With `--jobs 1` there are no other probes: trust that number.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import nbformat
from cost import Usage, measured
from nbgrader.api import Gradebook, MissingEntry

from autograde.classroom.class_grading import default_jobs
from autograde.labs.folder import Lab, find_lab, load_checks, load_variants
from autograde.making.build import build
from autograde.making.solved import write_solved
from autograde.sandbox.resources.limits import Limits
from course.processes.launchers.mpi import mpi_environment, mpiexec

REPOSITORY = Path(__file__).resolve().parents[1]
LAB = "03_pi_allreduce"
SEED = 2025
RANKS = 4
WRONG_SHARE = 0.4  # of the TODOs
# Mistakes that make ranks wait for each other. Two submissions make the first, and nobody another one.
HANG = ("call-missing", "name-differs", "world-not-comm")
# What the plain way changes in the lab: it uses plain ranks, and the cases of our seed.
PLAIN = {
    "from course.world import COMM, World": "from plain_world import COMM, PlainWorld as World",
    "Checker(world)": f"Checker(world, seed={SEED})",
}
GOAL_RATIO, GOAL_OVERHEAD = 8, 2.0
PATIENCE = 900  # seconds that the plain way has for a cell

Answers = dict[str, dict[str, str]]  # student -> TODO -> source
Scores = dict[str, dict[str, float | None]]  # student -> TODO -> points


def answers(lab: Lab, count: int) -> Answers:
    """`count` submissions of `lab`, the same each time; if there are at least three, two of them hang where the lab's
    variants have a call that some ranks miss."""
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
    hanging = [(todo, each.source) for todo in todos for each in wrong[todo].values() if each.finding == HANG[0]]
    for third, (todo, source) in enumerate([*hanging[:1], *hanging[1:][-1:]] if count > 2 else [], 1):
        made[f"student-{third * count // 3:03}"][todo] = source
    return made


def hand_in(folder: Path, lab: Lab, released: bytes, handed_in: Answers) -> None:
    """Write each student's notebook into `folder`, a `submitted` folder."""
    for student, sources in handed_in.items():
        notebook = nbformat.reads(released.decode(), as_version=4)
        for cell in notebook.cells:
            cell.source = sources.get(cell.id, cell.source)
        (folder / student / lab.name).mkdir(parents=True)
        nbformat.write(notebook, folder / student / lab.name / lab.notebook)


def environment(scratch: Path) -> dict[str, str]:
    """The environment of both ways, with configuration, temporary files and IPython's profile in `scratch`."""
    for name in ("config", "tmp"):
        (scratch / name).mkdir(exist_ok=True)
    folders = [str(Path(sys.executable).parent), str(Path(mpiexec()).parent), os.environ["PATH"]]
    return {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(scratch / "config"),
        "JUPYTER_DATA_DIR": str(scratch / "config"),
        "IPYTHONDIR": str(scratch / "config"),
        "TMPDIR": str(scratch / "tmp"),
        "PATH": os.pathsep.join(folders),
    }


def ours(scratch: Path, name: str, handed_in: Answers, jobs: int) -> Usage:
    """Grade with `lockstep grade` in a copy of the course at `scratch`/course. name: of the lab."""
    root = scratch / "course"
    shutil.copytree(REPOSITORY / "solutions" / name, root / "solutions" / name)
    lab = find_lab(root, name)
    hand_in(root / "class" / "submitted", lab, build(lab).student[lab.notebook].content, handed_in)
    command = [sys.executable, "-m", "autograde", "grade", name, "--no-collect", f"--seed={SEED}", f"--jobs={jobs}"]
    env = environment(scratch) | {"LOCKSTEP_COURSE": str(root)}
    return measured(command, REPOSITORY, env, scratch / "ours.log")


def plain(scratch: Path, handed_in: Answers) -> Usage:
    """Grade with stock `nbgrader autograde` in the course folder `scratch`/plain."""
    root = scratch / "plain"
    shutil.copytree(REPOSITORY / "solutions" / LAB, root / "solutions" / LAB)
    lab = find_lab(root, LAB)
    text = lab.source.read_text(encoding="utf-8")
    for our_code, plain_code in PLAIN.items():
        if our_code not in text:
            raise SystemExit(f"{LAB}/lab.py has no {our_code!r}, which the plain way replaces")
        text = text.replace(our_code, plain_code)
    lab.source.write_text(text, encoding="utf-8")
    write_solved(lab, root / "source" / LAB)
    env = environment(scratch) | mpi_environment(RANKS)
    env["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), str(Path(__file__).parent)])
    nbgrader = [sys.executable, "-m", "nbgrader"]
    subprocess.run([*nbgrader, "generate_assignment", LAB], cwd=root, env=env, check=True, capture_output=True)
    hand_in(root / "submitted", lab, build(lab).student[lab.notebook].content, handed_in)
    patience = [f"--Execute.timeout={PATIENCE}", f"--Execute.startup_timeout={PATIENCE}"]
    return measured([*nbgrader, "autograde", LAB, *patience], root, env, scratch / "plain.log")


def scores(database: Path, name: str, students: Answers) -> Scores:
    """Points in the gradebook, without students whose submissions are missing there."""
    found: Scores = {}
    with Gradebook(f"sqlite:///{database}") as gradebook:
        for student in students:
            with suppress(MissingEntry):
                notebook = gradebook.find_submission_notebook(name, name, student)
                found[student] = {grade.name.removesuffix("-check"): grade.auto_score for grade in notebook.grades}
    return found


def graded(folder: Path) -> list[nbformat.NotebookNode]:
    """The notebooks in an `autograded` folder."""
    return [nbformat.read(path, as_version=4) for path in sorted(folder.glob("*/*/*.ipynb"))]


def parts(notebooks: list[nbformat.NotebookNode]) -> dict[str, float]:
    """Mean seconds per notebook that executed cells took, by their purpose."""
    spent = dict.fromkeys(("cluster", "checks", "other cells"), 0.0)
    for notebook in notebooks:
        for cell in notebook.cells:
            times = sorted(map(datetime.fromisoformat, cell.metadata.get("execution", {}).values()))
            kind = "checks" if cell.id.endswith("-check") else "cluster" if "World(" in cell.source else "other cells"
            spent[kind] += sum((after - before).total_seconds() for before, after in pairwise(times))
    return {kind: seconds / max(1, len(notebooks)) for kind, seconds in spent.items()}


def main() -> int:
    """Measure and print. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Compare `lockstep grade` with plain `nbgrader autograde`.")
    parser.add_argument("--submissions", type=int, default=30)
    parser.add_argument("--jobs", type=int, help="of `lockstep grade`; else its own default")
    parser.add_argument("--skip-plain", action="store_true", help="only `lockstep grade`")
    parser.add_argument("--lab", default=LAB, help="whose submissions are graded")
    options = parser.parse_args()
    if options.lab != LAB and not options.skip_plain:
        parser.error(f"the plain way is there for {LAB} alone: add --skip-plain")
    handed_in = answers(find_lab(REPOSITORY, options.lab), options.submissions)
    jobs = options.jobs or default_jobs(Limits())
    with tempfile.TemporaryDirectory(prefix="bench-grading-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        us = ours(scratch, options.lab, handed_in, jobs)
        complain("lockstep grade", us, scratch / "ours.log")
        our_scores = scores(scratch / "course" / "class" / "gradebook.db", options.lab, handed_in)
        our_notebooks = graded(scratch / "course" / "class" / "autograded")
        unknown = sum(None in our_scores.get(student, {"": None}).values() for student in handed_in)
        if unknown:
            print(f"lockstep grade could not grade {unknown} submissions: these numbers are not what they should be")
        failed = bool(us.code or unknown)
        them = None if options.skip_plain else plain(scratch, handed_in)
        print_table(options.lab, us, them, len(handed_in))
        print_overhead(us, our_notebooks, jobs)
        if them is not None:
            complain("nbgrader autograde", them, scratch / "plain.log")
            print_parts(them, graded(scratch / "plain" / "autograded"), len(handed_in))
            their_scores = scores(scratch / "plain" / "gradebook.db", LAB, handed_in)
            print_differences(our_scores, their_scores, handed_in)
            if our_scores == their_scores:
                ratio = them.wall / us.wall
                print(f"throughput: {ratio:.1f} times that of the plain way (goal: at least {GOAL_RATIO})")
            failed = failed or bool(them.code) or our_scores != their_scores
        return int(failed)


def complain(name: str, usage: Usage, log: Path) -> None:
    """Say what makes the numbers doubtful."""
    if usage.busy > 0.1:
        print(f"{name}: {usage.busy:.1f} processors were busy before it started: these numbers are noise")
    if usage.code:
        output = "\n  ".join(log.read_text(errors="replace").splitlines()[-10:])
        print(f"{name} exited with {usage.code}:\n  {output}")


def print_table(lab: str, us: Usage, them: Usage | None, count: int) -> None:
    """Print what both ways took, and their ratio."""
    print(f"{count} submissions of {lab:31} {'lockstep':>10} {'plain':>10} {'ratio':>7}")
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


def print_overhead(us: Usage, notebooks: list[nbformat.NotebookNode], jobs: int) -> None:
    """Print how much of our workers' time was not probing."""
    worked = jobs * us.wall
    probing = (notebook.metadata.lockstep.get("seconds", {}).get("probing", 0.0) for notebook in notebooks)
    overhead = worked - sum(probing)
    mean = overhead / max(1, len(notebooks))
    print(f"overhead, {jobs} at once: {mean:.2f} s a submission (goal: at most {GOAL_OVERHEAD})", end="")
    print(f", {overhead / worked:.0%} of the workers' time")


def print_parts(them: Usage, notebooks: list[nbformat.NotebookNode], count: int) -> None:
    """Print where the time of a plain submission went."""
    spent = parts(notebooks)
    spent["the rest (nbgrader, kernel start and end)"] = them.wall / count - sum(spent.values())
    print("plain, s a submission: " + ", ".join(f"{name} {value:.1f}" for name, value in spent.items()))
    cells = [cell for notebook in notebooks for cell in notebook.cells if "World(" in cell.source]
    late = sum(any(output.output_type == "error" for output in cell.get("outputs", [])) for cell in cells)
    print(f"plain notebooks without a cluster, as it took longer than {PATIENCE} s, or failed: {late}")


def print_differences(mine: Scores, theirs: Scores, students: Answers) -> None:
    """Print how many submissions got the same points for each TODO both ways, and which did not."""
    same = [student for student in students if student in mine and mine[student] == theirs.get(student)]
    print(f"scores of the plain way that equal ours: {len(same)} of {len(students)}")
    for student in sorted(set(students) - set(same)):
        pairs = {todo: (points, theirs.get(student, {}).get(todo)) for todo, points in mine.get(student, {}).items()}
        differing = {todo: pair for todo, pair in pairs.items() if pair[0] != pair[1]}
        print(f"  {student}: " + ", ".join(f"{todo} ours {a}, plain {b}" for todo, (a, b) in differing.items()))


if __name__ == "__main__":
    sys.exit(main())
