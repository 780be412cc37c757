"""`lockstep report` without a lab: one page on all labs of a term, from the gradebook and the class's folder."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from autograde.classroom.reports.pages import templates, write_page
from autograde.labs.places import CLASS
from autograde.term.all_labs import LabOfTerm, read_term

COMMONEST = 3  # findings of a lab that are shown


def write_term_report(root: Path) -> Path:
    """Write the page on the term of the course at `root`. Returns its path.

    Raises LabError for a lab that cannot be read, StepFailed if the gradebook has no lab, how labs make a total cannot
    be, or the page is not written.
    """
    term = read_term(root)
    page = (
        templates()
        .get_template("term_report.html")
        .render(
            now=term.now,
            labs=term.begun,
            to_come=[lab.name for lab in term.labs if lab not in term.begun],
            students=term.students,
            behind=sorted((one for one in term.students if one.missing or one.late), key=lambda one: -len(one.missing)),
            findings=overall(term.begun),
            commonest=COMMONEST,
            most=term.most,
            rule=term.rule,
            warnings=term.warnings,
        )
    )
    return write_page(term.course.root / CLASS / "report.html", page)


def overall(labs: list[LabOfTerm]) -> list[tuple[str, set[str], list[str], str]]:
    """All findings over the labs: key, students, labs, an example; those that most students have first."""
    students: dict[str, set[str]] = defaultdict(set)
    where: dict[str, list[str]] = defaultdict(list)
    examples: dict[str, str] = {}
    for lab in labs:
        for row in lab.findings:
            students[row.key] |= row.anywhere
            where[row.key].append(lab.name)
            examples.setdefault(row.key, next(iter(row.examples.values())))
    keys = sorted(students, key=lambda key: (-len(students[key]), key))
    return [(key, students[key], where[key], examples[key]) for key in keys]
