"""`lockstep grade --slurm`: submissions are examined by a job array on compute nodes, and judged here.

    here                     Slurm, on compute nodes            here
    submissions, seeds  -->  evidence, in sandboxes        -->  verdicts, gradebook

Both sides exchange files in a folder below class/ (see `autograde.slurm.array_folder`). The nodes must see that folder
and this clone. What a task leaves undone, for whatever reason, is submitted again, in smaller tasks; a submission that
has had `ATTEMPTS` is left to a person, with what Slurm says. If this grading is killed and started again, it uses the
results that are there, and submits the rest anew.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from autograde.labs.folder import LoadedLab
from autograde.labs.places import CLASS, REPOSITORY
from autograde.sandbox.examine import Answers, Examined, Gathered, verdicts
from autograde.sandbox.resources.limits import Settings
from autograde.slurm import array_job
from autograde.slurm.array_folder import ArrayFolder, BadResult, Submission, Tasks, code_of, name_of, plain_limits
from autograde.slurm.array_job import State, Task
from course.processes.slurm_command import SlurmError

ATTEMPTS = 3  # how often a submission is given to a task
CHUNK = 10  # submissions in a task: two rounds of the five that four cores can take, for one start
MAX_TASKS = 1000  # in an array; Slurm's default for MaxArraySize is 1001
POLL = 2.0  # seconds between two queries of Slurm, so as not to burden it
LOOK = 0.2  # seconds between two looks at the folder
GRACE = 60.0  # seconds within which a shared file system shows what a task on another node wrote


@contextlib.contextmanager
def examined_on_nodes(
    root: Path, lab: LoadedLab, answers: dict[str, Answers], settings: Settings
) -> Iterator[Iterator[tuple[str, Examined]]]:
    """Examine submissions of `lab`, by student, in a job array. Yields an iterator over results, as they arrive.

    The end of the block cancels the array. SIGTERM ends the block too. Raises SlurmError if Slurm accepts no array,
    OSError if the folder cannot be written to; then nothing was submitted.
    """
    if why := array_job.refusal():
        raise SlurmError(why)
    folder = ArrayFolder(root / CLASS / lab.name / ".array")
    folder.make()
    if old := array_job.working_in(folder.path):
        tqdm.write(f"{lab.name}: an array of a grading that was killed is cancelled: {', '.join(old)}")
        array_job.cancel(old)
    grading = ArrayGrading(root, lab, folder, settings)
    with ended_by_signals():
        try:
            grading.begin(answers)
            yield grading.outcomes()
        finally:
            grading.cancel()
    if not grading.students:
        shutil.rmtree(folder.path, ignore_errors=True)


@dataclass
class ArrayGrading:
    """One grading: the submissions that have no result yet, and the arrays that work on them.

    students, submissions, attempts: by name, see `name_of`. over_since: by time.monotonic(), when a task that has not
    left all its results was first seen to have ended. last_notice: see `say_once`.
    """

    root: Path
    lab: LoadedLab
    folder: ArrayFolder
    settings: Settings
    students: dict[str, str] = field(default_factory=dict)
    submissions: dict[str, Submission] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    tasks: dict[Task, list[str]] = field(default_factory=dict)
    over_since: dict[Task, float] = field(default_factory=dict)
    code: str = ""
    last_notice: str = ""

    def begin(self, answers: dict[str, Answers]) -> None:
        """Write the submissions, and submit those that have no result yet."""
        self.code = code_of(self.root, self.lab.name)
        for student, answer in answers.items():
            name = name_of(student)
            submission = Submission(
                lab=self.lab.name,
                sources=answer.sources,
                blank=sorted(answer.blank),
                again=answer.again,
                seed=self.settings.draw_seed(),
                code=self.code,
                limits=plain_limits(self.settings.limits),
                sandboxed=self.settings.sandboxed,
            )
            self.submissions[name] = self.folder.put(name, submission, same_seed=self.settings.seed is not None)
            self.students[name] = student
        finished = self.folder.finished() & set(self.students)
        if finished:
            self.say(f"{len(finished)} were examined before the last grading was broken off")
        self.submit([name for name in self.students if name not in finished], CHUNK)

    def outcomes(self) -> Iterator[tuple[str, Examined]]:
        """(student, what to write to the gradebook), until there is one for each student."""
        queried = -POLL
        while self.students:
            states: dict[Task, State] = {}
            if time.monotonic() > queried + POLL:
                states = self.states()  # before looking at the folder: a task that has ended has written its results
                queried = time.monotonic()
            for name in sorted(self.folder.finished() & set(self.students)):
                if (outcome := self.outcome(name)) is not None:
                    yield self.students[name], outcome
                    self.finish(name)
            for name, reason in self.given_up(states):
                yield self.students[name], self.left_to_a_person(name, reason)
                self.finish(name)
            time.sleep(LOOK)

    def finish(self, name: str) -> None:
        """Drop a submission that is in the gradebook, or could not be written there."""
        self.folder.forget(name)
        del self.students[name]

    def outcome(self, name: str) -> Examined | None:
        """What to write to the gradebook for a result; None if the result is unusable, which deletes it."""
        submission = self.submissions[name]
        try:
            gathered, seconds = self.folder.result(name, submission, self.lab)
        except (BadResult, OSError) as error:
            self.say(f"a result is thrown away: {error}")
            self.folder.forget(name)
            return None
        return self.judged(name, gathered, seconds)

    def left_to_a_person(self, name: str, reason: str) -> Examined:
        """What to write to the gradebook for a submission that no task could examine."""
        submission = self.submissions[name]
        gathered = [
            Gathered(todo, lost="not-done") if todo in submission.blank else Gathered(todo, reason=reason)
            for todo in self.lab.todos
        ]
        return self.judged(name, gathered, {"total": 0.0, "probing": 0.0})

    def judged(self, name: str, gathered: list[Gathered], seconds: dict[str, float]) -> Examined:
        """Give the verdicts on what was gathered."""
        seed = self.submissions[name].seed
        return Examined(verdicts(self.lab, gathered, seed), seed, seconds)

    def given_up(self, states: dict[Task, State]) -> Iterator[tuple[str, str]]:
        """Submit again what ended tasks have left undone. Yields (name, reason) for what has had all its attempts."""
        awaited = {name for names in self.tasks.values() for name in names}
        reasons = dict.fromkeys(self.students.keys() - awaited, "what it left could not be read")
        for task, state in states.items():
            if not state.over:
                self.over_since.pop(task, None)
                continue
            left = [name for name in self.tasks[task] if name in self.students]
            since = self.over_since.setdefault(task, time.monotonic())
            if left and state.name == "COMPLETED" and time.monotonic() < since + GRACE:
                continue
            del self.tasks[task]
            if left:
                why = f"{state}{self.last_line(task)}"
                self.say(f"task {task[0]}_{task[1]} ended without {len(left)} of its results: {why}")
                reasons |= dict.fromkeys(left, why)
        again = [name for name in reasons if self.attempts.get(name, 0) < ATTEMPTS]
        for name in reasons.keys() - set(again):
            yield name, f"Slurm ended its task each of {ATTEMPTS} times; the last time: {reasons[name]}"
        if again:
            try:
                self.submit(again, max(1, CHUNK // 5))
            except SlurmError as error:
                for name in again:
                    yield name, f"its task ended, and Slurm took no other: {error}"

    def submit(self, names: list[str], chunk: int) -> None:
        """Submit an array for these submissions, up to `chunk` in a task. Raises SlurmError."""
        if not names:
            return
        chunks = split_evenly(names, chunk)
        settings = self.settings
        path = self.folder.put_tasks(
            Tasks(
                root=str(self.root),
                lab=self.lab.name,
                code=self.code,
                limits=plain_limits(settings.limits),
                sandboxed=settings.sandboxed,
                jobs=settings.jobs,
                chunks=chunks,
            )
        )
        job = array_job.submit(len(chunks), self.folder.path, [str(REPOSITORY), sys.executable, str(path)])
        for index, each in enumerate(chunks):
            self.tasks[job, index] = each
        for name in names:
            self.attempts[name] = self.attempts.get(name, 0) + 1
        self.say(f"array {job}: {len(names)} submissions in {len(chunks)} task{'s' if len(chunks) > 1 else ''}")

    def states(self) -> dict[Task, State]:
        """The states of our tasks; none while Slurm does not answer."""
        if not self.tasks:
            return {}
        try:
            found = array_job.states(sorted({job for job, _ in self.tasks}))
        except SlurmError as error:
            self.say_once(f"Slurm does not answer, and is asked again: {error}")
            return {}
        states = {task: found.get(task, array_job.UNKNOWN) for task in self.tasks}
        reasons = {state.reason for state in states.values()} - {"None"}  # "None": Slurm has not looked at it yet
        if reasons and all(state.name == "PENDING" for state in states.values()):
            self.say_once(f"waits in Slurm's queue: {', '.join(sorted(reasons))}")
        return states

    def last_line(self, task: Task) -> str:
        """The last line of a task's log, after a colon. Slurm writes there why it ended a task."""
        try:
            lines = (self.folder.path / f"{task[0]}_{task[1]}.log").read_text(errors="replace").split("\n")
        except OSError:
            return ""
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {last[:300]}" if last.isprintable() and last else ""

    def cancel(self) -> None:
        """Cancel our arrays, even one whose number an interrupted sbatch did not report."""
        try:
            if jobs := array_job.working_in(self.folder.path):
                array_job.cancel(jobs)
        except SlurmError as error:
            self.say(f"{error}; `squeue --me` tells whether an array of this grading is left")

    def say_once(self, text: str) -> None:
        """Print a notice, unless it repeats the last one."""
        if text != self.last_notice:
            self.last_notice = text
            self.say(text)

    def say(self, text: str) -> None:
        """Print one line above the progress bar."""
        tqdm.write(f"{self.lab.name}: {text}")


def split_evenly(names: list[str], chunk: int) -> list[list[str]]:
    """Split the submissions into tasks of about equal size, at most `chunk` unless there would be too many tasks."""
    count = min(MAX_TASKS, math.ceil(len(names) / chunk))
    return [names[index::count] for index in range(count)]


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """In this block, SIGTERM and SIGHUP act like Ctrl-C, so that the arrays are cancelled."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
