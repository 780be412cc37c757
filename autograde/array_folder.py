"""Where the writer of a grading and its tasks on compute nodes meet: a folder that both see, and only their account.

    NAME.json        one submission, by the writer. NAME stands for the student, whom a task need not know
    NAME.jsonl       what was gathered for it, by a task: {"of", "seconds"}, then for each TODO a line for each case's
                     evidence and for a repeated run's, or for what it lost, or for why a person has to grade it
    tasks-K.json     the tasks of one array, by the writer
    JOB_TASK.log     what a task said

Files come whole or not at all. What a task gathered counts only for the very submission, seed, code and limits that it
was gathered for. It carries what student code said, so the writer reads it as the grader reads a sandbox.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from autograde.check import Check, draw_cases
from autograde.evidence import LOST, Gathered
from autograde.labs import Lab, find_lab, load_checks
from autograde.limits import Limits
from autograde.schema import load_evidence, problem
from course.whole import write_whole

REPOSITORY = Path(__file__).resolve().parents[1]
MARGIN = 4096  # bytes that a line has besides evidence


class BadResult(Exception):
    """What a task left for a submission cannot be read. Says why."""


@dataclass(frozen=True)
class Submission:
    """All that decides what is gathered. sources: by TODO. blank: TODOs left as released. again: as for
    `evidence.gather`. code: of `code_of`."""

    lab: str
    sources: dict[str, str]
    blank: list[str]
    again: dict[str, dict]
    seed: int
    code: str
    limits: dict
    sandboxed: bool

    def to_bytes(self) -> bytes:
        """As JSON, always the same."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def read(cls, path: Path) -> Submission:
        """From the file at `path`. Raises OSError, ValueError, TypeError."""
        return cls(**json.loads(path.read_bytes()))

    @property
    def digest(self) -> str:
        """Tells it from all others."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


@dataclass(frozen=True)
class Tasks:
    """The tasks of one array. root: of the course. jobs: at once in a task; None: as many as its node carries.

    chunks: the names of each task's submissions.
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
        """From the file at `path`."""
        return cls(**json.loads(path.read_bytes()))


@dataclass(frozen=True)
class ArrayFolder:
    """The folder at `path`."""

    path: Path

    def make(self) -> None:
        """Make it, for nobody else. Raises OSError where that cannot be, or nothing can be written to it."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)
        tempfile.TemporaryFile(dir=self.path).close()

    def put(self, name: str, submission: Submission, same_seed: bool) -> Submission:
        """Write a submission, and return it as it now is there.

        One that is there already and the same stays, and so does what was gathered for it. It counts as the same with
        another seed, and keeps that, unless `same_seed`.
        """
        path = self.path / f"{name}.json"
        try:
            there = Submission.read(path)
        except (OSError, ValueError, TypeError):
            there = None
        if there and (there if same_seed else replace(there, seed=submission.seed)) == submission:
            return there
        self.forget(name)
        write_whole(path, submission.to_bytes())
        return submission

    def submission(self, name: str) -> Submission:
        """The submission of this name."""
        return Submission.read(self.path / f"{name}.json")

    def forget(self, name: str) -> None:
        """Delete what was gathered."""
        self._result(name).unlink(missing_ok=True)

    def finished(self) -> set[str]:
        """Names of the submissions for which something was gathered."""
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
        for one in gathered:
            if one.evidence is not None:
                lines += [{"todo": one.todo, "evidence": evidence} for evidence in one.evidence]
                lines += [{"todo": one.todo, "again": one.again}] if one.again is not None else []
            else:
                lines.append({"todo": one.todo} | ({"lost": one.lost} if one.lost else {"reason": one.reason}))
        write_whole(self._result(name), b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def result(self, name: str, submission: Submission, lab: Lab) -> tuple[list[Gathered], dict[str, float]]:
        """What was gathered for this submission, for each check of the lab, in order, and the seconds that took.

        Raises BadResult if it is not of the form that it must have, or is another submission's; OSError.
        """
        checks = load_checks(lab.checks)
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
            believable(check, cases[check.todo], submission.again.get(check.todo), by_todo[check.todo])
            for check in checks
        ]
        return gathered, {"total": float(total), "probing": float(probing)}

    def _lines(self, name: str, most: int, longest: int) -> list[dict]:
        """The lines of a result, not more and not longer than they may be."""
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
    """The cases of `check` for `seed`; none where they cannot be drawn: then there is no evidence either."""
    with contextlib.suppress(Exception):
        return draw_cases(check, seed)
    return []


def believable(check: Check, cases: list[dict], again: dict | None, lines: list[dict]) -> Gathered:
    """What these lines say was gathered for a TODO. again: the case that repeats a run. Raises BadResult."""
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
    if wrong := next(filter(None, (problem(check.schema(case), one) for case, one in pairs)), None):
        raise BadResult(f"the evidence for `{check.todo}` is not of its form: {wrong}")
    evidence = [one for _, one in pairs]
    return Gathered(check.todo, evidence[:-1], again=evidence[-1]) if rest else Gathered(check.todo, evidence)


def name_of(student: str) -> str:
    """What stands for a student, of whatever characters the id is made."""
    return hashlib.sha256(student.encode()).hexdigest()[:32]


def code_of(root: Path, lab: str) -> str:
    """Tells whether two machines have the same code: ours, and the lab's checks. Raises LabError."""
    files = [path for part in ("autograde", "course") for path in sorted((REPOSITORY / part).rglob("*.py"))]
    digest = hashlib.sha256()
    for path in [*files, find_lab(root, lab).checks]:
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def plain_limits(limits: Limits) -> dict:
    """Limits as they come back from JSON."""
    return json.loads(json.dumps(limits.plain()))
