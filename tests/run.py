"""`./lockstep test`: lints, runs the tests that are chosen, or all, and what failed beside others once more, alone.

    ./lockstep test                          what is run each time: the same tests, on the same seed
    ./lockstep test --all                    everything but tests/fresh, on a fresh seed, which is printed
    ./lockstep test --all --part 2/8         an eighth of it
    ./lockstep test [--all] --lab NAME       of one lab
    ./lockstep test ... --seed N             on this seed
    ./lockstep test tests/world -k deadline  what pytest finds so; other arguments go to pytest, too

It needs the standard library only, apart from ruff and pytest.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = 12 * 60  # seconds on two cores; kept by choosing (see tests/support/chosen.py), not by failing
# Four at a time, on two cores, too: most wait for ranks or servers.
TOGETHER = ("-n", "4", "--dist", "loadscope", "--no-loadscope-reorder", "-m", "not alone")


class Failed(Exception):
    """The tests could not be run, or some failed twice."""


def arguments(given: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """What was asked for, and what goes to pytest. Exits with 2 and one line where it makes no sense."""
    parser = argparse.ArgumentParser("./lockstep test", allow_abbrev=False, description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.error = lambda message: sys.exit(refused(message))
    parser.add_argument("--all", action="store_true", help="everything but tests/fresh, on a fresh seed")
    parser.add_argument("--part", metavar="K/N", type=part, help="of --all: the K-th of N parts")
    parser.add_argument("--lab", metavar="NAME", type=lab, help="of one lab only")
    parser.add_argument("--seed", metavar="N", type=seed, help="what is drawn, is drawn from this number")
    asked, rest = parser.parse_known_args(given)
    if asked.part and not asked.all:
        parser.error("--part is of --all: ./lockstep test --all --part 2/8")
    return asked, rest


def refused(message: str) -> int:
    """Say what makes no sense, in one line; the exit status."""
    print(f"lockstep test: {message}", file=sys.stderr)
    return 2


def part(text: str) -> str:
    """`2/8`, or an error that says what a part is."""
    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    if not numbers or not 1 <= int(numbers[1]) <= int(numbers[2]):
        raise argparse.ArgumentTypeError(f"{text} is no part: K/N is the K-th of N parts, as in 2/8")
    return text


def lab(name: str) -> str:
    """The name of a lab that is there, or an error that names those that are."""
    sys.path.insert(0, str(ROOT))  # what chooses labs needs the standard library only
    from course.lab_choice import ChoiceError, all_labs, named_folders

    try:
        names = [*all_labs(Path(os.environ.get("LOCKSTEP_COURSE") or ROOT), named=named_folders())]
    except ChoiceError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if name not in names:
        raise argparse.ArgumentTypeError(f"no lab {name}; there are {', '.join(names) or 'none'}")
    return name


def seed(text: str) -> int:
    """A whole number from 0 on."""
    if not re.fullmatch(r"\d{1,10}", text):
        raise argparse.ArgumentTypeError(f"{text} is no seed: a seed is a whole number, as in --seed 7")
    return int(text)


def opened() -> list[str]:
    """A command prefix for root, below which other accounts can enter this clone, as some tests need it.

    A closed folder above it, as `mktemp -d` makes one, is replaced by one that has the clone and nothing else; not
    where Python or root's home are in it, too.
    """
    above = [*reversed(ROOT.parents)]
    closed = [folder for folder in above if not folder.stat().st_mode & stat.S_IXOTH]
    if os.geteuid() != 0 or not closed or not shutil.which("bwrap"):
        return []
    if any(Path(kept).resolve().is_relative_to(closed[0]) for kept in (sys.base_prefix, Path.home())):
        return []
    words = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--perms", "0755", "--tmpfs", str(closed[0])]
    for folder in above[above.index(closed[0]) + 1 :]:
        words += ["--perms", "0755", "--dir", str(folder)]
    return [*words, "--bind", str(ROOT), str(ROOT), "--chdir", str(ROOT), "--"]


def pytest(*options: str) -> tuple[int, dict[str, str]]:
    """Run pytest: its exit status, and what failed, with what it said. Raises Failed where it could not run them."""
    with tempfile.TemporaryDirectory() as folder:
        failures = Path(folder) / "failures.json"
        command = [sys.executable, "-m", "pytest", "--durations=20", f"--failures={failures}", *options]
        status = subprocess.run([*opened(), *command], cwd=ROOT).returncode
        if status not in (0, 1, 5):  # 5: there was none to run
            raise Failed(f"pytest ended with {status}")
        return status, json.loads(failures.read_text()) if failures.exists() else {}


def runs(asked: argparse.Namespace, rest: list[str]) -> list[tuple[str, ...]]:
    """The options of each run of pytest."""
    options = [f"--lab={asked.lab}"] * bool(asked.lab)
    if rest:
        return [(*options, *rest)]
    if not asked.all:
        return [(*options, "--chosen", *TOGETHER)]
    options += [f"--part={asked.part}"] * bool(asked.part)
    # What measures, or takes the whole machine, comes last, alone.
    return [(*options, *TOGETHER), (*options, "-m", "alone")]


def alone(failed: Iterable[str]) -> list[str]:
    """The options by which pytest runs what failed, also where that is in labs that are elsewhere."""
    settings = ["-c", "pyproject.toml", "conftest.py"] if any(map(os.path.isabs, failed)) else []
    return [*settings, *failed]


def main(given: list[str]) -> int:
    """Lint and test; the exit status."""
    asked, rest = arguments(given)
    if asked.seed is None and asked.all:
        asked.seed = secrets.randbelow(2**32)
    if asked.seed is not None:
        os.environ["LOCKSTEP_SEED"] = str(asked.seed)
        print(f"lockstep test: the seed is {asked.seed}", flush=True)
    # Ranks, workers and servers share the cores. What the kit is compiled to is kept: thousands of processes import it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # All three, whatever the first ones say.
    linted = [subprocess.run(["ruff", *check], cwd=ROOT).returncode for check in (["check"], ["format", "--check"])]
    began, failed, again = time.monotonic(), {}, {}
    try:
        statuses = []
        for options in runs(asked, rest):
            status, found = pytest(*options)
            statuses.append(status)
            failed |= found
        if all(status == 5 for status in statuses):
            raise Failed("there was no test to run")
        if failed:
            print(f"\nlockstep test: {len(failed)} failed; each is looked at alone now, in a fresh process", flush=True)
            status, again = pytest(*(["--chosen"] if not (asked.all or rest) else []), *alone(failed))
            if status not in (0, 1) or bool(status) != bool(again):
                raise Failed("what failed could not be run once more")
        elif 1 in statuses:
            raise Failed("pytest failed, but named no test")
    except Failed as error:
        return refused(str(error)) and 1
    seconds = time.monotonic() - began
    tell_passed_alone({test: said for test, said in failed.items() if test not in again})
    for test in again:
        print(f"lockstep test: failed, also alone: {test}")
    if any(linted):
        print("lockstep test: ruff found something, see the top")
    print(f"lockstep test: {clock(seconds)} of testing", end="")
    print("" if asked.all or rest else f", {seconds / BUDGET:.0%} of the budget of {clock(BUDGET)} on two cores")
    return int(bool(again) or any(linted))


def tell_passed_alone(said: dict[str, str]) -> None:
    """List what failed beside others only: it fails nothing, but is to be seen."""
    if not said:
        return
    print("\n" + " passed only alone ".center(80, "="))
    for test, words in said.items():
        print(f"{test}\n" + "\n".join(f"    {line}" for line in words.splitlines()[-12:]))
    print("=" * 80)


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
