"""The folder in which the grader and its tasks on compute nodes exchange files. Only their account can read it.

    NAME.json        one submission, from the grader. NAME stands for the student, whom a task need not know
    NAME.jsonl       what a task gathered for it: {"of", "seconds"}; then for each TODO one line for each case's
                     evidence and for that of a repeated run, or one for what it lost or why a person must grade it
    tasks-K.json     the tasks of one array, from the grader
    JOB_TASK.log     the output of a task

Files appear complete or not at all. What a task gathered counts only for exactly the submission, seed, code and limits
it was given. It comes from student code, so the grader reads it as it reads what a sandbox sends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from autograde.contract.check import Check, draw_cases
from autograde.labs.folder import LoadedLab, find_lab
from autograde.labs.places import REPOSITORY
from autograde.sandbox.examine import LOST, Answers, Gathered, Unfit, hold_to_schema
from autograde.sandbox.resources.limits import Limits
from autograde.sandbox.untrusted import load_evidence
from course.files import write_whole

MARGIN = 4096  # bytes of a line besides the evidence


class BadResult(Exception):
    """The result that a task left for a submission cannot be used. Says why."""


@dataclass(frozen=True)
class Submission:
    """All that determines what is gathered. sources, blank, again: of `Answers`. code: from `code_of`."""

    lab: str
    sources: dict[str, str]
    blank: list[str]
    again: dict[str, dict]
    seed: int
    code: str
    limits: dict
    sandboxed: bool

    @property
    def answers(self) -> Answers:
        """What is examined."""
        return Answers(self.sources, frozenset(self.blank), self.again)

    def to_bytes(self) -> bytes:
        """As JSON; equal submissions give equal bytes."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def read(cls, path: Path) -> Submission:
        """Read the file at `path`. Raises OSError, ValueError, TypeError."""
        return cls(**json.loads(path.read_bytes()))

    @property
    def digest(self) -> str:
        """Identifies the submission."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


@dataclass(frozen=True)
class Tasks:
    """The tasks of one array.

    root: of the course. jobs: submissions at once in a task; None: as many as its node can take. chunks: the names of
    each task's submissions.
    """

    root: str
    lab: str
    code: str
    limits: dict
    sandboxed: bool
    jobs: int | None
    chunks: list[list[str]]

    @classmethod
    def read(cls, path: Path) -> Tasks:
        """Read the file at `path`."""
        return cls(**json.loads(path.read_bytes()))


@dataclass(frozen=True)
class ArrayFolder:
    """The folder at `path`."""

    path: Path

    def make(self) -> None:
        """Create the folder, closed to others. Raises OSError if that fails, or nothing can be written to it."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)
        tempfile.TemporaryFile(dir=self.path).close()

    def put(self, name: str, submission: Submission, same_seed: bool) -> Submission:
        """Write a submission, unless it is there already. Returns the one that is there now.

        If it is there, the result for it stays too. same_seed: whether one with another seed counts as another
        submission; otherwise it keeps its seed.
        """
        path = self.path / f"{name}.json"
        try:
            earlier = Submission.read(path)
        except (OSError, ValueError, TypeError):
            earlier = None
        if earlier and (earlier if same_seed else replace(earlier, seed=submission.seed)) == submission:
            return earlier
        self.forget(name)
        write_whole(path, submission.to_bytes())
        return submission

    def submission(self, name: str) -> Submission:
        """The submission with this name."""
        return Submission.read(self.path / f"{name}.json")

    def forget(self, name: str) -> None:
        """Delete the result for a submission."""
        self._result(name).unlink(missing_ok=True)

    def finished(self) -> set[str]:
        """Names of the submissions that have a result."""
        with os.scandir(self.path) as entries:
            return {entry.name.removesuffix(".jsonl") for entry in entries if entry.name.endswith(".jsonl")}

    def put_tasks(self, tasks: Tasks) -> Path:
        """Write the tasks of an array to a new file."""
        number = sum(1 for _ in self.path.glob("tasks-*.json"))
        path = self.path / f"tasks-{number}.json"
        write_whole(path, json.dumps(asdict(tasks)).encode())
        return path

    def put_result(self, name: str, digest: str, gathered: list[Gathered], seconds: dict[str, float]) -> None:
        """Write what was gathered for a submission."""
        lines: list[dict] = [{"of": digest, "seconds": seconds}]
        for part in gathered:
            if part.evidence is not None:
                lines += [{"todo": part.todo, "evidence": evidence} for evidence in part.evidence]
                lines += [{"todo": part.todo, "again": part.again}] if part.again is not None else []
            else:
                lines.append({"todo": part.todo} | ({"lost": part.lost} if part.lost else {"reason": part.reason}))
        write_whole(self._result(name), b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def result(self, name: str, submission: Submission, lab: LoadedLab) -> tuple[list[Gathered], dict[str, float]]:
        """What was gathered for this submission, for each check of the lab, in order, and `Examined.seconds`.

        Raises BadResult if the result is malformed or another submission's; OSError.
        """
        checks = lab.todo_checks
        cases = {check.todo: cases_of(check, submission.seed) for check in checks}
        lines = self._lines(name, 1 + sum(len(each) + 1 for each in cases.values()), submission.limits["evidence"])
        match lines[:1]:
            case [
                {"of": digest, "seconds": {"total": int() | float() as total, "probing": int() | float() as probing}}
            ]:
                if digest != submission.digest:
                    raise BadResult("it is for another submission, seed, code or limits")
            case _:
                raise BadResult("its first line is not what it must be")
        by_todo = {check.todo: [line for line in lines[1:] if line.get("todo") == check.todo] for check in checks}
        gathered = [
            checked(check, cases[check.todo], submission.again.get(check.todo), by_todo[check.todo]) for check in checks
        ]
        return gathered, {"total": float(total), "probing": float(probing)}

    def _lines(self, name: str, most: int, longest: int) -> list[dict]:
        """The lines of a result. Raises BadResult if there are too many, or one is too long or no object."""
        found: list[dict] = []
        with open(self._result(name), "rb") as file:
            while line := file.readline(longest + MARGIN):
                if not line.endswith(b"\n") or len(found) > most:
                    raise BadResult("it is too large")
                try:
                    found.append(load_evidence(line))
                except ValueError as error:
                    raise BadResult(f"it cannot be read: {error}") from error
                if not isinstance(found[-1], dict):
                    raise BadResult("it has a line that is no object")
        return found

    def _result(self, name: str) -> Path:
        return self.path / f"{name}.jsonl"


def cases_of(check: Check, seed: int) -> list[dict]:
    """The cases of `check` for `seed`; none if they cannot be drawn, as then there is no evidence either."""
    with contextlib.suppress(Exception):
        return draw_cases(check, seed)
    return []


def checked(check: Check, cases: list[dict], again: dict | None, lines: list[dict]) -> Gathered:
    """What was gathered for a TODO, from the lines on it. again: the case that repeats a run. Raises BadResult."""
    pairs = [(case, line["evidence"]) for case, line in zip(cases, lines, strict=False) if "evidence" in line]
    rest = lines[len(pairs) :]
    match rest:
        case [{"lost": str(key)}] if key in LOST and not pairs:
            return Gathered(check.todo, lost=key)
        case [{"reason": str(reason)}] if not pairs:
            return Gathered(check.todo, reason=reason)
        case [{"again": dict(repeated)}] if pairs and again:
            pairs.append((again, repeated))
        case _:
            if rest or not pairs:
                raise BadResult(f"it has nothing on `{check.todo}` that can be judged")
    try:
        for case, evidence in pairs:
            hold_to_schema(check, case, evidence)
    except Unfit as error:
        raise BadResult(str(error)) from error
    found = [evidence for _, evidence in pairs]
    once_more = found.pop() if rest else None
    return Gathered(check.todo, found, again=once_more, cases=cases)


def name_of(student: str) -> str:
    """A file name for a student, whatever characters the id has."""
    return hashlib.sha256(student.encode()).hexdigest()[:32]


def code_of(root: Path, lab: str) -> str:
    """A digest of our code and the lab's checks, to tell whether two machines have the same. Raises LabError."""
    files = [path for part in ("autograde", "course") for path in sorted((REPOSITORY / part).rglob("*.py"))]
    digest = hashlib.sha256()
    for path in [*files, *sorted(find_lab(root, lab).checks.glob("*.py"))]:
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def plain_limits(limits: Limits) -> dict:
    """Limits as they come back from JSON."""
    return json.loads(json.dumps(limits.plain()))
