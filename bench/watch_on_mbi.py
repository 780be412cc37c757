"""What the watch says of programs that are not ours: those of the MPI Bugs Initiative.

    git clone https://github.com/mquinson/MBI && cd MBI && mkdir gencodes
    cd gencodes && for each in ../scripts/generators/*Generator.py; do PYTHONPATH=../scripts python3 $each; done
    python bench/watch_on_mbi.py MBI/gencodes --sample 134 --right 200 --seed 11

Each C program in the folder is translated to mpi4py and run on a world. Its head says whether it is right, or which
mistake it has, and comments mark the guilty lines. Prints by class of mistake how many programs were tried, how many of
them the world reports (by a difference between ranks, a hang, an error or a rank that died), how many of them by the
name of what is wrong, and how many reports have a guilty line; and on how many right programs it says anything.

--sample draws so many programs with a mistake, as many of each class as there are, up to an even share; --right, so
many right ones. A program that takes an argument gets the one with which its mistake happens. Left out are classes that
the watch does not look for: windows (RMA), attached buffers, races and leaks.
"""

from __future__ import annotations

import argparse
import linecache
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import c_mpi
import c_programs
import cloudpickle
from c_programs import NotTranslated, Translation, translated

from course.world import COMM, World
from course.world.report import Outcome

RIGHT = "right programs"
ORDER, ORDER_WITH_OTHERS = "collectives in another order", "the same, one does not wait"
AGAINST, UNMATCHED, MISSING = "messages against collectives", "messages without partner", "a rank never calls"
EARLY, WAIT, REFUSED = "all send first", "a wait or a start is missing", "arguments that MPI refuses"
OF_ERROR = {
    "BufferingHazard": EARLY,
    "RootMatching": "root differs",
    "OperatorMatching": "operator differs",
    "DatatypeMatching": "datatype differs",
    "CommunicatorMatching": "communicator differs",
    "TagMatching": "tag differs",
    "MissingWait": WAIT,
    "MissingStart": WAIT,
}
LEFT_OUT = ("RMA", "Race", "Concurrency", "Leak", "Epoch", "InvalidBuffer", "InvalidOtherArg")
# What names each mistake: keys of differences, or MPI's own error.
NAMES = {
    ORDER: {"other-order"},
    ORDER_WITH_OTHERS: {"other-order"},
    AGAINST: {"other-order"},
    UNMATCHED: {"never-received", "never-sent"},
    MISSING: {"call-missing"},
    EARLY: {"sends-first"},
    WAIT: {"never-waited", "never-sent"},
    "root differs": {"root-differs"},
    "operator differs": {"operator-differs"},
    "datatype differs": {"dtype-differs"},
    "communicator differs": {"communicator-differs"},
    "tag differs": {"tag-differs"},
    REFUSED: {"refused"},
}
# Four programs whose heads call them right, though both ranks send before they receive: they are not marked either.
BOTH_SEND_FIRST = re.compile(r"P2PCallMatching_I?send_I?recv_I?recv_I?send_ok", re.IGNORECASE)
MESSAGES = re.compile(r"(Isend|Issend|Send|Ssend|Irecv|Recv|Probe)(_init)?")


@dataclass(frozen=True)
class Program:
    """A translated program. kind: class of its mistake, or RIGHT. size: on how many ranks it runs; argument: what it
    is called with."""

    name: str
    kind: str
    size: int
    argument: int
    translation: Translation


def kind_of(name: str, error: str) -> str | None:
    """The class of a program with an error, by its name and by what its head calls the error; None if it is left
    out."""
    if error == "OK":
        return EARLY if BOTH_SEND_FIRST.match(name) else RIGHT
    if any(word in error for word in LEFT_OUT):
        return None
    if error in OF_ERROR:
        return OF_ERROR[error]
    if error.startswith("Invalid"):
        return REFUSED
    calls = [call for call in name.removesuffix("nok.c").rstrip("_").split("_")[1:] if call not in ("none", "init")]
    messages = [bool(MESSAGES.fullmatch(call)) for call in calls]
    if all(messages):
        return UNMATCHED
    if any(messages):
        return AGAINST
    if len(calls) == 1:
        return MISSING
    return ORDER_WITH_OTHERS if any(call.startswith("I") for call in calls) else ORDER


def read(path: Path) -> Program | None:
    """A program of the folder; None if its class is left out. Raises NotTranslated."""
    source = path.read_text()
    tests = re.findall(r"\$ mpirun -np (\d+).*?\$\{EXE\} ?(\d*)\s*\| (?:ERROR: )?(\w+)", source)
    kind = kind_of(path.name, tests[-1][2])
    if kind is None or "Win_" in source:
        return None
    if "MPI_Buffer_attach" in source:
        raise NotTranslated("attached buffers")
    size, argument, _ = tests[-1]
    translation = translated(source)
    if unknown := {*re.findall(r"\bMPI\.(\w+)\(", translation.text)} - vars(c_mpi.functions()["MPI"]).keys():
        raise NotTranslated(f"calls of MPI_{min(unknown)}")
    return Program(path.name, kind, int(size), int(argument or 0), translation)


def run(text: str, comm: object, argument: int) -> None:
    """Runs on each rank: the program, as if it stood in a cell."""
    names = c_mpi.functions() | {"argc": 2}
    exec(compile(text, "<cell 1>", "exec"), names)
    names["program"](comm, argument)


@dataclass(frozen=True)
class Verdict:
    """What a world says of a program."""

    reported: bool
    named: bool
    located: bool
    said: str


def verdict(program: Program, outcome: Outcome) -> Verdict:
    """What the outcome of a run says of a program."""
    keys = {each.key for each in outcome.differences}
    lines = {line for each in outcome.differences for line in each.lines}
    if any(rank.error and "MPI_ERR" in rank.error["message"] for rank in outcome.ranks):
        keys.add("refused")
    if not outcome.differences:
        lines = {rank.line for rank in outcome.ranks if rank.line is not None}
    at = {program.translation.lines[line] for line in lines}
    reported = not outcome.ok or bool(outcome.differences)
    said = f"{outcome.state}: {outcome.detail} {[(each.key, each.text) for each in outcome.differences]}"
    return Verdict(reported, bool(keys & NAMES.get(program.kind, set())), bool(at & program.translation.marked), said)


def drawn(programs: list[Path], wrong: int | None, right: int | None, seed: int) -> tuple[list[Program], Counter]:
    """Programs, and why others were not translated. wrong, right: how many with a mistake, evenly from all classes, and
    how many without; None: all."""
    known, not_translated = defaultdict(list), Counter()
    for path in programs:
        try:
            program = read(path)
        except NotTranslated as error:
            not_translated[" ".join(re.sub(r"line \d+: ", "", str(error)).split())] += 1
            continue
        if program is not None:
            known[program.kind].append(program)
    rng = random.Random(seed)
    for of_kind in known.values():
        rng.shuffle(of_kind)
    chosen = known.pop(RIGHT, [])[:right]
    turns = zip_longest(*(known[kind] for kind in sorted(known)))
    in_turn = [program for turn in turns for program in turn if program is not None]
    return chosen + in_turn[:wrong], not_translated


def table(results: dict[str, list[Verdict]]) -> str:
    """The results by class, and of all but the right programs and those that MPI refuses."""
    lines = [f"{'class':32}{'tried':>7}{'reported':>10}{'named':>8}{'located':>9}"]

    def row(name: str, of: list[Verdict]) -> str:
        reported = [each for each in of if each.reported]
        counts = len(reported), sum(each.named for each in reported), sum(each.located for each in reported)
        return f"{name:32}{len(of):7}{counts[0]:10}{counts[1]:8}{counts[2]:9}"

    for kind in NAMES:
        lines.append(row(kind, results[kind]))
    matchings = [each for kind in NAMES if kind != REFUSED for each in results[kind]]
    lines.append(row("all that is matched wrongly", matchings))
    noise = sum(each.reported for each in results[RIGHT])
    return "\n".join([*lines, f"{RIGHT:32}{len(results[RIGHT]):7}{noise:10}   (noise)"])


def main(report: Callable[[str], None] = print) -> None:
    """Draw, run and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the C programs")
    parser.add_argument("--sample", type=int, metavar="N", help="how many to run that have a mistake (default: all)")
    parser.add_argument("--right", type=int, metavar="N", help="how many to run that are right (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn with (default: 1)")
    parser.add_argument("--show", action="store_true", help="print what is said of each that is not named, or noise")
    given = parser.parse_args()
    programs, not_translated = drawn(sorted(given.folder.glob("*.c")), given.sample, given.right, given.seed)
    if not programs:
        sys.exit(f"{given.folder} has no programs of the MPI Bugs Initiative: see the head of {__file__}")
    for module in (c_mpi, c_programs, sys.modules[__name__]):
        if module.__name__ != "__main__":
            cloudpickle.register_pickle_by_value(module)
    results: dict[str, list[Verdict]] = defaultdict(list)
    with World(max(program.size for program in programs), progress=False) as world:
        for program in programs:
            arguments = (program.translation.text, COMM, program.argument)
            lines = program.translation.text.splitlines(keepends=True)
            linecache.cache["<cell 1>"] = (len(program.translation.text), None, lines, "<cell 1>")
            outcome = world.attempt(run, *arguments, size=program.size)
            result = verdict(program, outcome)
            results[program.kind].append(result)
            if given.show and (result.reported if program.kind == RIGHT else not (result.named and result.located)):
                report(f"{program.name}  {result}")
    report(table(results))
    for why, number in not_translated.most_common():
        report(f"not translated, {number}: {why}")


if __name__ == "__main__":
    main()
