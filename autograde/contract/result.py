"""What comes of a check: findings, the rows of its rubric, and the result."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

LONGEST = 4000  # characters of a finding's message or report
NOT_DONE = "not-done"  # key of the finding on a TODO that still is as it was released
LATER = "later"  # state of a row that only the grader judges


@dataclass(frozen=True)
class Finding:
    """One thing a check saw.

    key: what kind of mistake, stable and short: small letters and hyphens.
    message: what was seen and what it means, for the student. Never the answer.
    report: what each rank did, where that helps.
    """

    key: str
    message: str
    report: str = ""


@dataclass(frozen=True)
class Row:
    """One criterion of a rubric, and whether it holds; see `autograde.rubric`.

    name, says, points: of the criterion. state: "holds", "fails", "unjudged" where nobody can tell, or LATER, of what
    only the grader sees; what holds gives points, and so does what is judged later, until it is. finding: where it
    fails, the words. reason: where it is unjudged, why.
    """

    name: str
    says: str
    points: float
    state: str
    finding: Finding | None = None
    reason: str = ""

    @property
    def score(self) -> float:
        """The points that it gives."""
        return self.points if self.state in ("holds", LATER) else 0.0

    @classmethod
    def from_plain(cls, data: dict) -> Row:
        """The inverse of `asdict`."""
        return cls(**{**data, "finding": Finding(**data["finding"]) if data["finding"] else None})


@dataclass(frozen=True)
class Result:
    """The outcome of one check: a rubric, and the points that its rows give.

    findings: why runs broke off, or why nothing was judged, and those of rows that fail. rows: one for each criterion.
    consolidation: of the check, if it passed. remarks: what there is to say besides, which costs nothing.
    """

    todo: str
    points: float
    score: float
    findings: list[Finding]
    rows: list[Row]
    seed: int | None = None
    consolidation: str = ""
    remarks: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def started(self) -> bool:
        """Whether there is more than the stub that was released."""
        return [finding.key for finding in self.findings] != [NOT_DONE]

    def plain(self) -> dict:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict) -> Result:
        """The inverse of `plain`."""
        findings = [Finding(**each) for each in data["findings"]]
        return cls(**{**data, "findings": findings, "rows": [Row.from_plain(row) for row in data["rows"]]})


def cut(text: str) -> str:
    """`text`, shortened in its middle if it is very long: parts of it may be the student's."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} [...] {text[-half:]}"
