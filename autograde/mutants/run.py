"""Grades a lab's mutants, several at once, and goes on where an interrupted run stopped.

`.lockstep/mutants/LAB.jsonl` in the course's folder has a line for each graded mutant, keyed by its text and by
all that its check is made of. A mutant is graded again when one of them has changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from autograde.cells.parsing import parse
from autograde.labs.folder import Lab, read_package
from autograde.mutants.answers import Mutant
from autograde.mutants.equivalent import read_equivalent, reason_of
from autograde.mutants.grading import Outcome, grader
from autograde.sandbox.needed_modules import PACKAGE, imported, modules_needed
from course.lab_archive import BESIDE_STUDENTS

JUDGES = PACKAGE / "rubric"
ROOMS = ("fixtures", "probes")  # of the kit: what probes are made of, beside the lab's own modules
FOLDER = Path(".lockstep", "mutants")


@dataclass(frozen=True)
class Tally:
    """What became of a lab's mutants.

    open: those of devices that keep all points where there is no GPU. pending: not graded yet.
    holes: those that keep all points, or cannot be judged, and are not listed, each with its outcome.
    """

    lab: str
    refused: int
    equivalent: int
    open: int
    pending: int
    holes: list[tuple[Mutant, Outcome]]

    @property
    def total(self) -> int:
        """All mutants."""
        return self.refused + self.equivalent + self.open + self.pending + len(self.holes)


def grade_mutants(
    root: Path,
    lab: Lab,
    mutants: Sequence[Mutant],
    seed: int,
    jobs: int,
    force: bool = False,
    line_of: Callable[[Mutant, Outcome], str | None] = lambda mutant, outcome: None,
) -> None:
    """Grade those that were not graded before, and note the outcomes. force: all of them.

    line_of: what to print of an outcome as soon as it is there; None for nothing. Raises MutantsError if a right
    answer does not pass, LabError, SandboxRefused.
    """
    keys = Keys(lab)
    known = {} if force else read_outcomes(root, lab)
    pending = [mutant for mutant in mutants if keys.of(mutant) not in known]
    if not pending:
        return
    path = root / FOLDER / f"{lab.name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    # One is started ahead: many mutants end theirs, by a deadlock or a rank that dies.
    with grader(lab, seed, jobs, expected=len(pending)) as graders, path.open("a", encoding="utf-8") as file:
        graders.answers_pass(list(dict.fromkeys(mutant.answer for mutant in pending)))
        if file.tell() and not path.read_bytes().endswith(b"\n"):  # an interrupted run left a line unfinished
            file.write("\n")
        with tqdm(total=len(pending), desc=lab.name, unit="mutant") as bar:
            for mutant, outcome in graders.grade(pending):
                file.write(json.dumps({"key": keys.of(mutant), **asdict(outcome)}) + "\n")
                file.flush()
                bar.update()
                if line := line_of(mutant, outcome):
                    bar.write(line)


def read_outcomes(root: Path, lab: Lab) -> dict[str, Outcome]:
    """The outcomes noted so far, by key. A line that an interrupted run left unfinished is skipped."""
    found = {}
    path = root / FOLDER / f"{lab.name}.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            values = json.loads(line)
            key = values.pop("key")
            found[key] = Outcome(**values)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    return found


def tally(root: Path, lab: Lab, mutants: Sequence[Mutant]) -> Tally:
    """Count the outcomes of these mutants. Raises LabError if what is listed cannot be read."""
    keys, known, reasons = Keys(lab), read_outcomes(root, lab), read_equivalent(lab)
    refused = equivalent = pending = on_device = 0
    holes = []
    for mutant in mutants:
        outcome = known.get(keys.of(mutant))
        if outcome is None:
            pending += 1
        elif outcome.refused:
            refused += 1
        elif outcome.unjudged is None and reason_of(mutant, reasons):
            equivalent += 1
        elif mutant.on_device:
            on_device += 1
        else:
            holes.append((mutant, outcome))
    return Tally(lab.name, refused, equivalent, on_device, pending, holes)


class Keys:
    """The keys of a lab's mutants."""

    def __init__(self, lab: Lab) -> None:
        self.texts = read_package(lab.checks)
        folders = (lab.folder / name for name in BESIDE_STUDENTS)
        self.beside = [read_package(folder) for folder in folders if folder.is_dir()]
        self._of_checks: dict[str, str] = {}

    def of(self, mutant: Mutant) -> str:
        """Of one mutant: changes with its text, with its check, with JUDGES, with probes, and with what ROOMS give."""
        todo = mutant.answer.todo
        if todo not in self._of_checks:
            self._of_checks[todo] = self._digest(todo)
        return hashlib.sha256(f"{todo} {mutant.source} {self._of_checks[todo]}".encode()).hexdigest()[:32]

    def _digest(self, todo: str) -> str:
        waiting, own = ["__init__", todo], {}
        while waiting:
            name = waiting.pop()
            if f"{name}.py" in self.texts and name not in own:
                own[name] = self.texts[f"{name}.py"]
                waiting += [module.rpartition(".")[2] for module in imported(parse(own[name]), "checks")]
        needed = modules_needed([*own.values(), *(text for texts in self.beside for text in texts.values())])
        paths = [*sorted(JUDGES.rglob("*.py")), *(path for path in needed if path.parent.name in ROOMS)]
        files = [path.read_bytes() for path in paths]
        return hashlib.sha256(repr((sorted(own.items()), self.beside, files)).encode()).hexdigest()
