"""Every lab by its variants: right answers pass, known mistakes get their finding, a blank TODO costs itself only."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache

import pytest
from case_by_case import checked, checks_of, gathered, results_by_case
from labs_under_test import LABS, Worlds
from seeds import SEED
from wording import faults

from autograde.contract import check as contract
from autograde.contract import show
from autograde.contract.gpu import ON_GPU
from autograde.contract.result import Result
from autograde.labs.folder import Lab, load_lab, load_variants
from autograde.labs.questions import is_todo
from autograde.making.build import instructor_notebook, release
from autograde.sandbox.examine import Answers, examine
from autograde.sandbox.pool import Sandboxes
from autograde.sandbox.resources.limits import Limits


@cache
def cells_of(lab: Lab) -> tuple[dict[str, str], dict[str, str]]:
    """The source of each TODO's cell: with the solution, and blank as students get it."""
    solved = instructor_notebook(lab)
    return tuple(
        {cell.id: cell.source for cell in notebook.cells if is_todo(cell.metadata.get("nbgrader", {}))}
        for notebook in (solved, release(solved))
    )


def variants(kind: int) -> list:
    """(lab, todo, variant) for all RIGHT (0) or WRONG (1) of all labs."""
    return [
        pytest.param(lab, todo, variant, id=f"{lab.name}-{todo}-{name}")
        for lab in LABS
        for todo, entries in load_variants(lab.variants)[kind].items()
        for name, variant in entries.items()
    ]


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[dict[str, Sandboxes]]:
    """Sandboxes by the lab's name."""
    with ExitStack() as stack:
        yield {lab.name: stack.enter_context(Sandboxes(lab, Limits(), expected=0)) for lab in LABS}


def result_of(worlds: Worlds, lab: Lab, todo: str, source: str) -> Result:
    """Check one cell."""
    check = checks_of(lab)[todo]
    return checked(worlds.of(lab), check, source, contract.draw_cases(check, SEED))


TODOS = [pytest.param(lab, todo, id=f"{lab.name}-{todo}") for lab in LABS for todo in checks_of(lab)]


@pytest.mark.sample(1, "lab")
@pytest.mark.parametrize(("lab", "todo"), TODOS)
def test_the_solution_earns_all_points_in_several_verdicts_at_once(worlds, lab, todo):
    """At once, as when a class is graded: threads share torch's global generators. One TODO of each lab is run each
    time: of the others another right answer is, and some labs' notebooks, with all solutions and on all cases."""
    check = checks_of(lab)[todo]
    cases = contract.draw_cases(check, SEED)
    seen = gathered(worlds.of(lab), check, cells_of(lab)[0][todo], cases)
    on_gpu = [evidence for case, evidence in zip(cases, seen, strict=False) if case.get(ON_GPU)]
    assert all(each["state"] == "ok" for each in on_gpu), f"an error hides what comes after it; {SEED=}\n{on_gpu}"
    with ThreadPoolExecutor(3) as pool:
        results = [*pool.map(lambda _: contract.judge(check, cases, seen, SEED), range(3))]
    for result in results:
        assert result.findings == [], f"seed {SEED}\n{show.text(result)}"
        assert result.score == result.points


@pytest.mark.parametrize(("lab", "todo"), TODOS)
def test_a_blank_todo_loses_its_own_points(worlds, lab, todo):
    result = result_of(worlds, lab, todo, cells_of(lab)[1][todo])
    assert [finding.key for finding in result.findings] == ["not-done"], show.text(result)
    assert result.score == 0


@pytest.mark.sample(1, "lab", "todo")
@pytest.mark.parametrize(("lab", "todo", "source"), variants(0))
def test_another_right_answer_earns_all_points(worlds, lab, todo, source):
    """In three of the cases, and on a GPU; the solution is tried in all."""
    check = checks_of(lab)[todo]
    cases = contract.draw_cases(check, SEED)
    some = random.Random(f"{SEED} {source}").sample(cases, min(3, len(cases)))
    some += [case for case in cases if case.get(ON_GPU) and case not in some]
    result = checked(worlds.of(lab), check, source, some)
    assert result.findings == [], f"seed {SEED}\n{show.text(result)}"


@pytest.mark.sample(2, "lab", "todo")
@pytest.mark.parametrize(("lab", "todo", "wrong"), variants(1))
def test_a_known_mistake_gets_its_finding_and_loses_points(worlds, lab, todo, wrong):
    seen = []
    for result in results_by_case(worlds.of(lab), checks_of(lab)[todo], wrong.source):
        seen.append(show.text(result))
        assert [fault for finding in result.findings for fault in faults(finding.message)] == [], seen[-1]
        # What the further cases show rarely changes what was found: there is no need to try them.
        if wrong.finding in [finding.key for finding in result.findings]:
            assert result.score < result.points, seen[-1]
            return
    pytest.fail(f"seed {SEED}: no finding {wrong.finding}\n" + "\n".join(seen))


def halves(lab: Lab) -> tuple[set[str], set[str]]:
    """The lab's TODOs, dealt into two at random."""
    todos = list(checks_of(lab))
    random.Random(SEED).shuffle(todos)
    return set(todos[: len(todos) // 2]), set(todos[len(todos) // 2 :])


@pytest.mark.sample(1)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_in_a_graded_notebook_blank_todos_lose_exactly_their_own_points(sandboxes, lab):
    blank, _ = halves(lab)
    sources = {**cells_of(lab)[0], **{todo: cells_of(lab)[1][todo] for todo in blank}}
    marked = examine(load_lab(lab), Answers(sources, frozenset(blank)), SEED, sandboxes[lab.name]).marked
    assert {one.todo: one.score for one in marked} == {one.todo: one.points * (one.todo not in blank) for one in marked}


@pytest.mark.sample(1)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_in_a_graded_notebook_mistakes_cost_points_at_their_own_todos_only(sandboxes, lab):
    draw, (_, mistaken) = random.Random(SEED), halves(lab)
    wrong = {todo: draw.choice(list(load_variants(lab.variants)[1][todo].values())) for todo in sorted(mistaken)}
    sources = {**cells_of(lab)[0], **{todo: variant.source for todo, variant in wrong.items()}}
    for one in examine(load_lab(lab), Answers(sources, frozenset()), SEED, sandboxes[lab.name]).marked:
        keys = [finding.key for finding in one.result.findings]
        if one.todo in wrong:
            assert wrong[one.todo].finding in keys, f"seed {SEED}\n{show.text(one.result)}"
            assert one.score < one.points
        else:
            assert one.score == one.points, f"seed {SEED}\n{show.text(one.result)}"


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_each_todo_has_a_right_variant_and_three_wrong_ones_with_a_source(lab):
    right, wrong = load_variants(lab.variants)
    for todo in checks_of(lab):
        assert right.get(todo), f"{lab.name}: no RIGHT for {todo}"
        assert len(wrong.get(todo, {})) >= 3, f"{lab.name}: fewer than three WRONG for {todo}"
        for name, variant in wrong[todo].items():
            assert variant.known_from.strip(), f"{lab.name}: {todo}/{name} says nowhere it is known from"
    assert set(right) | set(wrong) == set(checks_of(lab))
