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
NEUTRAL = "var(--jp-ui-font-color2, #59636e)"
CODE = re.compile(r"`([^`]+)`")


def number(points: float) -> str:
    """Points, without ``.0`` where they are whole."""
    return f"{points:g}"


def remark(text: str) -> dict[str, str]:
    """A sentence to the student, by MIME type; as HTML it is wrapped between words, which a stream's text is not."""
    return {"text/plain": text, "text/html": f'<div role="status">{markup.escape(text)}</div>'}


def heading(result: Result) -> str:
    """One line: the TODO, whether it passed, and its points."""
    if not result.started:
        return f"{result.todo}: not started, {number(result.points)} points"
    verdict = "passed" if result.passed else "not yet"
    return f"{result.todo}: {verdict}, {number(result.score)} of {number(result.points)} points"


def text(result: Result, next_step: str = "") -> str:
    """The result as plain text. next_step: a last line, such as where a hint is."""
    lines = [heading(result)]
    for finding in result.findings if result.started else []:
        lines += ["", f"* {finding.message}  [{finding.key}, -{number(min(finding.points, result.points))}]"]
        lines += [f"    {line}" for line in finding.report.splitlines()]
    return "\n".join([*lines, *below(result, next_step)])


def html(result: Result, next_step: str = "") -> str:
    """The result as an HTML fragment. next_step: a last line, such as where a hint is."""
    colour, mark = look(result)
    findings = "".join(finding_html(finding, result) for finding in result.findings if result.started)
    return (
        f'<div role="status" aria-label="Result of the check of {markup.escape(result.todo)}" '
        f'style="border-left: 4px solid {colour}; padding: 0.3em 0.8em; margin: 0.3em 0">'
        f'<div role="heading" aria-level="3" style="font-weight: bold"><span aria-hidden="true">'
        f"{mark}</span> {markup.escape(heading(result))}</div>"
        + (f'<ul style="margin: 0.4em 0 0; padding-left: 1.4em">{findings}</ul>' if findings else "")
        + "".join(f'<div style="margin: 0.3em 0 0">{line_html(each)}</div>' for each in below(result, next_step))
        + "</div>"
    )


def look(result: Result) -> tuple[str, str]:
    """The colour and the mark of a result."""
    if not result.started:
        return NEUTRAL, "○"
    return (PASSED, "✓") if result.passed else (PARTLY if result.score > 0 else FAILED, "✗")


def calm(result: Result) -> str:
    """The sentence below a heading that has no findings: what to do first, or what was learnt."""
    return result.consolidation if result.passed else "" if result.started else result.findings[0].message


def below(result: Result, next_step: str) -> list[str]:
    """The lines below the findings."""
    return [line for line in (calm(result), *(result.remarks if result.started else ()), next_step) if line]


def line_html(line: str) -> str:
    """A line of ours or of a check's author as HTML; code stands between backquotes."""
    return CODE.sub(r"<code>\1</code>", markup.escape(line))


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
