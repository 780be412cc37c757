"""The same code gets the same verdict in the notebook and when it is graded, whatever ordinary things it does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_course import ANSWERS, LAB, make_course

from autograde.cells.subject import Subject
from autograde.contract.check import draw_cases, gather, judge
from autograde.labs.folder import LoadedLab, find_lab, load_lab
from autograde.sandbox.examine import Answers, examine
from autograde.sandbox.pool import Sandboxes
from autograde.sandbox.resources.limits import Limits

SEED = 3
ORDINARY = {
    "a loader's workers": """
from torch.utils.data import DataLoader

def double(x):
    batches = DataLoader([x, x], batch_size=1, num_workers=2, persistent_workers=True)
    return int(sum(batch.item() for batch in batches))
""",
    "threads, a subprocess, a temporary file": """
import logging, os, subprocess, sys, tempfile, threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

def double(x):
    logging.warning("begins")
    with open("double.log", "w") as file:
        file.write("begins")
    os.remove("double.log")
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        one, other = threads.submit(abs, x), processes.submit(abs, x)
        assert one.result() == other.result()
    told = subprocess.run([sys.executable, "-c", f"print(2 * {x})"], capture_output=True, text=True).stdout
    with tempfile.NamedTemporaryFile("w+") as file:
        print(told, file=file, flush=True)
        return int(open(file.name).read())
""",
    "a process that is no fork, beside MPI": """
import multiprocessing
from mpi4py import MPI

def twice(x):
    return 2 * x

def double(x):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(twice, (x,)) if MPI.Is_initialized() else None
""",
    "a bar, a plot, prints, magics and tries": """%%time
from __future__ import annotations
import asyncio, sys
import matplotlib.pyplot as plt
%matplotlib inline
!pip install nothing
await asyncio.sleep(0)
print("begins", file=sys.stderr)

def double(x: Unknown):
    from tqdm import tqdm
    for _ in tqdm(range(2)):
        print(".")
    figure, axes = plt.subplots()
    axes.plot([x, x])
    plt.show()
    plt.close(figure)
    display(x)
    return 2 * x

double(3)
world.run(double, 3)
""",
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> LoadedLab:
    """The small lab."""
    return load_lab(find_lab(make_course(tmp_path_factory.mktemp("course")), LAB))


@pytest.fixture(scope="module")
def sandboxes(lab: LoadedLab) -> Iterator[Sandboxes]:
    """With the usual limits."""
    with Sandboxes(lab, Limits()) as made:
        yield made


@pytest.mark.parametrize("what", ORDINARY)
def test_ordinary_things_cost_nothing_here_or_there(lab, sandboxes, world, what):
    check = next(check for check in lab.todo_checks if check.todo == "double")
    cases = draw_cases(check, SEED)
    here = judge(check, cases, gather(check, world, Subject("double", ORDINARY[what]), cases), SEED)
    assert (here.findings, here.score) == ([], 2)
    there, _ = examine(lab, Answers(ANSWERS | {"double": ORDINARY[what]}, frozenset()), SEED, sandboxes).marked
    assert (there.result.findings, there.score) == ([], 2)
    assert there.result.remarks == here.remarks
    assert bool(here.remarks) == ("world.run" in ORDINARY[what]), "what stops below the function is told"
