"""The bench that counts what checks are made of, on a lab of two TODOs and a library of one module."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

CHECK = '''\
"""The check of `swap`."""

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Criterion, Mistakes
from autograde.rubric.values.numbers import words as of_numbers

from ..probes import swap

words = Words("""
not-there: Nothing is there.

wrong-kind: It is another kind.
""")


def judge(call):
    """What is wrong."""
    if call.none:  # nothing
        return words("not-there" if call.late else "wrong-kind")
    return of_numbers("wrong-value", rank=0)


judge.gives = print
MISTAKES = Mistakes(
    f"""
    own-array: Each rank returns {{its}} own array: {1 + 1}.

    zeros: All are zero.
    """,
    own_array=lambda call: None,
)
CHECK = CallCheck(
    Criterion(
        "partner",
        "each rank returns its partner's array, "
        "and none its own",
        judge,
    ),
)
'''
PROBE = '''\
"""Calls."""


def call(swap, rank):
    """One call."""

    return swap(rank)
'''
FILES = {
    "solutions/01_a/lab.py": "",
    "solutions/01_a/checks/__init__.py": '"""Checks."""\n',
    "solutions/01_a/checks/swap.py": CHECK,
    "solutions/01_a/probes/swap.py": PROBE,
    "solutions/02_b/lab.py": "",
    "solutions/02_b/checks/long.py": "CHECK = [\n" + "    1,\n" * 200 + "]\n",
    "autograde/rubric/of_record.py": "def of_record(judge):\n    judge.of_record = True\n    return judge\n",
}


@pytest.fixture
def course(tmp_path) -> Path:
    """Two labs and a library, of which git knows the first lab, without its probe."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", *[*FILES][:3], *[*FILES][-1:]], ["commit", "-qm", "a: begin"]):
        subprocess.run([*git, *command], check=True)
    return tmp_path


def rows(part: str) -> dict[str, list[str]]:
    """The lines of a table by what they count."""
    split = [line.rsplit(maxsplit=2) for line in part.splitlines()[1:]]
    return {name: cells for name, *cells in split}


def test_it_prints_what_is_there_beside_what_was(bench, course):
    printed = bench("check_sizes.py", "--root", str(course), "--against", "HEAD")
    measures, sizes, own, long = map(rows, printed.split("\n\n"))
    # Of the check: words, def, if, two returns, gives, 3 of MISTAKES, 6 of CHECK; of the probe: def, return.
    assert own["01_a swap"] == ["15", "17"] and own["02_b long"] == ["-", "202"]
    assert [*long] == ["02_b long"]
    assert measures == {
        "own code of a TODO, with its probe: median": ["15", "109.5"],
        "TODOs with more than 160 lines of own code": ["0", "1"],
        "names that a check imports from the library: median": ["4", "2"],
        "modules that they come from: median": ["3", "1.5"],
        "`gives` written by hand": ["1", "1"],
        "attributes set on functions": ["1", "1"],
        "keys chosen by chains of ifs": ["3", "3"],
        "keys in tables of mistakes": ["2", "2"],
    }
    assert sizes["all labs"] == ["40", str(40 + len(PROBE.splitlines()) + 202)]
    assert sizes["autograde/{cells,contract,labs,fixtures,probes,rubric}"] == ["3", "3"]
    assert sizes["attributes set on functions there"] == ["1", "1"]
