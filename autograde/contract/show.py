"""Shows a check and its result: as HTML in a notebook and in feedback, as plain text everywhere else.

The HTML needs no script and loads nothing. It takes its colours from JupyterLab's theme, light or dark; without a
theme, as in feedback, it uses those of a light page. Whatever it shows in colour, it also says in words. It uses none
of the headings h1 to h6, as JupyterLab would list them in the lab's table of contents.
"""

from __future__ import annotations

import html as markup
import re

from autograde.contract.check import Result
from autograde.contract.verdict import Finding

PASSED = "var(--jp-success-color1, #1a7f37)"
PARTLY = "var(--jp-warn-color1, #9a6700)"
FAILED = "var(--jp-error-color1, #cf222e)"


def number(points: float) -> str:
    """Points, without ``.0`` where they are whole."""
    return f"{points:g}"


def remark(text: str) -> dict[str, str]:
    """A sentence to the student, by MIME type; as HTML it is wrapped between words, which a stream's text is not."""
    return {"text/plain": text, "text/html": f'<div role="status">{markup.escape(text)}</div>'}


def heading(result: Result) -> str:
    """One line: the TODO, whether it passed, and its points."""
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
    """The result as an HTML fragment."""
    colour = PASSED if result.passed else PARTLY if result.score > 0 else FAILED
    findings = "".join(finding_html(finding, result) for finding in result.findings)
    return (
        f'<div role="status" aria-label="Result of the check of {markup.escape(result.todo)}" '
        f'style="border-left: 4px solid {colour}; padding: 0.3em 0.8em; margin: 0.3em 0">'
        f'<div role="heading" aria-level="3" style="font-weight: bold"><span aria-hidden="true">'
        f"{'✓' if result.passed else '✗'}</span> {markup.escape(heading(result))}</div>"
        + (f'<ul style="margin: 0.4em 0 0; padding-left: 1.4em">{findings}</ul>' if findings else "")
        + "</div>"
    )


def finding_html(finding: Finding, result: Result) -> str:
    """One finding as a list item, with the report of the ranks below it."""
    report = ""
    if finding.report:
        report = (
            '<pre role="group" aria-label="What each rank did" style="margin: 0.3em 0; white-space: pre-wrap">'
            f"{markup.escape(finding.report)}</pre>"
        )
    cost = f"{markup.escape(finding.key)}, −{number(min(finding.points, result.points))}"
    message = markup.escape(finding.message).replace("\n", "<br>")
    return f'<li style="margin: 0.2em 0">{message} <small style="white-space: nowrap">[{cost}]</small>{report}</li>'


def progress(todo: str, done: int, cases: int) -> tuple[str, str]:
    """The progress of a check, as plain text and as HTML. done: how many of its cases are done."""
    message = f"Checking {todo}" + (f", case {done + 1} of {cases}" if cases > 1 else "") + " ..."
    position = f'value="{done}" max="{cases}" ' if cases > 1 else ""
    label = f"Progress of the check of {markup.escape(todo)}"
    return message, f'<div>{markup.escape(message)} <progress {position}aria-label="{label}"></progress></div>'


def quoted(text: str) -> str:
    """Text from a submission: shortened, and harmless in HTML and on a terminal."""
    return f"`{re.sub(r'[^A-Za-z0-9_. -]', '?', text[:40])}`"
