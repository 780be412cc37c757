"""Evidence on one submission, gathered by an untrusted process, and the verdicts on it.

The trusted side draws the cases and judges; `autograde.prober` runs the student's code between the two, in a session
and a folder of its own. Only lines of JSON come back, through one file descriptor.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograde.build import without_hidden_cases
from autograde.check import Check, Finding, Result, draw_cases, judge
from autograde.labs import Lab, load_checks

TIME_LIMIT = 300.0  # seconds for all probes of a submission, the start of its world included
ATTEMPTS = 2  # how often it is tried where our own side fails
LAST_BREATH = 5.0  # seconds that a prober may take to exit after its last message
MAX_MESSAGES = 64 * 2**20  # bytes that a prober may send

# What a prober gets of our environment: what finding and starting Python, MPI and GPUs takes, and nothing secret.
PASSED_ON = ("CONDA_PREFIX", "LANG", "LD_LIBRARY_PATH", "PATH", "TZ", "VIRTUAL_ENV")
PASSED_ON_FROM = (
    "CUDA_",
    "GLOO_",
    "HOROVOD_",
    "LC_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "OMPI_",
    "OPAL_",
    "PRTE_",
)


class Cancelled(Exception):
    """The grading was stopped by the person who started it."""


@dataclass(frozen=True)
class Marked:
    """What a TODO of a submission gets: a result, or the reason why a person has to grade it."""

    todo: str
    points: float
    result: Result | None
    reason: str | None = None

    @property
    def score(self) -> float | None:
        """Points, or None where they are not known."""
        return self.result.score if self.result else None

    def plain(self) -> dict:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict) -> Marked:
        """The inverse of `plain`."""
        return cls(**{**data, "result": Result.from_plain(data["result"]) if data["result"] else None})


@dataclass(frozen=True)
class Answer:
    """What came back for one TODO: evidence; or `late`, if its probe still ran when time was up; or a failure."""

    evidence: list | None = None
    late: bool = False
    failure: str | None = None


def examine(
    lab: Lab,
    sources: dict[str, str],
    blank: frozenset[str] | set[str],
    seed: int,
    time_limit: float = TIME_LIMIT,
    cancel: threading.Event | None = None,
) -> list[Marked]:
    """Grade one submission: cases here, probes apart, verdicts here. One Marked per check of the lab, in order.

    sources: source text of each TODO's cell. blank: TODOs that were left as released; they are not run. time_limit: for
    all probes together, in seconds. Raises LabError if the lab's checks do not load, Cancelled if `cancel` is set.
    """
    checks = load_checks(lab.checks)
    cases = {check.todo: draw_cases(check, seed) for check in checks}
    job = [{"todo": c.todo, "source": sources[c.todo], "cases": cases[c.todo]} for c in checks if c.todo not in blank]
    answers = gather(lab, job, time_limit, cancel or threading.Event())
    return [marked(check, cases[check.todo], answers.get(check.todo), seed, time_limit) for check in checks]


def marked(check: Check, cases: list[dict], answer: Answer | None, seed: int, time_limit: float) -> Marked:
    """The verdict of `check` on what came back. No answer: the TODO was blank. Whatever the evidence, never raises."""
    todo, points = check.todo, check.points
    if answer is None:
        finding = Finding("not-done", "This TODO is not done yet: its cell is as it was released.", points)
        return Marked(todo, points, Result(todo, points, 0.0, [finding], seed))
    if answer.late:
        message = f"Not finished in time: the checks of this TODO were still running after {time_limit:g} s."
        return Marked(todo, points, Result(todo, points, 0.0, [Finding("too-slow", message, points)], seed))
    if answer.failure is not None:
        return Marked(todo, points, None, answer.failure)
    try:
        return Marked(todo, points, judge(check, cases, answer.evidence, seed))
    except Exception as error:
        return Marked(todo, points, None, f"the verdict could not read the evidence: {type(error).__name__}: {error}")


def gather(lab: Lab, job: list[dict], time_limit: float, cancel: threading.Event) -> dict[str, Answer]:
    """Have the job's TODOs probed; those that our own side failed, or that time did not reach, once more."""
    answers: dict[str, Answer] = {}
    for _ in range(ATTEMPTS):
        left = [item for item in job if item["todo"] not in answers or answers[item["todo"]].failure is not None]
        if left:
            answers |= Conversation(lab, left, time_limit, cancel).answers
    return answers


def command(channel: int) -> list[str]:
    """The command line of a prober, which runs in its work folder. A sandbox goes around it here."""
    return [sys.executable, "-m", "autograde.prober", str(channel)]


def environment(work: Path) -> dict[str, str]:
    """The environment of a prober in the folder `work`."""
    kept = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith(PASSED_ON_FROM)}
    here = str(Path(__file__).resolve().parents[1])
    return {**kept, "HOME": str(work), "TMPDIR": str(work), "PYTHONPATH": here, "PYTHONUNBUFFERED": "1"}


class Conversation:
    """One prober, from start to end. `answers` has one for each TODO of the job."""

    def __init__(self, lab: Lab, job: list[dict], time_limit: float, cancel: threading.Event) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked = [item["todo"] for item in job]
        self.begun: str | None = None
        self.ready = False
        self.work = Path(tempfile.mkdtemp(prefix="lockstep-"))
        try:
            public = without_hidden_cases(lab.checks.read_text(encoding="utf-8"), str(lab.checks))
            (self.work / "checks.py").write_text(public, encoding="utf-8")
            (self.work / "job.json").write_text(json.dumps(job), encoding="utf-8")
            ending = self._run(time_limit, cancel)
        except OSError as error:
            ending = f"the checks could not be started: {error.strerror or error} ({error.filename})"
        finally:
            shutil.rmtree(self.work, ignore_errors=True)
        if ending == "late":
            ending = f"the ranks were not ready after {time_limit:g} s"
            if self.begun is not None:
                self.answers[self.begun] = Answer(late=True)
                ending = f"time was up before it could be run ({time_limit:g} s for the whole submission)"
        for todo in self.asked:
            self.answers.setdefault(todo, Answer(failure=ending))

    def _run(self, time_limit: float, cancel: threading.Event) -> str:
        """Run the prober and take its messages. Returns why it said no more: "late", or a sentence."""
        receive, send = os.pipe()
        with open(self.work / "output.txt", "wb") as output:
            process = subprocess.Popen(
                command(send),
                stdin=subprocess.PIPE,  # never written to: its end tells the prober that the grader is gone
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.work,
                env=environment(self.work),
                pass_fds=[send],
                start_new_session=True,
            )
        os.close(send)
        try:
            stopped = self._listen(receive, time.monotonic() + time_limit, cancel)
            if stopped is None:
                wait(process, LAST_BREATH)
        finally:
            os.close(receive)
            end(process)
        if cancel.is_set():
            raise Cancelled
        if stopped:
            return stopped
        if process.returncode == 0:
            return "the process that runs the checks ended too early"
        during = (
            "as it started the ranks" if not self.ready else f"during `{self.begun}`" if self.begun else "in the end"
        )
        how = f"signal {-process.returncode}" if process.returncode < 0 else f"status {process.returncode}"
        said = self._last_words()
        return f"the process that runs the checks ended with {how} {during}{': ' + said if said else ''}"

    def _listen(self, receive: int, limit: float, cancel: threading.Event) -> str | None:
        """Take messages until the prober closes its end, or something stops us, which is returned."""
        pending, size = b"", 0
        while not cancel.is_set():
            if time.monotonic() > limit:
                return "late"
            if not select.select([receive], [], [], 0.2)[0]:
                continue
            chunk = os.read(receive, 2**16)
            if not chunk:
                return None
            size += len(chunk)
            if size > MAX_MESSAGES:
                return f"the evidence is larger than {MAX_MESSAGES // 2**20} MiB"
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                if (broken := self._take(line)) is not None:
                    return broken
        return "stopped"

    def _take(self, line: bytes) -> str | None:
        """Take one message. Returns what is wrong with it, if anything is: the rest is then not listened to."""
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            return "the process that runs the checks sent what is not JSON"
        match message:
            case {"world": "ready"}:
                self.ready = True
            case {"todo": str(todo), "state": "begun"} if todo in self.asked and todo not in self.answers:
                self.begun = todo
            case {"todo": str(todo), "state": "done", "evidence": list(evidence)} if todo == self.begun:
                self.answers[todo], self.begun = Answer(evidence), None
            case {"todo": str(todo), "state": "failed", "reason": str(reason)} if todo == self.begun:
                self.answers[todo], self.begun = Answer(failure=reason[:2000]), None
            case _:
                return "the process that runs the checks sent a message that is not foreseen"
        return None

    def _last_words(self) -> str:
        """The last line that the prober printed, shortened."""
        lines = (self.work / "output.txt").read_bytes()[-4000:].decode(errors="replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


def wait(process: subprocess.Popen, seconds: float) -> None:
    """Give a process that closed its channel the time to exit by itself, so that its status tells how it ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def end(process: subprocess.Popen) -> None:
    """End a prober's session. Its world's reaper, which has a session of its own, ends the ranks."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.stdin.close()
    process.wait()
