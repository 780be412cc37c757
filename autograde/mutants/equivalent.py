"""Mutants that may keep all points: `equivalent.toml` in a lab's folder lists them, each with the reason.

    [mean.solution]                                       # the TODO, and which of its right answers
    'return sum(x, 0) / n -> return sum(x) / n' = "0 is the default."

    [mean]                                                # in any of its answers
    'n = len(x) -> n = len(x[:])' = "A copy is as long."

A key is what the command prints: the lines before and after, without indentation.
"""

from __future__ import annotations

import json
import tomllib

from autograde.labs.folder import Lab, LabError
from autograde.mutants.answers import Mutant

FILE = "equivalent.toml"
ANY = ""  # in the place of a variant: all answers to a TODO
Key = tuple[str, str, str]  # TODO, variant, change


def read_equivalent(lab: Lab) -> dict[Key, str]:
    """The reasons by TODO, variant (or ANY) and change; empty if the lab lists none. Raises LabError."""
    path = lab.folder / FILE
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise LabError(f"{path}: {error}") from error
    reasons: dict[Key, str] = {}
    for todo, entries in tables.items():
        if not isinstance(entries, dict):
            raise LabError(f"{path}: {todo} stands outside of a table called as a TODO")
        for name, entry in entries.items():
            variant, listed = (name, entry) if isinstance(entry, dict) else (ANY, {name: entry})
            reasons |= {(todo, variant, change): reason for change, reason in listed.items()}
    for (_, _, change), reason in reasons.items():
        if not isinstance(reason, str) or not reason.strip() or "\n" in reason:
            raise LabError(f"{path}: {change!r} needs a reason of one line")
    return reasons


def reason_of(mutant: Mutant, reasons: dict[Key, str]) -> str | None:
    """Why a mutant may keep all points; None if it is not listed."""
    todo, change = mutant.answer.todo, mutant.change
    return reasons.get((todo, mutant.answer.variant, change)) or reasons.get((todo, ANY, change))


def stale(mutants: list[Mutant], reasons: dict[Key, str]) -> list[Key]:
    """Entries of which the lab has no mutant any more."""
    there = {(mutant.answer.todo, name, mutant.change) for mutant in mutants for name in (mutant.answer.variant, ANY)}
    return [key for key in reasons if key not in there]


def entry(mutant: Mutant) -> list[str]:
    """The lines that would list a mutant, with the reason left to write."""
    change = mutant.change
    quoted = json.dumps(change, ensure_ascii=False) if "'" in change else f"'{change}'"
    return [f"[{mutant.answer.todo}.{mutant.answer.variant}]", f'{quoted} = ""']
