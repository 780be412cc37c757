"""Shows a check and its result: as HTML in a notebook and in feedback, as plain text everywhere else.

The HTML needs no script and loads nothing. It takes its colours from JupyterLab's theme, light or dark; without a
theme, as in feedback, it uses those of a light page. Whatever it shows in colour, it also says in words. It uses none
of the headings h1 to h6, as JupyterLab would list them in the lab's table of contents.
"""

from __future__ import annotations

import html as markup
import re

from autograde.contract.result import Finding, Result, Row

PASSED = "var(--jp-success-color1, #1a7f37)"
PARTLY = "var(--jp-warn-color1, #9a6700)"
FAILED = "var(--jp-error-color1, #cf222e)"
NEUTRAL = "var(--jp-ui-font-color2, #59636e)"
CODE = re.compile(r"`([^`]+)`")
HIDDEN = "position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)"  # but read aloud
MARKS = {"holds": "✓", "fails": "✗", "unjudged": "–", "later": "…"}  # of a rubric's rows
# The same, to be read aloud.
STATES = {"holds": "holds", "fails": "does not hold", "unjudged": "not judged", "later": "judged later"}
COLOURS = {"holds": PASSED, "fails": FAILED, "unjudged": NEUTRAL, "later": NEUTRAL}


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
    for finding in outside_the_rubric(result):
        lines += ["", f"* {finding.message}  [{finding.key}]"]
        lines += [f"    {line}" for line in finding.report.splitlines()]
    for row in result.rows:
        lines.append(f"  {MARKS[row.state] if result.started else '○'} {number(row.points):4} {row.says}")
        if row.finding:
            lines.append(f"         {row.finding.message}  [{row.finding.key}]")
            lines += [f"           {line}" for line in row.finding.report.splitlines()]
        elif row.reason:
            lines.append(f"         {STATES[row.state]}: {row.reason}")
    return "\n".join([*lines, *below(result, next_step)])


def html(result: Result, next_step: str = "") -> str:
    """The result as an HTML fragment. next_step: a last line, such as where a hint is."""
    colour, mark = look(result)
    findings = "".join(finding_html(finding) for finding in outside_the_rubric(result))
    rows = "".join(row_html(row, result) for row in result.rows)
    return (
        f'<div role="status" aria-label="Result of the check of {markup.escape(result.todo)}" '
        f'style="border-left: 4px solid {colour}; padding: 0.3em 0.8em; margin: 0.3em 0">'
        f'<div role="heading" aria-level="3" style="font-weight: bold"><span aria-hidden="true">'
        f"{mark}</span> {markup.escape(heading(result))}</div>"
        + (f'<ul style="margin: 0.4em 0 0; padding-left: 1.4em">{findings}</ul>' if findings else "")
        + f'<ul style="list-style: none; margin: 0.4em 0 0; padding: 0">{rows}</ul>'
        + "".join(f'<div style="margin: 0.3em 0 0">{line_html(each)}</div>' for each in below(result, next_step))
        + "</div>"
    )


def outside_the_rubric(result: Result) -> list[Finding]:
    """The findings that belong to no row of the rubric."""
    in_rows = [row.finding for row in result.rows if row.finding]
    return [finding for finding in result.findings if result.started and finding not in in_rows]


def row_html(row: Row, result: Result) -> str:
    """One criterion as a list item: a mark, its points, its sentence, and below it why it does not hold."""
    mark, colour, spoken = MARKS[row.state], COLOURS[row.state], f"{STATES[row.state]}, "
    if not result.started:
        mark, colour, spoken = "○", NEUTRAL, ""
    points = f"{number(row.points)} point{'' if row.points == 1 else 's'}"
    why = ""
    if row.finding:
        key = f'<small style="white-space: nowrap">[{markup.escape(row.finding.key)}]</small>'
        why = f"<div>{message_html(row.finding)} {key}{report_html(row.finding)}</div>"
    elif row.reason:
        why = f'<div style="color: {NEUTRAL}">{STATES[row.state]}: {line_html(row.reason)}</div>'
    return (
        '<li style="display: flex; margin: 0.2em 0">'
        f'<span aria-hidden="true" style="color: {colour}; flex: 0 0 1.4em; font-weight: bold">{mark}</span>'
        f'<span style="flex: 0 0 3em" aria-hidden="true">{number(row.points)}</span>'
        f'<div style="flex: 1 1 auto; min-width: 0"><span style="{HIDDEN}">{spoken}{points}: </span>'
        f"{line_html(row.says)}{why}</div></li>"
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


def finding_html(finding: Finding) -> str:
    """One finding as a list item, with the report of the ranks below it."""
    report = report_html(finding)
    key = f'<small style="white-space: nowrap">[{markup.escape(finding.key)}]</small>'
    return f'<li style="margin: 0.2em 0">{message_html(finding)} {key}{report}</li>'


def message_html(finding: Finding) -> str:
    """Its message; parts of it may be the student's."""
    return markup.escape(finding.message).replace("\n", "<br>")


def report_html(finding: Finding) -> str:
    """What each rank did, if that is known."""
    if not finding.report:
        return ""
    opening = '<pre role="group" aria-label="What each rank did" style="margin: 0.3em 0; white-space: pre-wrap">'
    return f"{opening}{markup.escape(finding.report)}</pre>"


def progress(todo: str, done: int, cases: int) -> tuple[str, str]:
    """The progress of a check, as plain text and as HTML. done: how many of its cases are done."""
    message = f"Checking {todo}" + (f", case {done + 1} of {cases}" if cases > 1 else "") + " ..."
    position = f'value="{done}" max="{cases}" ' if cases > 1 else ""
    label = f"Progress of the check of {markup.escape(todo)}"
    return message, f'<div>{markup.escape(message)} <progress {position}aria-label="{label}"></progress></div>'


def quoted(text: str) -> str:
    """Text from a submission: shortened, and harmless in HTML and on a terminal."""
    return f"`{re.sub(r'[^A-Za-z0-9_. -]', '?', text[:40])}`"
