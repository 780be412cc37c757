"""What holds on this machine with GPUs: a table, also as JSON. Takes less than ten minutes.

    .venv/bin/python tests/gpu [--json gpu.json] [STEP ...]

Each step has a process and a time limit of its own, so that one that crashes or hangs leaves the others their turn. On
a machine without a GPU it does the same on the CPU, and says so. It needs neither a network nor pytest: it is for
machines that `./lockstep setup --wheels` has set up.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 110  # of a table's last column
TOTAL = 570  # seconds, after which no step is started

# Seconds that each may take.
STEPS = {"machine": 60, "world": 90, "notebooks": 300, "checks": 300, "tensors": 180, "grade": 240, "tokens": 120}


def run_step(name: str, seconds: float) -> list[dict]:
    """The rows of one step, run in a process of its own."""
    # The kit is imported from here, and the environment's programs are mpiexec, nbgrader's alembic and Python.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PATH": path,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}",
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, str(Path(__file__).with_name("steps.py")), name]
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        why = f"exit status {process.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        why = f"stopped after {seconds:.0f} s"
    rows = [json.loads(line[4:]) for line in output.splitlines() if line.startswith("row ")]
    if process.returncode:
        said = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("row ")]
        detail = ": ".join([why, *said[-1:]])
        rows.append({"what": name, "result": "FAILED", "detail": detail, "output": output[-6000:]})
    for row in rows:
        row.setdefault("seconds", round(time.monotonic() - began, 1))
    return [{"step": name, **row} for row in rows]


def show(row: dict) -> None:
    """Print one line of the table."""
    detail = " ".join(str(row["detail"]).split())
    print(f"{row['step']:10} {row['what']:24} {row['result']:8} {row['seconds']:6.1f} s  {detail[:WIDTH]}", flush=True)


def main() -> int:
    """Run the steps that are asked for. Returns the exit status: 1 if something failed."""
    parser = argparse.ArgumentParser(
        prog="python tests/gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, default=Path("gpu.json"), help="where to leave the table (%(default)s)")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"among {', '.join(STEPS)}; all if none is named")
    arguments = parser.parse_args()
    if unknown := set(arguments.steps) - set(STEPS):
        parser.error(f"no step {', '.join(sorted(unknown))}; there are {', '.join(STEPS)}")
    began, rows = time.monotonic(), []
    for name, seconds in STEPS.items():
        if arguments.steps and name not in arguments.steps:
            continue
        left = TOTAL - (time.monotonic() - began)
        late = [{"step": name, "what": name, "result": "FAILED", "seconds": 0.0, "detail": "no time left for it"}]
        new = run_step(name, min(seconds, left)) if left > 10 else late
        rows += new
        for row in new:
            show(row)
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")  # after each step: the machine may be taken back
    failed = sum(row["result"] == "FAILED" for row in rows)
    print(f"{len(rows)} rows, {failed} failed, {time.monotonic() - began:.0f} s; also in {arguments.json}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
