"""The record of a run in batch that belongs to a submission: what is to be run again for it, and what it costs.

A class grades records where its grader sees a Slurm cluster, or where the instructor says so (`c.Judge.records`). Where
neither is so, a submission without a record loses nothing, and one that has a record is told what was not checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograde import records
from autograde.accounting import Unavailable, look_up, there_is_slurm
from autograde.check import Check, Finding
from autograde.evidence import Marked
from autograde.labs import Lab, load_checks, load_ranks
from course.record import code_of


@dataclass(frozen=True)
class Policy:
    """How a class deals with records.

    asked: whether a record must be there; None: where there is Slurm. accounts: of students whose id is not the name of
    their account on the cluster.
    """

    asked: bool | None = None
    accounts: dict[str, str] = field(default_factory=dict)

    @property
    def must(self) -> bool:
        """Whether a record must be there."""
        return there_is_slurm() if self.asked is None else self.asked


@dataclass(frozen=True)
class Seen:
    """What came of a record. finding: what is wrong with it. remarks: what was not checked. job: which it tells of."""

    finding: Finding | None = None
    remarks: tuple[str, ...] = ()
    job: str | None = None


def to_run_again(lab: Lab, folder: Path, sources: dict[str, str]) -> dict[str, dict]:
    """By TODO, the case that repeats what the record in `folder` tells of, where it is worth that. sources: by TODO."""
    found = {}
    for check in load_checks(lab.checks):
        if check.batch is None:
            continue
        given = records.read_record(folder)
        if records.by_itself(check.batch, check.todo, lab.name, given, code_of(sources)) is None:
            case = check.again(records.run_of(given.record, check.todo), load_ranks(lab.checks))
            found |= {check.todo: case} if case else {}
    return found


def look(
    check: Check, lab: str | None, folder: Path, sources: dict[str, str], account: str, must: bool, again: Any = None
) -> Seen:
    """Judge the record in `folder` for a check that asks for one.

    lab: whose record it must be, if that is known. account: whose job it must be. must: whether it must be there.
    again: evidence on the run that repeats it, if any.
    """
    given = records.read_record(folder)
    if given == records.Given() and not must:
        return Seen()
    if wrong := records.by_itself(check.batch, check.todo, lab, given, code_of(sources)):
        return Seen(wrong)
    told, run, remarks = given.record["job"], records.run_of(given.record, check.todo), []
    key = f"{told['cluster']}/{told['id']}"
    try:
        job = look_up(told["id"], told["cluster"])
        wrong = records.by_accounting(check.batch, check.todo, given.record, job, account)
        if job is not None and job.ended is None:
            remarks.append(f"job {told['id']} had not ended yet, so its state and end were not compared")
    except Unavailable as error:
        remarks.append(f"that job {told['id']} was as the record says: {error}")
    if wrong is None:
        losses, why = losses_in(again, run)
        wrong = records.by_rerun(check.batch, run, losses)
        remarks += [f"the losses on record: {why}"] if why else []
    return Seen(wrong, tuple(f"run.json: not checked: {remark}" for remark in remarks), key)


def losses_in(again: Any, run: dict) -> tuple[list, str | None]:
    """The losses of a run that repeats a recorded one; or none, and why they tell nothing."""
    if again is None:
        return [], "the cells were not run again"
    if again["state"] != "ok":
        return [], f"run again, the cells did not come to their end: {again['detail'][:200]}"
    result = again["ranks"][0]["result"]
    if result["data"] != run["data"]:
        return [], "they are of other data than there are here (LOCKSTEP_DATA)"
    return (result["losses"], None) if result["losses"] else ([], "run again, the cells gave none")


def with_record(
    check: Check, marked: Marked, lab: str, folder: Path, sources: dict[str, str], student: str, policy: Policy
) -> tuple[Marked, Seen]:
    """What a TODO gets once its record is looked at. One that earns nothing by itself is left as it is."""
    again, marked = marked.again, replace(marked, again=None)
    if check.batch is None or policy.asked is False or marked.result is None or marked.score == 0:
        return marked, Seen()
    account = policy.accounts.get(student, student)
    try:
        seen = look(check, lab, folder, sources, account, policy.must, again)
    except Exception as error:
        return replace(marked, result=None, reason=f"the record could not be judged: {error}"), Seen()
    if seen.finding is None:
        return marked, seen
    result = marked.result
    score = max(0.0, result.score - seen.finding.points)
    return replace(marked, result=replace(result, score=score, findings=[*result.findings, seen.finding])), seen
