"""How the result of a check looks: as HTML in a notebook and in feedback, and as plain text everywhere else."""

from __future__ import annotations

import html as markup

from autograde.check import Finding, Result

PASSED, PARTLY, FAILED = "#1a7f37", "#9a6700", "#cf222e"  # readable on light and on dark backgrounds, as borders


def number(points: float) -> str:
    """Points without a needless ``.0``."""
    return f"{points:g}"


def heading(result: Result) -> str:
    """One line: the TODO and its points."""
    verdict = "passed" if result.passed else "not yet"
    return f"{result.todo}: {verdict}, {number(result.score)} of {number(result.points)} points"


def text(result: Result) -> str:
    """The result as plain text."""
    lines = [heading(result)]
    for finding in result.findings:
        lines += ["", f"* {finding.message}  [{finding.key}, -{number(min(finding.points, result.points))}]"]
        lines += [f"    {line}" for line in finding.report.splitlines()]
    return "\n".join(lines)


def html(result: Result) -> str:
    """The result as an HTML fragment, without scripts or outside resources. Says in words what it shows in colour."""
    colour = PASSED if result.passed else PARTLY if result.score > 0 else FAILED
    findings = "".join(finding_html(finding, result) for finding in result.findings)
    return (
        f'<section role="status" aria-label="Result of the check of {markup.escape(result.todo)}" '
        f'style="border-left: 4px solid {colour}; padding: 0.3em 0.8em; margin: 0.3em 0">'
        f"<strong>{'✓' if result.passed else '✗'} {markup.escape(heading(result))}</strong>"
        + (f'<ul style="margin: 0.4em 0 0; padding-left: 1.4em">{findings}</ul>' if findings else "")
        + "</section>"
    )


def finding_html(finding: Finding, result: Result) -> str:
    """One finding as a list item, with the per-rank report below it."""
    report = ""
    if finding.report:
        report = (
            '<pre aria-label="What each rank did" style="margin: 0.3em 0; white-space: pre-wrap">'
            f"{markup.escape(finding.report)}</pre>"
        )
    cost = f"{markup.escape(finding.key)}, −{number(min(finding.points, result.points))}"
    message = markup.escape(finding.message).replace("\n", "<br>")
    return f'<li style="margin: 0.2em 0">{message} <small>[{cost}]</small>{report}</li>'
