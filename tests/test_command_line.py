"""What is wrong with a command line is said in one line, which names the thing and where it is explained."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from autograde.cli import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("grades", "03_pi_allreduce", "--format", "blackboard"),
            "'moodle', 'canvas', 'csv'; `./lockstep grades --help`",
        ),
        (("grade",), "Missing argument 'LAB'; `./lockstep grade --help` explains it"),
        (("grade", "03_pi_allreduce", "--jobs", "many"), "'--jobs': 'many' is not a valid integer"),
        (("mark",), "No such command 'mark'"),
    ],
)
def test_it_is_one_line(words, said):
    result = CliRunner().invoke(main, words, prog_name="lockstep")
    assert result.exit_code == 2
    assert said in result.output and result.output.startswith("Error: ") and result.output.count("\n") == 1
