"""The steps of `python tests/gpu`. Each prints its rows as it gets them."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import nbformat
import torch
from nbclient import NotebookClient
from recorded_world import RecordedWorld
from tokens import tokens_per_second
from torch_names import used_and_missing

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.labs.folder import Lab, find_labs, load_checks, load_ranks
from autograde.making.build import instructor_notebook
from autograde.making.solved import write_solved
from autograde.sandbox.bubblewrap import SandboxRefused, environment, in_both
from autograde.sandbox.resources.limits import Limits
from course.processes.launchers.mpi import devices
from course.world import RANK, SIZE, World

ROOT = Path(__file__).resolve().parents[2]
GPUS = torch.cuda.device_count()
FIT = max(1, GPUS)  # ranks: one for each GPU
PASSED = re.compile(r"^(\w+): passed, ", re.MULTILINE)


def row(what: str, good: bool | None, detail: object, began: float) -> None:
    """Tell the process that waits. good: None if it was left out."""
    result = {True: "passed", False: "FAILED", None: "left out"}[good]
    seconds = round(time.monotonic() - began, 1)
    print("row " + json.dumps({"what": what, "result": result, "detail": str(detail), "seconds": seconds}), flush=True)


def has_horovod() -> bool:
    """Whether Horovod was built here."""
    return subprocess.run([sys.executable, "-c", "import horovod.torch"], capture_output=True).returncode == 0


def labs() -> list[Lab]:
    """Those that can run here: where Horovod was left out, not those that use it."""
    found = find_labs(ROOT)
    return found if has_horovod() else [lab for lab in found if "import horovod" not in lab.source.read_text()]


def machine() -> None:
    """What there is."""
    began = time.monotonic()
    row("Python", True, sys.version.split()[0], began)
    row("torch", True, f"{torch.__version__}, CUDA {torch.version.cuda}", began)
    used, lacking = used_and_missing()
    row("names of torch", not lacking, f"{len(used)} used, missing: {', '.join(lacking) or 'none'}", began)
    names = [torch.cuda.get_device_name(n) for n in range(GPUS)]
    row("GPUs", True if GPUS else None, ", ".join(names) or "none; all below is on the CPU", began)
    if has_horovod():
        asked = "import horovod.torch as hvd; print(bool(hvd.nccl_built()), hvd.gloo_built(), hvd.mpi_built())"
        said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True).stdout.split()
        row("Horovod", True, "NCCL {}, gloo {}, MPI {}".format(*said), began)
    else:
        row("Horovod", None, "not installed, so the labs that use it are left out", began)


def all_reduce(rank: int, size: int) -> tuple[str, str, float]:
    """On each rank: backend, device, and the sum of all ranks' numbers from 1."""
    import torch.distributed as dist

    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    number = torch.full((1 << 20,), rank + 1.0, device=device)
    dist.all_reduce(number)
    return dist.get_backend(), str(number.device), number.mean().item()


def horovod_all_reduce(rank: int, size: int) -> tuple[str, float]:
    """On each rank: device, and the sum of all ranks' numbers from 1, by Horovod."""
    import horovod.torch as hvd

    device = f"cuda:{hvd.local_rank()}" if torch.cuda.device_count() >= hvd.local_size() else "cpu"
    number = hvd.allreduce(torch.full((1000,), rank + 1.0, device=device), op=hvd.Sum)
    return str(number.device), number.mean().item()


def world() -> None:
    """One rank for each GPU."""
    began = time.monotonic()
    with World(FIT, progress=False) as ranks:
        results = ranks.run(all_reduce, RANK, SIZE, init="torch", deadline=60)
        backend = "nccl" if GPUS else "gloo"
        places = [f"cuda:{rank}" if GPUS else "cpu" for rank in range(FIT)]
        expected = [(backend, place, FIT * (FIT + 1) / 2) for place in places]
        row("torch all_reduce", results == expected, f"{devices(FIT)}: {results}", began)
        if has_horovod():
            began = time.monotonic()
            results = ranks.run(horovod_all_reduce, RANK, SIZE, init="horovod", deadline=60)
            good = results == [(place, FIT * (FIT + 1) / 2) for place in places]
            row("Horovod allreduce", good, results, began)


def notebooks() -> None:
    """The solved notebook of each lab, from top to bottom in a kernel."""
    for lab in labs():
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            write_solved(lab, Path(folder))
            notebook = nbformat.read(Path(folder) / lab.notebook, as_version=4)
            place = {"metadata": {"path": folder}}
            try:
                NotebookClient(notebook, timeout=90, kernel_name="python3", resources=place).execute()
            except Exception as error:
                row(lab.name, False, f"{type(error).__name__}: {str(error)[-800:]}", began)
                continue
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        shown = "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs)
        todos = {check.todo for check in load_checks(lab.checks)}
        missing = todos - set(PASSED.findall(shown))
        said = f"{len(todos) - len(missing)} of {len(todos)} checks passed"
        row(lab.name, not missing, said + (f"; not {', '.join(sorted(missing))}" if missing else ""), began)


def solutions(lab: Lab) -> dict[str, str]:
    """The source of each of the lab's cells, with answers, by id."""
    return {cell.id: cell.source for cell in instructor_notebook(lab).cells}


def checks() -> None:
    """All checks, on as many ranks as the lab has: runs on no more ranks than there are GPUs get GPUs and NCCL."""
    for lab in labs():
        sources, seed = solutions(lab), random.randrange(2**31)
        with World(load_ranks(lab.checks), progress=False) as ranks:
            for check in load_checks(lab.checks):
                began = time.monotonic()
                try:
                    result = contract.run(check, ranks, Subject(check.todo, sources[check.todo]), seed)
                except Exception as error:
                    row(check.todo, False, f"{lab.name}, seed {seed}: {type(error).__name__}: {error}", began)
                    continue
                found = "; ".join(f"{finding.key}: {finding.message}" for finding in result.findings)
                said = f"{result.score:g} of {result.points:g} points"
                row(check.todo, result.passed, f"{lab.name}, {said}" + (f", seed {seed}: {found}" * bool(found)), began)


def tensors() -> None:
    """Devices and dtypes of all tensors that the labs' solutions compute on ranks while they are checked."""
    for lab in labs():
        began, sources = time.monotonic(), solutions(lab)
        with tempfile.TemporaryDirectory() as folder:
            with RecordedWorld(load_ranks(lab.checks), Path(folder), GPUS) as ranks:
                for check in load_checks(lab.checks):
                    cases = contract.draw_cases(check, 1)
                    contract.gather(check, ranks, Subject(check.todo, sources[check.todo]), cases)
            seen: Counter = Counter()
            for file in Path(folder).iterdir():
                seen.update(json.loads(file.read_text()))
        doubtful = [kind for kind in seen if GPUS and kind.startswith("NCCL") and "cpu" in kind]
        said = ", ".join(f"{kind} {count}" for kind, count in seen.most_common()) or "no tensors"
        row(lab.name, True, said + (f"; on the CPU in runs with NCCL: {len(doubtful)} kinds" * bool(doubtful)), began)


def grade() -> None:
    """What student code sees in the sandbox, and `./lockstep grade` of a class of two."""
    began = time.monotonic()
    asked = "import torch; n = torch.cuda.device_count(); device = 'cuda' if n else 'cpu'; "
    asked += "print(n, torch.ones(2, device=device).sum().item())"
    try:
        command = [*in_both({}, Limits()), sys.executable, "-c", asked]
        told = subprocess.run(command, capture_output=True, text=True, env=environment(), cwd="/")
    except SandboxRefused as refused:
        row("sandbox", None, str(refused), began)
        return
    good = told.stdout.split() == [str(GPUS), "2.0"]
    row("GPUs in the sandbox", good, told.stdout.strip() or told.stderr.strip()[-300:], began)
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "kit"
        names = ("class", ".venv", ".lockstep", ".git", "__pycache__")
        shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(*names))
        for lab in labs():
            began = time.monotonic()
            write_solved(lab, clone / "class" / "submitted" / "ada" / lab.name)
            shutil.copytree(ROOT / "labs" / lab.name, clone / "class" / "submitted" / "bob" / lab.name)
            command = [sys.executable, "-m", "autograde", "grade", lab.name, "--no-collect"]
            path = {"PYTHONPATH": str(clone)}
            told = subprocess.run(command, cwd=clone, capture_output=True, text=True, env=os.environ | path)
            sheet = clone / "class" / lab.name / "grades.csv"
            if told.returncode or not sheet.exists():
                row(lab.name, False, (told.stdout + told.stderr)[-800:], began)
                continue
            with sheet.open(newline="") as file:
                scores = {each["student"]: float(each["score"]) for each in csv.DictReader(file)}
            points = sum(check.points for check in load_checks(lab.checks))
            good = scores["ada"] > 0 and scores["bob"] == 0
            row(lab.name, good, f"solved: {scores['ada']:g} (checks give {points:g}), blank: {scores['bob']:g}", began)


def tokens() -> None:
    """Lab 10's tokens a second, on one GPU beside the CPU."""
    speeds = {}
    for device in (["cuda"] if GPUS else []) + ["cpu"]:
        for width in (128, 512):
            began = time.monotonic()
            speeds[device, width] = speed = tokens_per_second(width, device)
            beside = f", {speeds['cuda', width] / speed:.1f} times fewer than on the GPU" if len(speeds) > 2 else ""
            row(f"{device}, d_model {width}", True, f"{speed:,.0f} tokens of real text a second{beside}", began)


if __name__ == "__main__":
    {step.__name__: step for step in (machine, world, notebooks, checks, tensors, grade, tokens)}[sys.argv[1]]()
