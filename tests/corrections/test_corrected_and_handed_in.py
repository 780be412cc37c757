"""What a correction does to what was handed in before, and to what is graded after."""

from __future__ import annotations

import nbformat
from labs_page import write_page
from nbformat.sign import NotebookNotary
from small_course import ANSWERS, LAB
from test_corrected_text import COURSE, DOCSTRING, DONE, TYPO, cell, folder_of, get, read, work

from autograde.classroom.submissions.rebuild import rebuild
from course.jupyterhub.pages.corrected_text import correct_lab
from course.jupyterhub.pages.lab_states import course_states


def test_a_correction_is_no_change_of_what_was_handed_in_unless_it_changes_an_answer(room, ada, tmp_path):
    room.put_out()
    work(ada, DONE)
    ada.hand_in(COURSE, LAB)
    for typo, changed in ((TYPO, False), (DOCSTRING, True)):
        room.correct(typo)
        room.put_out()
        (lab,) = course_states(ada)[0].labs
        assert lab.correction is not None and not lab.changed
        correct_lab(ada, lab, NotebookNotary(data_dir=str(tmp_path)))
        assert course_states(ada)[0].labs[0].changed == changed
        assert ("You changed it after that" in write_page(ada)) == changed


def test_what_is_corrected_as_a_todo_is_what_is_graded_as_it(room, ada):
    room.put_out()
    notebook = work(ada, {"double": "# tried elsewhere", "total": ANSWERS["total"]})
    mine, total = cell(notebook, "double"), cell(notebook, "total")
    mine.id, total.id = total.id, mine.id  # as where ids were given anew, and tags say what is what
    nbformat.write(notebook, folder_of(ada) / f"{LAB}.ipynb")
    released = nbformat.read(room.exchange / COURSE / "outbound" / LAB / f"{LAB}.ipynb", as_version=4)
    before = rebuild(released, (folder_of(ada) / f"{LAB}.ipynb").read_bytes(), LAB).notebook
    room.correct(TYPO)
    room.put_out()
    assert get(room, ada).lost == ()
    released = nbformat.read(room.exchange / COURSE / "outbound" / LAB / f"{LAB}.ipynb", as_version=4)
    after = rebuild(released, (folder_of(ada) / f"{LAB}.ipynb").read_bytes(), LAB).notebook
    assert [cell(after, name).source for name in ANSWERS] == [cell(before, name).source for name in ANSWERS]


def test_an_answer_in_several_cells_stays_in_them(room, ada):
    room.put_out()
    notebook = work(ada, {"double": "def half(x):\n    return x / 2"})
    at = [each.id for each in notebook.cells].index("double")
    second = nbformat.v4.new_code_cell(ANSWERS["double"], metadata=notebook.cells[at].metadata)  # as JupyterLab splits
    notebook.cells.insert(at + 1, second)
    nbformat.write(notebook, folder_of(ada) / f"{LAB}.ipynb")
    room.correct(TYPO)
    room.put_out()
    assert get(room, ada).lost == ()
    after = read(ada).cells
    assert [each.source for each in after[at : at + 2]] == ["def half(x):\n    return x / 2", ANSWERS["double"]]
    assert [each.metadata.nbgrader.grade_id for each in after[at : at + 2]] == ["double", "double"]
