"""`lockstep try`: what a check says to an answer, without ranks where the TODO needs none."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from autograde.labs.folder import Lab, LabError
from autograde.trying import try_all, try_answer

FILES = {
    "lab.py": """
        # %% todo="double"
        def double(x):
            ### BEGIN SOLUTION
            return 2 * x
            ### END SOLUTION
        """,
    "probes/__init__.py": "",
    "probes/double.py": """
        from autograde.contract.call_probe import CallProbe
        from autograde.contract.evidence import Evidence, Number

        class Seen(Evidence):
            value: Number

        PROBE = CallProbe(Seen, lambda double, rank, case: Seen(Number.of(double(case["x"]))))
        """,
    "checks/__init__.py": "",
    "checks/double.py": """
        from autograde.rubric import CallCheck, Criterion, Mistakes, Same, changed, of_call, of_seen

        from ..probes import double

        def doubled(call, times=2):
            return [times * call.arguments["x"]]

        CHECK = CallCheck.of(
            "double",
            double.PROBE,
            lambda rng: [(1, {"x": 3.0}, {"x": rng.random()})],
            Criterion(
                "twice",
                1,
                "twice x",
                Same(of_seen("value"), doubled, lambda call, place: "the result", given=("x",)),
                Mistakes("squared: You square x.", changed(squared=lambda call: [call.arguments["x"] ** 2])),
            ),
            repeats=False,
        )
        """,
    "variants/__init__.py": 'SOURCES = {"someone": "https://example.org"}',
    "variants/double.py": '''
        ANSWERS = """
        == squared: squared, someone
        def double(x):
            return x * x
        """
        ''',
}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    for name, text in FILES.items():
        path = tmp_path / "14_toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip())
    return Lab("14_toy", tmp_path / "14_toy")


def test_an_answer_is_the_solution_a_variant_or_a_file(lab, tmp_path, monkeypatch):
    monkeypatch.setattr("autograde.trying.world_of", None)  # no ranks are started
    assert try_answer(lab, "double").startswith("double: passed, 1 of 1 points")
    assert "You square x." in try_answer(lab, "double", "squared")
    own = tmp_path / "own.py"
    own.write_text("def double(x):\n    return x + 1\n")
    assert "The result is 4, where 6 is expected, with x = 3." in try_answer(lab, "double", str(own))
    own.write_text("def double(x):\n    return x / 0\n")
    assert "ZeroDivisionError" in try_answer(lab, "double", str(own))


def test_what_there_is_to_try_is_told_where_a_name_is_wrong(lab):
    with pytest.raises(LabError, match="14_toy has no TODO treble; it has double"):
        try_answer(lab, "treble")
    with pytest.raises(
        LabError, match="cubed is no file, and no answer to double in 14_toy: there are solution, squared"
    ):
        try_answer(lab, "double", "cubed")


def test_each_answer_has_a_line_that_says_whether_it_is_judged_as_it_should_be(lab, monkeypatch):
    monkeypatch.setattr("autograde.trying.world_of", None)
    (lab.variants / "double.py").write_text(
        dedent('''
            ANSWERS = """
            == added
            def double(x):
                return x + x

            == one_more
            def double(x):
                return x + x + 1

            == squared: squared, someone
            def double(x):
                return x * x

            == called_otherwise: squared, someone
            def double(x):
                return -x

            == not_wrong: squared, someone
            def double(x):
                return 2.0 * x
            """
            ''').lstrip()
    )
    assert [*try_all(lab, "double")] == [
        (True, "ok  solution: 1 of 1, passed"),
        (True, "ok  added: 1 of 1, passed"),
        (False, "NOT one_more: 0 of 1, another-value; due is a pass"),
        (True, "ok  squared: 0 of 1, squared"),
        (False, "NOT called_otherwise: 0 of 1, another-value; due is squared"),
        (False, "NOT not_wrong: 1 of 1, passed; due is squared"),
    ]
    assert try_answer(lab, "double", "called_otherwise").endswith("Its title expects [squared].")
    assert "expects" not in try_answer(lab, "double", "squared")
