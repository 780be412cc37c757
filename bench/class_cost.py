"""What students cost who run a whole lab at once, each in a notebook with a world of its own.

    python bench/class_cost.py 03_pi_allreduce --students 4

Memory and CPU time of the notebooks' own processes are measured as cost.py says, for all of them together, and divided
by their number.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from cost import measured

from autograde.labs.folder import find_lab
from autograde.labs.places import REPOSITORY
from autograde.making.build import build

EXECUTE = f"""
for folder in */; do
    (cd "$folder" && exec "{sys.executable}" -m jupyter nbconvert --to notebook --execute --inplace \
        --ExecutePreprocessor.startup_timeout=300 *.ipynb) &
    waits="$waits $!"
done
for each in $waits; do wait "$each" || status=1; done
exit ${{status:-0}}
"""


def main() -> None:
    """Measure, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lab")
    parser.add_argument("--students", type=int, default=1)
    arguments = parser.parse_args()
    files = build(find_lab(REPOSITORY, arguments.lab)).instructor
    with tempfile.TemporaryDirectory() as folder:
        for student in range(arguments.students):
            for name, file in files.items():
                path = Path(folder, f"student-{student}", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.content)
        log = Path(folder, "log")
        usage = measured(["sh", "-c", EXECUTE], Path(folder), {**os.environ, "PYTHONPATH": str(REPOSITORY)}, log)
        if usage.code:
            sys.exit(log.read_text()[-3000:])
    each = arguments.students
    print(
        f"{arguments.lab}, {each} at once: {usage.wall:.0f} s; of each {usage.peak / each / 2**30:.2f} GiB at most and "
        f"{usage.own / each:.0f} s of processors (others had {usage.busy:.1f} processors before)"
    )


if __name__ == "__main__":
    main()
