"""A lab's hints: three for each TODO, or one clear error; and the note of those that somebody unfolded."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from autograde.hints import TAKEN, load_hints, next_hint, note_taken, read_taken
from autograde.labs.folder import LabError
from course.lab_archive import HINTS

THREE = 'question = "Why?"\npointer = "There."\nskeleton = "def f(): ..."\n'


def hints(folder: Path, text: str, *todos: str) -> dict:
    """The hints in a file of this text."""
    (folder / HINTS).write_text(text)
    return load_hints(folder, todos)


def test_each_hint_is_markdown_and_the_skeleton_is_code(tmp_path):
    (found,) = hints(tmp_path, f"[f]\n{THREE}", "f").values()
    assert found.markdown(1) == "**Hint 1 of 3, a question.** Why?"
    assert found.markdown(2) == "**Hint 2 of 3, a pointer.** There."
    assert found.markdown(3).startswith("**Hint 3 of 3, a skeleton.**")
    assert found.markdown(3).endswith("\n\n```python\ndef f(): ...\n```")


def test_a_lab_may_have_no_hints(tmp_path):
    assert load_hints(tmp_path, ["f"]) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"[f]\n{THREE}[h]\n{THREE}", "there is no TODO `h`; the lab's TODOs are f, g"),
        (f"[f]\n{THREE}", "TODO `g` has no hints; add [g] with question, pointer, skeleton"),
        (f"[f]\n{THREE}[g]\nquestion = 'Why?'", "[g] must have three texts, question, pointer, skeleton"),
        (f"[f]\n{THREE}[g]\n{THREE.replace('There.', ' ')}", "[g] must have three texts"),
        (f"[f]\n{THREE}[g]\n{THREE}answer = 'f'", "[g] must have three texts"),
        (f"g = 1\n[f]\n{THREE}", "[g] must have three texts"),
        ("[f", "cannot be read: "),
    ],
)
def test_hints_that_do_not_fit_the_lab_are_one_clear_error(tmp_path, text, said):
    with pytest.raises(LabError) as error:
        hints(tmp_path, text, "f", "g")
    assert f"{HINTS}" in str(error.value) and said in str(error.value)


def test_the_note_keeps_the_most_that_was_unfolded(tmp_path):
    assert read_taken(tmp_path) == {}
    for todo, number in (("f", 1), ("f", 2), ("g", 1), ("f", 1)):
        note_taken(tmp_path, todo, number)
    assert read_taken(tmp_path) == {"f": 2, "g": 1}


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "3", '{"f": 4, "g": 0, "h": true, "i": "2", "j": 1.0, "k": null}', "[" * 60_000]
)
def test_a_note_that_cannot_be_believed_counts_as_none(tmp_path, text):
    (tmp_path / TAKEN).write_text(text)
    assert read_taken(tmp_path) == {}
    note_taken(tmp_path, "f", 3)
    assert json.loads((tmp_path / TAKEN).read_text()) == {"f": 3}


def test_a_note_that_leads_elsewhere_is_not_read(tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"f": 3}')
    folder = tmp_path / "handed in"
    folder.mkdir()
    (folder / TAKEN).symlink_to(elsewhere)
    assert read_taken(folder) == {}
    (folder / TAKEN).unlink()
    os.mkfifo(folder / TAKEN)
    assert read_taken(folder) == {}


def test_the_way_to_the_next_hint_ends_after_the_third():
    assert '`check.hint("f")`' in next_hint("f", 0) and "They cost no points" in next_hint("f", 0)
    assert "your instructor sees" in next_hint("f", 0)
    assert '`check.hint("f", 2)` shows hint 2 of 3, a pointer' in next_hint("f", 1)
    assert '`check.hint("f", 3)` shows hint 3 of 3, a skeleton' in next_hint("f", 2)
    assert next_hint("f", 3) == ""
