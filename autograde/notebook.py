"""Checks in the student's notebook, for feedback on a TODO in seconds. They also work under nbgrader's own commands.

check = Checker(world)
check("partial_sum")
check.hint("partial_sum")
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from IPython import get_ipython
from IPython.core.interactiveshell import ExecutionInfo
from IPython.display import DisplayHandle, display

from autograde.cells.cell_code import bound_names, by_stub, has_stub
from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.contract import show
from autograde.contract.check import Check
from autograde.contract.result import Result
from autograde.hints import KINDS, next_hint, note_taken, read_hints, read_taken
from autograde.labs.folder import packed_checks
from autograde.labs.questions import questions_in
from autograde.slurm.accounting import there_is_slurm
from autograde.validating import handed_in
from course.batch.record import FILE
from course.exchange.due import deadline_here, deadline_sentence
from course.lab_archive import ARCHIVE, HINTS, QUESTIONS, archive_files
from course.overview import RESULT, text_mark
from course.world import NotEnoughRanks, RanksFailed, World

ELSEWHERE = (
    "This ran in another cell than that of the TODO. Only the TODO's own cell is sure to be handed in: put your "
    "`{todo}` there, and run it."
)
CELL_ID = re.compile(r"[\w-]{1,64}")  # as nbformat has it; some editors tell ids of their own
STOPPED = "This cell stopped in your code. Run it again when the checks above it pass."


class CheckFailed(AssertionError):
    """A check found something. Raised under `nbgrader validate`, which understands nothing else."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Checker:
    """The checks of the lab whose notebook runs in this folder. They are in the lab's archive, beside the notebook.

    world: the ranks that run the student's code. seed: of the cases; None: a new one for each check. Raises
    ArchiveError if there is no archive, or a damaged one, and LabError if the checks in it cannot be loaded.
    """

    def __init__(self, world: World, seed: int | None = None) -> None:
        self.folder = Path.cwd()
        files, archive = archive_files(self.folder), self.folder / ARCHIVE
        self.checks = {check.todo: check for check in packed_checks(files, archive)}
        self.hints = read_hints(files.get(HINTS), f"{archive}/{HINTS}", self.checks)
        self.questions = questions_in(files.get(QUESTIONS), f"{archive}/{QUESTIONS}")
        self.world = world
        self.seed = seed
        self.ran_in: dict[str, str] = {}  # ids of cells by the source that was run in them, where the front end tells
        if (shell := get_ipython()) is not None:
            shell.events.register("pre_run_cell", self.note_cell)
            if os.environ.get("NBGRADER_EXECUTION") is None and (due := self.when_due()):
                show_markdown(due)

    def note_cell(self, info: ExecutionInfo) -> None:
        """Note in which cell of the notebook a source is run."""
        if isinstance(info.cell_id, str) and CELL_ID.fullmatch(info.cell_id):
            self.ran_in[info.raw_cell] = info.cell_id

    def __call__(self, todo: str) -> float | None:
        """Check the TODO called `todo`, as its cell was last run, and show the result.

        In JupyterLab this raises and returns nothing, so that "Run all" goes on to the next TODO. Under `nbgrader
        autograde` it returns the score, which nbgrader takes as partial credit. Under `nbgrader validate` it raises
        CheckFailed if there are findings.
        """
        self.refuse_unknown(todo)
        execution = os.environ.get("NBGRADER_EXECUTION")
        with CellOutput(progress=execution is None) as output:
            try:
                result = self.result(todo, output)
            except NotEnoughRanks as error:
                if execution is not None:
                    raise
                said = f"{todo}: not checked. {error}"
                output.show(said, show.remark(said)["text/html"])
                return None
            if execution == "validate" and not result.passed:
                raise CheckFailed(show.text(result))
            due = self.when_due() if result.passed else ""
            steps = () if execution else (self.where_it_was_run(todo), self.where_hints_are(result), due)
            hint = " ".join(filter(None, steps))
            source = self.source_of(todo)
            noted = {"passed": result.passed, "checked": text_mark(source) if source else ""}
            output.show(show.text(result, hint), show.html(result, hint), {RESULT: noted})
        if self.checks[todo].batch is not None and (message := self.about_record(self.checks[todo])):
            show_markdown(f"**Batch run.** {message}")
        return result.score if execution == "autograde" else None

    def answer(self, name: str, number: float | None, *more: object) -> None:
        """Say whether `number` is right, as grading will. It counts no points.

        What is judged is the text of the cell, since that is what is handed in; `more` is what follows a decimal comma.
        Raises ValueError for an unknown name.
        """
        if name not in self.questions:
            raise ValueError(f"There is no question {name!r}; there are: {', '.join(self.questions) or 'none'}")
        cells = executed_cells()
        said = self.questions[name].answer_to(cells[-1] if cells else f"check.answer({name!r}, {number!r})")
        with CellOutput(progress=False) as output:
            output.show(said, show.remark(said)["text/html"])

    def result(self, todo: str, output: CellOutput) -> Result:
        """The result of the check. output: shows its progress."""
        check = self.checks[todo]
        seed = secrets.randbits(32) if self.seed is None else self.seed
        source = self.source_of(todo)
        if source is None:
            message = f"No cell that was run defines `{todo}`. Run the cell of this TODO first."
            return check.without_evidence("no-such-name", message, seed)
        cases = contract.draw_cases(check, seed)
        gathered = contract.gather(check, self.world, Subject(todo, source), output.following(todo, cases))
        return contract.judge(check, cases, gathered, seed)

    def source_of(self, todo: str) -> str | None:
        """The text that is checked: what was run last, or under `nbgrader validate` what would be graded."""
        ran = executed_cells()
        graded = None
        if os.environ.get("NBGRADER_EXECUTION") == "validate":
            graded = handed_in(self.folder, todo, self.checks, ran)
        return graded or cell_that_defines(todo, ran)

    def hint(self, todo: str, number: int = 1) -> None:
        """Show hint `number` for a TODO: 1 is a question, 2 a pointer to where the answer is, 3 a skeleton of the code.

        They are unfolded one after the other. They cost no points. How many were unfolded is noted in
        `hints_taken.json`, for the instructor. Raises ValueError if there is no such hint.
        """
        self.refuse_unknown(todo)
        if todo not in self.hints:
            raise ValueError(f"This lab has no hints for {todo!r}")
        if number not in range(1, len(KINDS) + 1):
            raise ValueError(f"{todo!r} has hints 1 to {len(KINDS)}, no hint {number!r}")
        taken = read_taken(self.folder).get(todo, 0)
        if number > taken + 1:
            show_markdown(f"Hint {taken + 1} comes first. {next_hint(todo, taken)}")
            return
        after = ""
        try:
            note_taken(self.folder, todo, number)
        except OSError as error:
            after = f"\n\n(That you read it could not be noted: {error.strerror}.)"
        show_markdown(f"{self.hints[todo].markdown(number)}\n\n{next_hint(todo, max(number, taken))}{after}")

    def where_it_was_run(self, todo: str) -> str:
        """That it was not in the TODO's own cell; empty where it was, or where nobody knows."""
        source = cell_that_defines(todo, executed_cells())
        return "" if self.ran_in.get(source or "", todo) == todo else ELSEWHERE.format(todo=todo)

    def when_due(self) -> str:
        """The student's deadline in a sentence; empty where none is known."""
        deadline = deadline_here(self.folder)
        return deadline_sentence(deadline, datetime.now(UTC).replace(tzinfo=None)) if deadline else ""

    def where_hints_are(self, result: Result) -> str:
        """Where the next hint is, below a result that has not passed; empty where there is none."""
        if result.passed or result.todo not in self.hints:
            return ""
        return next_hint(result.todo, read_taken(self.folder).get(result.todo, 0))

    def refuse_unknown(self, todo: str) -> None:
        """Raise ValueError if the lab has no such TODO."""
        if todo not in self.checks:
            raise ValueError(f"There is no check for {todo!r}; there are: {', '.join(self.checks)}")

    def about_record(self, check: Check) -> str:
        """What grading would say about the record of a batch run, if it were handed in now. Here it costs no points.

        Empty if there is no record, and no Slurm to make one.
        """
        from autograde.slurm.record_policy import judge_record  # takes 2 s, which other labs need not spend
        from autograde.slurm.record_verdict import read_record

        cells = executed_cells()
        known = {todo: cell_that_defines(todo, cells) for todo in self.checks}
        sources = {todo: source for todo, source in known.items() if source is not None}
        account = pwd.getpwuid(os.getuid()).pw_name
        judged = judge_record(check, None, read_record(self.folder), sources, account, required=there_is_slurm())
        if judged.finding:
            return judged.finding.message
        return " ".join(
            [f"The record in {FILE} is in order, as far as can be told here.", *judged.remarks] if judged.job else []
        )


class CellOutput:
    """One output of a cell: what is shown replaces what was shown before.

    progress: whether to show progress, which works only in a notebook. A context manager: an error clears the output.
    """

    def __init__(self, progress: bool) -> None:
        shell = get_ipython()
        self.progress = progress and hasattr(shell, "kernel")
        self._handle = DisplayHandle() if shell is not None else None
        self._used = False

    def __enter__(self) -> CellOutput:
        return self

    def __exit__(self, kind: type | None, *error: object) -> None:
        if kind is not None and self._used:
            self.show("", "")

    def show(self, text: str, html: str, metadata: dict[str, dict] | None = None) -> None:
        """Show a result: as HTML or plain text in a notebook, as plain text elsewhere. metadata: of the output."""
        if self._handle is None:
            print(text)
        else:
            put = self._handle.update if self._used else self._handle.display
            put({"text/plain": text, "text/html": html}, raw=True, metadata=metadata)
            self._used = True

    def following(self, todo: str, cases: Sequence[dict]) -> Iterator[dict]:
        """The cases of the check of `todo`, one after the other; shows which one is running."""
        for number, case in enumerate(cases):
            if self.progress:
                self.show(*show.progress(todo, number, len(cases)))
            yield case


def show_markdown(text: str) -> None:
    """Show `text` as Markdown in a notebook, as it is elsewhere."""
    if get_ipython() is None:
        print(text)
    else:
        display({"text/markdown": text, "text/plain": text}, raw=True)


def executed_cells() -> list[str]:
    """The source of the cells that were run in this kernel, oldest first."""
    shell = get_ipython()
    return list(shell.history_manager.input_hist_raw) if shell is not None else []


def cell_that_defines(name: str, cells: list[str]) -> str | None:
    """The last cell that binds `name` at its top level: by def, class, assignment or import."""
    return next((cell for cell in reversed(cells) if name in bound_names(cell)), None)


@contextmanager
def needs(*todos: str) -> Iterator[None]:
    """Skip the rest of a cell that uses TODOs which are not done yet or fail on the ranks, and say so.

    Suppresses a stub's NotImplementedError, NameError for one of `todos`, and RanksFailed, whose report it shows, so
    that "Run all" goes on to the next TODO. Suppresses nothing else.
    """
    try:
        yield
    except NotImplementedError as error:
        if not by_stub(error):
            raise
        show_markdown(waiting_for(todos))
    except NameError as error:
        if error.name not in todos:
            raise
        show_markdown(waiting_for(todos))
    except RanksFailed as error:
        if error.outcome.state == "not-done":
            show_markdown(waiting_for(todos))
        else:
            show_markdown(f"{STOPPED}\n\n```text\n{error}\n```")


def waiting_for(todos: Sequence[str]) -> str:
    """That a cell waits for the first of `todos` that is missing: nothing defines it, or its stub is still there."""
    cells = executed_cells()
    sources = {todo: cell_that_defines(todo, cells) for todo in todos}
    missing = (todo for todo, source in sources.items() if source is None or has_stub(source))
    return f"This cell needs your `{next(missing, todos[-1])}`. Run it again when its check passes."
