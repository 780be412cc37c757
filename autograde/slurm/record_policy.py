"""Grades the record of a batch run that is handed in with a submission, and chooses what to repeat of the run.

Records are required if the grader sees a Slurm cluster, or if the instructor says so (`c.Judge.records`). If not, a
submission without a record loses nothing, and the feedback on one with a record says what was not checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from unicodedata import normalize

from autograde.contract.check import Check
from autograde.contract.result import LATER, Finding, Result
from autograde.labs.folder import LoadedLab, load_ranks
from autograde.sandbox.examine import Marked
from autograde.slurm import record_verdict
from autograde.slurm.accounting import look_up, there_is_slurm
from autograde.slurm.record_verdict import RecordFile
from course.batch.record import Report, code_of
from course.processes.slurm_command import SlurmError
from course.world.report import OutcomeRecord

NOT_ASKED = "where a record is asked for; here none is, so it counts"


@dataclass(frozen=True)
class Policy:
    """How a class treats records.

    setting: whether a record is required; None: if there is Slurm. accounts: on the cluster, by student's id, where the
    two differ.
    """

    setting: bool | None = None
    accounts: dict[str, str] = field(default_factory=dict)

    @property
    def required(self) -> bool:
        """Whether there must be a record."""
        return there_is_slurm() if self.setting is None else self.setting


@dataclass(frozen=True)
class RecordResult:
    """The result of checking a record. finding: what is wrong. remarks: what was not checked. job: cluster/number."""

    finding: Finding | None = None
    remarks: tuple[str, ...] = ()
    job: str | None = None


def runs_to_repeat(lab: LoadedLab, handed_in: RecordFile, sources: dict[str, str]) -> dict[str, dict]:
    """By TODO, the case that repeats its run, if the record is right by itself. sources: by TODO."""
    found = {}
    for check in lab.todo_checks:
        if check.batch is None:
            continue
        if record_verdict.by_itself(check.batch, check.todo, lab.name, handed_in, code_of(sources)) is None:
            case = check.again(record_verdict.run_of(handed_in.record, check.todo), load_ranks(lab.checks))
            found |= {check.todo: case} if case else {}
    return found


def judge_record(
    check: Check,
    lab: str | None,
    handed_in: RecordFile,
    sources: dict[str, str],
    account: str,
    required: bool,
    again: OutcomeRecord | None = None,
) -> RecordResult:
    """Judge the record handed in for a check that asks for one.

    lab: that it must be of, if known. account: that the job must belong to. required: whether there must be one. again:
    evidence from repeating the run, if it was repeated.
    """
    if handed_in == RecordFile() and not required:
        return RecordResult()
    if wrong := record_verdict.by_itself(check.batch, check.todo, lab, handed_in, code_of(sources)):
        return RecordResult(wrong)
    recorded, run, remarks = handed_in.record["job"], record_verdict.run_of(handed_in.record, check.todo), []
    key = f"{recorded['cluster']}/{recorded['id']}"
    try:
        job = look_up(recorded["id"], recorded["cluster"])
        wrong = record_verdict.by_accounting(check.todo, handed_in.record, job, account)
        if job is not None and job.ended is None:
            remarks.append(f"job {recorded['id']} had not ended yet, so its state and end were not compared")
    except SlurmError as error:
        remarks.append(f"that job {recorded['id']} was as the record says: {error}")
    if wrong is None:
        losses, why = losses_in(again, run)
        wrong = record_verdict.by_rerun(run, losses)
        remarks += [f"the losses on record: {why}"] if why else []
    return RecordResult(wrong, tuple(f"run.json: not checked: {remark}" for remark in remarks), key)


def losses_in(again: OutcomeRecord | None, run: Report) -> tuple[list, str | None]:
    """The losses from repeating a recorded run; or none, and why there are none to compare."""
    if again is None:
        return [], "the cells were not run again"
    if again["state"] != "ok":
        return [], f"run again, the cells did not come to their end: {again['detail'][:200]}"
    result = again["ranks"][0]["result"]
    if result["data"] != run["data"]:
        return [], "they are of other data than there are here (LOCKSTEP_DATA)"
    return (result["losses"], None) if result["losses"] else ([], "run again, the cells gave none")


def with_record(
    check: Check, marked: Marked, lab: str, handed_in: RecordFile, sources: dict[str, str], student: str, policy: Policy
) -> tuple[Marked, RecordResult]:
    """The mark for a TODO with its record taken into account. A TODO without points keeps its mark."""
    again, marked = marked.again, replace(marked, again=None)
    if check.batch is None or marked.result is None or marked.score == 0:
        return marked, RecordResult()
    if policy.setting is False:
        return replace(marked, result=with_row(marked.result, RecordResult())), RecordResult()
    account = {normalize("NFC", name): account for name, account in policy.accounts.items()}.get(student, student)
    try:
        judged = judge_record(check, lab, handed_in, sources, account, policy.required, again)
    except Exception as error:
        return replace(marked, result=None, reason=f"the record could not be judged: {error}"), RecordResult()
    return replace(marked, result=with_row(marked.result, judged)), judged


def with_row(result: Result, judged: RecordResult) -> Result:
    """The result with what became of its record, in the row on it. If the row was lost already, it stays as it is."""
    found = [judged.finding] if judged.finding else []
    about: dict[str, Any] = {"state": "holds", "reason": ""} if judged.job else {"reason": NOT_ASKED}
    about = {"state": "fails", "reason": "", "finding": judged.finding} if found else about
    rows = [replace(row, **about) if row.state == LATER else row for row in result.rows]
    return replace(result, rows=rows, score=sum(row.score for row in rows), findings=[*result.findings, *found])
