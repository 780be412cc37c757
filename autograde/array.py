"""`lockstep grade --slurm`: submissions are examined by a job array on compute nodes, and judged here.

    here                     Slurm, on compute nodes            here
    submissions, seeds  -->  evidence, in sandboxes        -->  verdicts, gradebook

The folder in which both sides meet (see `autograde.array_folder`) is below class/, which the nodes must see, as they
must see this clone. A task that ends without all of its results, for whatever reason, is submitted again, in smaller
ones; a submission that had `ATTEMPTS` waits for a person, with what Slurm said. Who kills this grading and starts it
again finds the results that were there, and the rest is submitted anew.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from autograde import array_job
from autograde.array_folder import ArrayFolder, BadResult, Submission, Tasks, code_of, name_of, plain_limits
from autograde.array_job import REPOSITORY, SlurmFailed, State, Task
from autograde.evidence import Examined, Gathered, verdicts
from autograde.labs import Lab, load_checks
from autograde.limits import Settings
from autograde.nbgrader_steps import CLASS, fresh_seed, prepared

ATTEMPTS = 3  # how often a submission is given to a task
CHUNK = 10  # submissions in a task: two rounds of the five that four cores carry, for one start
MOST_TASKS = 1000  # of an array; Slurm's own MaxArraySize is 1001
POLL = 2.0  # seconds between two questions to Slurm; its administrators ask for no more
LOOK = 0.2  # seconds between two looks at the folder
GRACE = 60.0  # seconds after which a shared file system shows what a task on another node wrote

# Of `nbgrader_steps.answers`, and of `batch_records.to_run_again`.
Answers = tuple[dict[str, str], frozenset[str], dict[str, dict]]
Outcome = dict | BaseException  # what `Judge` takes as `prepared`, or what went wrong


@contextlib.contextmanager
def examined_on_nodes(
    root: Path, lab: Lab, students: list[str], read: Callable[[str], Answers], settings: Settings
) -> Iterator[Iterator[tuple[str, Outcome]]]:
    """Examine submissions of `lab` in a job array. Yields an iterator over student and outcome, as they come.

    read: the answers of a student; may raise. At the end of the block the array is gone. SIGTERM ends the block, too.
    Raises SlurmFailed if Slurm takes no array, OSError if the folder cannot be written to; then nothing was submitted.
    """
    if why := array_job.refusal():
        raise SlurmFailed(why)
    folder = ArrayFolder(root / CLASS / lab.name / ".array")
    folder.make()
    if old := array_job.working_in(folder.path):
        tqdm.write(f"{lab.name}: an array of a grading that was killed is cancelled: {', '.join(old)}")
        array_job.cancel(old)
    grading = ArrayGrading(root, lab, folder, settings)
    with ended_by_signals():
        try:
            grading.begin(students, read)
            yield grading.outcomes()
        finally:
            grading.cancel()
    if not grading.students:
        shutil.rmtree(folder.path, ignore_errors=True)


@dataclass
class ArrayGrading:
    """One grading: what is still to come, and the arrays that it comes from. All by the names that stand for students.

    unread: students whose submissions could not be read, and why.
    """

    root: Path
    lab: Lab
    folder: ArrayFolder
    settings: Settings
    students: dict[str, str] = field(default_factory=dict)
    submissions: dict[str, Submission] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    tasks: dict[Task, list[str]] = field(default_factory=dict)
    over_since: dict[Task, float] = field(default_factory=dict)
    unread: list[tuple[str, Exception]] = field(default_factory=list)
    code: str = ""
    told: str = ""

    def begin(self, students: list[str], read: Callable[[str], Answers]) -> None:
        """Write the submissions, and submit those for which there is no result yet."""
        self.code = code_of(self.root, self.lab.name)
        for student in students:
            name = name_of(student)
            try:
                sources, blank, again = read(student)
            except Exception as error:
                self.unread.append((student, error))
                continue
            seed = fresh_seed() if self.settings.seed is None else self.settings.seed
            described = Submission(
                lab=self.lab.name,
                sources=sources,
                blank=sorted(blank),
                again=again,
                seed=seed,
                code=self.code,
                limits=plain_limits(self.settings.limits),
                sandboxed=self.settings.sandboxed,
            )
            self.submissions[name] = self.folder.put(name, described, same_seed=self.settings.seed is not None)
            self.students[name] = student
        there = self.folder.finished() & set(self.students)
        if there:
            self.say(f"{len(there)} were examined before the last grading was broken off")
        self.submit([name for name in self.students if name not in there], CHUNK)

    def outcomes(self) -> Iterator[tuple[str, Outcome]]:
        """Students and what to write into the gradebook, until there is something for each."""
        yield from self.unread
        asked = -POLL
        while self.students:
            states: dict[Task, State] = {}
            if time.monotonic() > asked + POLL:
                states = self.states()  # before the folder: who has ended by now has written by now
                asked = time.monotonic()
            for name in sorted(self.folder.finished() & set(self.students)):
                if (outcome := self.outcome(name)) is not None:
                    yield self.students[name], outcome
                    self.done_with(name)
            for name, reason in self.given_up(states):
                yield self.students[name], self.waits_for_a_person(name, reason)
                self.done_with(name)
            time.sleep(LOOK)

    def done_with(self, name: str) -> None:
        """This one is in the gradebook, or cannot get there."""
        self.folder.forget(name)
        del self.students[name]

    def outcome(self, name: str) -> Outcome | None:
        """What to write into the gradebook for a result that is there; None if it is not to be believed, and goes."""
        submission = self.submissions[name]
        try:
            gathered, seconds = self.folder.result(name, submission, self.lab)
        except (BadResult, OSError) as error:
            self.say(f"a result is thrown away: {error}")
            self.folder.forget(name)
            return None
        return prepared(submission.sources, submission.seed, self.judged(name, gathered, seconds))

    def waits_for_a_person(self, name: str, reason: str) -> Outcome:
        """The same for a submission that no task could examine: as for one that no sandbox could be had for."""
        submission = self.submissions[name]
        gathered = [
            Gathered(todo, lost="not-done") if todo in submission.blank else Gathered(todo, reason=reason)
            for todo in (check.todo for check in load_checks(self.lab.checks))
        ]
        seconds = {"total": 0.0, "probing": 0.0}
        return prepared(submission.sources, submission.seed, self.judged(name, gathered, seconds))

    def judged(self, name: str, gathered: list[Gathered], seconds: dict[str, float]) -> Examined:
        """With the verdicts, which are given here."""
        return Examined(verdicts(self.lab, gathered, self.submissions[name].seed), seconds)

    def given_up(self, states: dict[Task, State]) -> Iterator[tuple[str, str]]:
        """Submit again what tasks that ended have left undone. Yields what had enough attempts, and why that failed."""
        awaited = {name for names in self.tasks.values() for name in names}
        missing = dict.fromkeys(self.students.keys() - awaited, "what it left could not be read")
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
                why = f"{state}{self.last_words(task)}"
                self.say(f"task {task[0]}_{task[1]} ended without {len(left)} of its results: {why}")
                missing |= dict.fromkeys(left, why)
        again = [name for name in missing if self.attempts.get(name, 0) < ATTEMPTS]
        for name in missing.keys() - set(again):
            yield name, f"Slurm ended its task each of {ATTEMPTS} times; the last time: {missing[name]}"
        if again:
            try:
                self.submit(again, max(1, CHUNK // 5))
            except SlurmFailed as error:
                for name in again:
                    yield name, f"its task ended, and Slurm took no other: {error}"

    def submit(self, names: list[str], chunk: int) -> None:
        """Submit an array for these submissions, so many in a task. Raises SlurmFailed."""
        if not names:
            return
        chunks = shared_out(names, chunk)
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
        """What Slurm says of our tasks; nothing while it does not answer."""
        if not self.tasks:
            return {}
        try:
            found = array_job.states(sorted({job for job, _ in self.tasks}))
        except SlurmFailed as error:
            self.tell_once(f"Slurm does not answer, and is asked again: {error}")
            return {}
        states = {task: found.get(task, array_job.UNKNOWN) for task in self.tasks}
        reasons = {state.reason for state in states.values()} - {"None"}  # that is: Slurm has not looked at it yet
        if reasons and all(state.name == "PENDING" for state in states.values()):
            self.tell_once(f"waits in Slurm's queue: {', '.join(sorted(reasons))}")
        return states

    def last_words(self, task: Task) -> str:
        """The last line that a task wrote, after a colon; Slurm writes there, too, why it ended a task."""
        try:
            lines = (self.folder.path / f"{task[0]}_{task[1]}.log").read_text(errors="replace").split("\n")
        except OSError:
            return ""
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {last[:300]}" if last.isprintable() and last else ""

    def cancel(self) -> None:
        """End our arrays, also one whose number an interrupted sbatch did not tell."""
        try:
            if jobs := array_job.working_in(self.folder.path):
                array_job.cancel(jobs)
        except SlurmFailed as error:
            self.say(f"{error}; `squeue --me` tells whether an array of this grading is left")

    def tell_once(self, text: str) -> None:
        """Say something, unless it was the last thing of its kind."""
        if text != self.told:
            self.told = text
            self.say(text)

    def say(self, text: str) -> None:
        """One line above the progress bar."""
        tqdm.write(f"{self.lab.name}: {text}")


def shared_out(names: list[str], chunk: int) -> list[list[str]]:
    """The submissions of each task: about equally many, at most `chunk` unless there would be too many tasks."""
    count = min(MOST_TASKS, math.ceil(len(names) / chunk))
    return [names[index::count] for index in range(count)]


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """In this block, SIGTERM and SIGHUP do what Ctrl-C does, so that what has to be ended with us is ended."""

    def leave(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
