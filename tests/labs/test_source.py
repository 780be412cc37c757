"""`lab.py` is read in one place, and notebooks are written in one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_course import LAB_PY

from autograde.labs.places import REPOSITORY
from autograde.labs.source import cells_in, first_text


def modules_with(pattern: str) -> list[str]:
    """The modules of the kit in which the pattern is found."""
    paths = [path for package in ("autograde", "bench", "course") for path in (REPOSITORY / package).rglob("*.py")]
    return sorted(
        path.relative_to(REPOSITORY).as_posix() for path in paths if re.search(pattern, path.read_text("utf-8"))
    )


def test_a_cell_has_its_kind_its_text_and_what_its_marker_says():
    more = '\n# %% [markdown] answer="why" points=2\n# Because.\n\n# %%\n# %%px\nprint(1)\n'
    cells = cells_in(LAB_PY.lstrip("\n") + more)
    assert (cells[0].kind, cells[0].source, dict(cells[0].marker)) == ("markdown", "# A small lab", {})
    assert [dict(cell.marker) for cell in cells[1:4]] == [{"folded": True}, {"todo": "double"}, {"check": "double"}]
    assert cells[2].source.startswith("def double(x):") and cells[2].source.endswith("### END SOLUTION")
    assert (cells[-2].source, dict(cells[-2].marker)) == ("Because.", {"answer": "why", "points": 2})
    assert cells[-1].source == "%%px\nprint(1)", "a magic is a comment in lab.py"


@pytest.mark.parametrize(
    "text",
    [
        LAB_PY,
        "# %%\nx = 1\n\n# %% [markdown] tags=['a']\n# # After code\n#\n# Two\n# paragraphs.\n\n# %%\nx = 2\n",
        "# %%\nx = 1\n\n# %% [markdown]\n# # The last cell\n",
        "# %% [md]\n# # The short word\n\n# %% [markdown]\n# # Another\n\n# %%\nx = 1\n",
        "# %%\nx = 1\n\n# %%\nx = 2\n",
    ],
)
def test_the_first_text_is_that_of_the_whole_notebook(text: str, tmp_path: Path):
    (tmp_path / "lab.py").write_text(text.lstrip("\n"))
    texts = [cell.source for cell in cells_in(text.lstrip("\n")) if cell.kind == "markdown"]
    assert first_text(tmp_path / "lab.py") == (texts or [""])[0]


def test_no_more_is_parsed_than_the_first_text(tmp_path: Path):
    cells_in.cache_clear()
    (tmp_path / "lab.py").write_text("# %% [markdown]\n# # Title\n\n" + "# %%\nx = 1\n\n" * 100)
    assert first_text(tmp_path / "lab.py") == "# Title"
    assert len(cells_in("# %% [markdown]\n# # Title\n\n")) == 1 and cells_in.cache_info().hits == 1


def test_one_module_reads_lab_py_and_one_reads_lectures():
    assert modules_with(r"import jupytext") == ["autograde/labs/source.py", "autograde/lectures/notebooks.py"]
    assert modules_with(r"[\"'`]# %%(?! (todo|check|answer)=)") == []


def test_one_module_makes_cells_and_writes_the_files_of_notebooks():
    made = modules_with(r"nbformat\.writes?\(|new_(code|markdown)_cell\(|\bnew_notebook\(metadata")
    assert [name for name in made if not name.startswith("bench/")] == ["course/notebook_file.py"]
