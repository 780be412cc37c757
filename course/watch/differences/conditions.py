"""What decides, in the text of a cell, whether a rank comes to a call that it did not make."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import replace

from course.watch.differences.difference import Difference, Recorded
from course.watch.differences.groups import COLLECTIVES
from course.watch.differences.messages_met import RECEIVES, SENDS
from course.watch.events import in_cell, kind_of
from course.watch.wording import enumerate_words

MOST = 4  # lines; more of them say nothing
NO_CALLS = frozenset({"join", "split", "create", "sub", "clone"})  # other things have methods of these names, too
ASK = " Which condition, or which early return, lets a rank pass it by?"  # where the cell does not say so
KINDS = {"call-missing": COLLECTIVES, "never-sent": SENDS, "never-received": RECEIVES}
LOOPS = (ast.While, ast.For)
BRANCHES = (*LOOPS, ast.If, ast.Try, ast.Match, ast.IfExp)
ENDS, NEXT = (ast.Return, ast.Raise), (ast.Break, ast.Continue)  # of a function, of a step of a loop


def with_conditions(differences: Sequence[Difference], ranks: Sequence[Recorded]) -> list[Difference]:
    """Differences in which a rank does not make a call, each with the lines that decide about it, if there are such and
    all calls come from one cell."""
    files = {file for rank in ranks for file in rank.cells if in_cell(file)}
    source = linecache.getlines(files.pop()) if len(files) == 1 else []
    return [explain(each, source) if each.absent else each for each in differences]


def explain(difference: Difference, source: Sequence[str]) -> Difference:
    """A difference with the lines that decide whether a rank makes the call that is missing."""
    lines = deciding(source, difference.lines, KINDS[difference.key])
    if not 0 < len(lines) <= MOST:
        return replace(difference, text=difference.text + ASK * (difference.key == "call-missing"))
    if len(lines) == 1:
        decide = f"Cell line {lines[0]} ({source[lines[0] - 1].strip()}) decides"
    else:
        decide = f"Cell lines {enumerate_words([*map(str, lines)])} decide"
    what = {"never-sent": "send", "never-received": "receive"}.get(difference.key, "make the call")
    text = f"{difference.text} {decide} which ranks {what}."
    return replace(difference, text=text, lines=tuple(sorted({*difference.lines, *lines})))


def deciding(source: Sequence[str], lines: Sequence[int], kinds: frozenset[str]) -> list[int]:
    """The lines of conditions, loops and early exits before calls like those in some lines of a cell, in the function
    in which these stand. kinds: of the calls that are looked for; of collective calls, those that `lines` have."""
    try:
        tree = ast.parse("".join(source))
    except (SyntaxError, ValueError):
        return []
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    around = [node for node in functions if any(node.lineno <= line <= node.end_lineno for line in lines)]
    scope = max(around, key=lambda node: node.lineno, default=tree)
    calls = [call for call in ast.walk(scope) if isinstance(call, ast.Call) and kind(call) in kinds]
    if kinds == COLLECTIVES:
        here = {kind(call) for call in calls if any(call.lineno <= line <= call.end_lineno for line in lines)}
        calls = [call for call in calls if kind(call) in here]
    return sorted({line for call in calls for line in before(scope, call)})


def kind(call: ast.Call) -> str:
    """The kind of communication that a call is by its name."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return "other" if name in NO_CALLS else kind_of(name)


def before(scope: ast.AST, call: ast.Call) -> Iterator[int]:
    """The lines that decide whether a call in a function is made."""
    branches = [node for node in ast.walk(scope) if isinstance(node, BRANCHES)]
    around = [node for node in branches if node.lineno <= call.lineno <= node.end_lineno]
    loops = [node for node in around if isinstance(node, LOOPS)]
    for node in branches:
        in_loop = any(loop.lineno < node.lineno for loop in loops)
        exits = ENDS + NEXT if in_loop and isinstance(node, ast.If) else ENDS
        earlier = node.end_lineno < call.lineno
        if node in around or (earlier and any(isinstance(each, exits) for each in ast.walk(node))):
            yield node.lineno
