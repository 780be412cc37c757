"""Writes down what every right answer, known mistake and mutant gets, and compares two such tables.

    python bench/verdict_table.py make before.jsonl [--lab 03_pi_allreduce] [--mutants]
    python bench/verdict_table.py compare before.jsonl after.jsonl

Make one table before checks are rewritten, and one after: `compare` lists right answers that lose points, mistakes that
keep all of theirs, and mistakes that are called otherwise. A line of a table is one answer; `make` goes on where it was
stopped. With PYTHONPATH set to another checkout, its checks are used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
from tqdm import tqdm

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.labs.answers import SOLUTION, known_answers
from autograde.labs.folder import Lab, find_labs, load_checks, load_ranks
from course.world import World

SEED = 20260101


@click.group()
def main() -> None:
    """Tables of what each answer gets."""


@main.command()
@click.argument("table", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--lab", "names", multiple=True, help="Only these labs.")
@click.option("--root", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="The checkout.")
@click.option("--seed", default=SEED, show_default=True, help="Of the cases.")
@click.option("--mutants", is_flag=True, help="Grade the mutants of the solutions instead, in sandboxes.")
def make(table: Path, names: tuple[str, ...], root: Path, seed: int, mutants: bool) -> None:
    """Add to TABLE what is not in it yet."""
    rows = read(table) if table.exists() else {}
    labs = [lab for lab in find_labs(root) if not names or lab.name in names]
    with table.open("a", encoding="utf-8") as file:
        for lab in labs:
            graded = graded_mutants(lab, seed, rows) if mutants else graded_variants(lab, seed, rows)
            for row in graded:
                file.write(json.dumps(row) + "\n")
                file.flush()


def graded_variants(lab: Lab, seed: int, rows: dict) -> Iterator[dict]:
    """The rows of a lab's variants that are not among `rows`."""
    checks = {check.todo: check for check in load_checks(lab.checks)}
    answers = [each for each in known_answers(lab) if (lab.name, each.todo, each.variant) not in rows]
    if not answers:
        return
    with World(max(4, load_ranks(lab.checks)), progress=False) as world:
        for answer in tqdm(answers, desc=lab.name):
            result = contract.run(checks[answer.todo], world, Subject(answer.todo, answer.source), seed)
            keys = [each.key for each in result.findings]
            yield {
                **{"lab": lab.name, "todo": answer.todo, "answer": answer.variant},
                **{"kind": "wrong" if answer.due else "right", "expected": answer.due},
                **{"score": round(result.score, 6), "points": result.points, "keys": keys},
            }


def graded_mutants(lab: Lab, seed: int, rows: dict) -> Iterator[dict]:
    """The rows of the mutants of a lab's solutions that are not among `rows`."""
    from autograde.mutants.answers import mutants as all_mutants
    from autograde.mutants.grading import grader

    of_solution = [each for each in all_mutants(lab) if each.answer.variant == SOLUTION]
    named = {f"{each.operator}: {each.change}": each for each in of_solution}
    left = [each for name, each in named.items() if (lab.name, each.answer.todo, name) not in rows]
    with grader(lab, seed, 1) as grading:
        for mutant, outcome in tqdm(grading.grade(left), desc=lab.name, total=len(left)):
            yield {
                **{"lab": lab.name, "todo": mutant.answer.todo, "answer": f"{mutant.operator}: {mutant.change}"},
                **{"kind": "mutant", "refused": outcome.refused, "keys": [outcome.finding or outcome.unjudged]},
            }


@main.command()
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def compare(before: Path, after: Path) -> None:
    """List what differs between two tables; exit with 1 if an answer is judged wrongly in AFTER."""
    old, new, wrong = read(before), read(after), 0
    for place, row in sorted(new.items()):
        was = old.get(place)
        passes = row["kind"] == "wrong" and row["score"] >= row["points"]
        passes |= row["kind"] == "mutant" and was is not None and was["refused"] and not row["refused"]
        if row["kind"] == "right" and row["score"] < row["points"]:
            wrong += report("REFUSED", place, was, row)
        elif passes:
            wrong += report("PASSES", place, was, row)
        elif row["kind"] == "wrong" and row["expected"] not in row["keys"]:
            wrong += report("UNNAMED", place, was, row)
        elif was and row["kind"] == "wrong" and was["keys"] != row["keys"]:
            report("other words", place, was, row)
    for place in sorted(old.keys() - new.keys()):
        if place[0] in {lab for lab, *_ in new}:
            report("gone", place, old[place], None)
    click.echo(f"{len(new)} answers, {wrong} judged wrongly")
    raise SystemExit(wrong > 0)


def report(what: str, place: tuple, was: dict | None, row: dict | None) -> int:
    """Print one difference. Returns 1, to be counted."""

    def said(row: dict | None) -> str:
        return "-" if row is None else f"{row.get('score', '')} {' '.join(map(str, row['keys']))}"

    click.echo(f"{what:12}{' '.join(place)}: {said(was)} -> {said(row)}")
    return 1


def read(table: Path) -> dict[tuple[str, str, str], dict]:
    """A table's rows by lab, TODO and answer."""
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    return {(row["lab"], row["todo"], row["answer"]): row for row in rows}


if __name__ == "__main__":
    main()
