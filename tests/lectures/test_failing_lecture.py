"""A lecture whose cell fails is named with its line, and the others are built."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograde.cli import main
from autograde.labs.folder import find_labs
from autograde.labs.places import REPOSITORY
from autograde.lectures.notebooks import FOLDER

SOUND = "# 1 Sound\n\n```{code-cell}\nprint(6 * 7)\n```\n\nThe [other](02_broken.ipynb) one.\n"
BROKEN = """# 2 Broken

Text.

```{code-cell}
:tags: [hide-input]
# It fails.
total = 5
assert total == 6, 'not six'
```
"""
INDEX = "# Lectures\n\n```{toctree}\n01_sound\n02_broken\n```\n"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of two lectures, the second of which fails."""
    folder = tmp_path / FOLDER
    shutil.copytree(REPOSITORY / FOLDER / "static", folder / "static")
    shutil.copy(REPOSITORY / FOLDER / "conf.py", folder)
    for name, text in {"01_sound.md": SOUND, "02_broken.md": BROKEN, "index.md": INDEX}.items():
        (folder / name).write_text(text)
    (tmp_path / "labs").mkdir()
    monkeypatch.setenv("LOCKSTEP_COURSE", str(tmp_path))
    return tmp_path


@pytest.mark.thorough
def test_a_lecture_that_fails_is_named_with_its_line_and_the_others_are_built(course: Path) -> None:
    result = CliRunner().invoke(main, ["book"])
    assert result.exit_code == 1
    assert "Error: 02_broken.md:9: AssertionError: not six" in result.output
    assert "01_sound: ran in" in result.output and "build/book/html/index.html: built" in result.output
    assert ">42\n" in (course / "build/book/html/course/lectures/01_sound.html").read_text()


@pytest.mark.thorough
def test_a_link_that_leads_nowhere_fails_and_is_named(course: Path) -> None:
    (course / FOLDER / "02_broken.md").write_text("# 2 Mended\n\nSee [the lecture](99_none.ipynb).\n")
    result = CliRunner().invoke(main, ["book"])
    assert result.exit_code == 1
    assert "99_none" in result.output and "02_broken" in result.output


@pytest.mark.thorough
def test_a_link_to_a_lab_that_the_course_does_not_have_is_text_and_is_told(course: Path) -> None:
    text = "# 2 Mended\n\nSee [the\nlab](../../labs/99_none/99_none.ipynb) and [a lecture](01_sound.ipynb).\n"
    (course / FOLDER / "02_broken.md").write_text(text)
    result = CliRunner().invoke(main, ["book"])
    assert result.exit_code == 0, result.output
    assert "99_none: not a lab of this course; what links it is text" in result.output
    page = (course / "build/book/html/course/lectures/02_broken.html").read_text()
    assert "99_none" not in page and re.search(r"See the\s+lab and <a", page)


def test_each_link_of_the_lectures_to_a_lab_leads_to_its_notebook_or_to_a_lab_that_is_not_there() -> None:
    linked = set()
    for path in sorted((REPOSITORY / FOLDER).glob("*.md")):
        linked |= {*re.findall(r"\]\(\.\./\.\./labs/(\w+)/([^)\s]+)\)", path.read_text())}
    there = {lab.name for lab in find_labs(REPOSITORY)}
    assert {lab for lab, _ in linked} & there
    for lab, file in linked:
        assert file == f"{lab}.ipynb"
        assert lab in there or not [name for name in there if name[:3] == lab[:3]], f"{lab} is called otherwise"


def test_a_lecture_that_is_not_there_is_told(course: Path) -> None:
    result = CliRunner().invoke(main, ["book", "07_none"])
    assert (result.exit_code, result.output.strip()) == (
        1,
        "Error: there is no lecture 07_none; there are: 01_sound, 02_broken",
    )
