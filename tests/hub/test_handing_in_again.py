"""What happens to who hands in: nothing twice, nothing replaced without a question, and a receipt that says what is in
it."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from labs_page import write_page
from nbgrader.utils import notebook_hash
from one_student import COURSE, LAB, NOTEBOOK, student_with, todo

from course.exchange.due import content_of, deadline_file, to_the_minute
from course.exchange.handed_in.again import ConfirmationNeeded, Unchanged
from course.exchange.handed_in.choice import choice_file, write_choice
from course.jupyterhub.pages.confirmation import confirmation
from course.jupyterhub.pages.lab_states import LabState, course_states
from course.jupyterhub.pages.renamed import rename_back
from course.jupyterhub.pages.student_exchange import StudentExchange
from course.overview import RESULT, text_mark

SECRET = "submission_secret.txt"
RIGHT = "def {}(x):\n    return 2 * x"


@pytest.fixture
def ada(tmp_path: Path) -> StudentExchange:
    """A student who has fetched a lab with three TODOs."""
    return student_with(tmp_path, [*todo("double"), *todo("total"), *todo("mean")])


def notebook(exchange: StudentExchange) -> Path:
    """The student's notebook."""
    return exchange.root / COURSE / LAB / NOTEBOOK


def lab_of(exchange: StudentExchange) -> LabState:
    """How the lab stands."""
    return course_states(exchange)[0].labs[0]


def write(path: Path, **sources: str) -> None:
    """Write into the cells of these names, and save."""
    saved = nbformat.read(path, as_version=4)
    for cell in saved.cells:
        cell.source = sources.get(cell.id, cell.source)
    nbformat.write(saved, path)


def run(path: Path, **passed: bool) -> None:
    """Run the checks of these TODOs, with what they say, and save."""
    saved = nbformat.read(path, as_version=4)
    texts = {cell.id: cell.source for cell in saved.cells}
    for cell in saved.cells:
        name = cell.id.removesuffix("-check")
        if name != cell.id and name in passed:
            cell.execution_count = 7
            result = {"passed": passed[name], "checked": text_mark(texts[name])}
            cell.outputs = [nbformat.v4.new_output("display_data", metadata={RESULT: result})]
    saved.metadata["language_info"] = {"name": "python", "version": "3.11.2"}
    nbformat.write(saved, path)


def submissions(exchange: StudentExchange) -> list[Path]:
    """What is in the exchange, oldest first."""
    return sorted((exchange.place / COURSE / "inbound").glob("ada+*"))


def earlier(exchange: StudentExchange, hours: int) -> datetime:
    """Hand in, as if it had been so many hours ago. Returns when that was."""
    exchange.hand_in(COURSE, LAB)
    when = datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=hours)
    (*_, submission), receipts = submissions(exchange), exchange.place / COURSE / "inbound" / ".receipts.ada" / COURSE
    receipt = receipts / submission.name.rpartition("+")[0]
    receipt.rename(receipts / f"ada+{LAB}+{when} UTC")
    shutil.rmtree(exchange.root / ".local")
    return when


def due(exchange: StudentExchange, hours: float) -> None:
    """Set the deadline, so many hours from now."""
    when = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=hours)
    deadline_file(exchange.place, COURSE, LAB).write_bytes(content_of(when))


def give_back(exchange: StudentExchange, submission: Path) -> None:
    """Release feedback on a submission."""
    name = notebook_hash(secret=(submission / SECRET).read_text(), notebook_id=LAB)
    page = exchange.place / COURSE / "feedback" / f"{name}.html"
    page.write_text(f"<h4>{LAB} (Score: 13.5 / 14.0)</h4>")


def test_what_has_not_changed_is_not_handed_in_again_and_running_it_is_no_change(ada):
    write(notebook(ada), double=RIGHT.format("double"))
    ada.hand_in(COURSE, LAB)
    when = to_the_minute(lab_of(ada).handed_in)
    run(notebook(ada), double=True)
    with pytest.raises(Unchanged, match=f"^It is as you handed it in at {when}: nothing was handed in again.$"):
        ada.hand_in(COURSE, LAB)
    assert len(submissions(ada)) == 1 and not lab_of(ada).changed and "You changed it" not in write_page(ada)
    shutil.rmtree(ada.root / ".local")
    with pytest.raises(Unchanged):
        ada.hand_in(COURSE, LAB, confirmed=True)


def test_a_page_reads_a_file_again_only_once_it_has_changed(ada):
    data = notebook(ada).parent / "data.bin"
    data.write_bytes(b"1234")
    os.utime(data, (0, 0))
    ada.hand_in(COURSE, LAB)
    assert not lab_of(ada).changed
    with open(data, "r+b") as file:  # so that nobody sees it
        file.write(b"4")
    os.utime(data, (0, 0))
    assert not lab_of(ada).changed
    data.write_bytes(b"1235")
    assert lab_of(ada).changed
    data.write_bytes(b"1234")
    assert not lab_of(ada).changed


@pytest.mark.parametrize("kind", ["a text", "a picture in a cell", "another file", "a tag that was lost", "gone"])
def test_what_has_changed_is_handed_in(ada, kind):
    ada.hand_in(COURSE, LAB)
    saved = nbformat.read(notebook(ada), as_version=4)
    if kind == "a text":
        saved.cells[0].source += "\nMy notes."
    elif kind == "a picture in a cell":
        saved.cells[0].attachments = {"a.png": {"image/png": "AAAA"}}
    elif kind == "a tag that was lost":
        del saved.cells[1].metadata["nbgrader"]
    elif kind == "another file":
        (notebook(ada).parent / "run.json").write_text("{}")
    else:
        shutil.rmtree(submissions(ada)[0])  # the grader has made room
    nbformat.write(saved, notebook(ada))
    assert lab_of(ada).changed or kind == "gone"
    ada.hand_in(COURSE, LAB)
    assert len(submissions(ada)) == 1 + (kind != "gone")


def test_what_would_be_late_and_replace_one_in_time_is_asked_first_and_what_was_late_is_not(ada):
    due(ada, -1)
    when = earlier(ada, 2)
    write(notebook(ada), double=RIGHT.format("double"))
    with pytest.raises(ConfirmationNeeded) as asked:
        ada.hand_in(COURSE, LAB)
    in_time = f"This would be 1 h late, and replace what you handed in at {to_the_minute(when)}, in time"
    assert asked.value.question == f"{in_time}. Hand it in all the same?"
    assert "Nothing was handed in; your files are as they were." in str(asked.value)
    assert "add --PrivateSubmit.confirmed=True to `nbgrader submit`" in str(asked.value)
    give_back(ada, submissions(ada)[0])
    with pytest.raises(ConfirmationNeeded) as asked:
        ada.hand_in(COURSE, LAB)
    assert asked.value.question == f"{in_time}, graded 13.5 of 14. Hand it in all the same?"
    assert len(submissions(ada)) == 1
    ada.hand_in(COURSE, LAB, confirmed=True)
    write(notebook(ada), total=RIGHT.format("total"))
    ada.hand_in(COURSE, LAB)  # late, and what it replaces was late, too
    assert len(submissions(ada)) == 3
    give_back(ada, submissions(ada)[2])
    write(notebook(ada), mean=RIGHT.format("mean"))
    with pytest.raises(ConfirmationNeeded, match=r"late, and replace what you handed in at .* UTC, graded 13.5 of 14"):
        ada.hand_in(COURSE, LAB)


def test_what_an_instructor_chose_counts_and_its_student_is_told_before_and_after(ada):
    due(ada, -1)
    when = earlier(ada, 2)
    write(notebook(ada), double=RIGHT.format("double"))
    ada.hand_in(COURSE, LAB, confirmed=True)
    assert "late" in write_page(ada) and "2 times, the last one counts" in write_page(ada)
    give_back(ada, submissions(ada)[1])
    chosen = choice_file(ada.place, COURSE, LAB, "ada")
    write_choice(chosen, "ada", f"{when} UTC")
    counts = f"What you handed in at {to_the_minute(when)} counts, by your instructor's choice."
    page = write_page(ada)
    assert "2 times, and what you handed in then counts, by your instructor's choice, not what you handed in at" in page
    assert "late" not in page and "13.5 of 14 points , on what you handed in at" in page
    write(notebook(ada), total=RIGHT.format("total"))
    assert "What you hand in now does not count, unless your instructor lets it." in write_page(ada)
    with pytest.raises(ConfirmationNeeded) as asked:
        ada.hand_in(COURSE, LAB)
    assert asked.value.question.startswith(f"{counts} What you hand in now does not count, unless your instructor")
    ada.hand_in(COURSE, LAB, confirmed=True)
    assert counts in confirmation(ada, lab_of(ada))
    write_choice(chosen, "ada", "")
    assert "3 times, the last one counts" in write_page(ada)


def test_a_receipt_says_which_file_was_taken_and_how_far_each_todo_is(ada):
    write(notebook(ada), double=RIGHT.format("double"), total="total = None")
    run(notebook(ada), double=True, total=False)
    ada.hand_in(COURSE, LAB)
    lab = lab_of(ada)
    said = confirmation(ada, lab)
    assert f"{NOTEBOOK} was taken as it was saved at {to_the_minute(lab.saved)}." in said
    assert "1 of 3 checks has passed in it; `mean` is untouched; `total` failed its check." in said
    write(notebook(ada), double="double = None", mean=RIGHT.format("mean"))
    ada.hand_in(COURSE, LAB)
    said = confirmation(ada, lab_of(ada))
    assert "0 of 3 checks have passed in it; `total` failed its check; `double` and `mean` are not checked" in said
    assert "It was time 2; the last one counts." in said
    notebook(ada).rename(notebook(ada).with_name("final.ipynb"))
    ada.hand_in(COURSE, LAB)
    assert f"There is no {NOTEBOOK} in it, but final.ipynb." in confirmation(ada, lab_of(ada))


def test_a_renamed_notebook_is_named_and_one_step_renames_it_back(ada):
    final = notebook(ada).with_name("90_small_final.ipynb")
    write(notebook(ada), double=RIGHT.format("double"))
    notebook(ada).rename(final)
    (final.parent / "own.ipynb").write_text(nbformat.writes(nbformat.v4.new_notebook()))
    page = write_page(ada)
    assert (
        "90_small.ipynb is missing in your folder hpc/90_small, and your work is in 90_small_final.ipynb , which is "
        "graded in its place." in page
    )
    assert "Rename it back Fetch again" in page
    ada.fetch(COURSE, LAB)
    assert "Nothing is written in 90_small.ipynb , and your work is in 90_small_final.ipynb" in write_page(ada)
    rename_back(notebook(ada), lab_of(ada).renamed[0])
    lab = lab_of(ada)
    assert lab.trouble == "" and lab.complete and not final.exists()
    assert "return 2 * x" in notebook(ada).read_text()
    assert notebook(ada).with_name("90_small_1.ipynb").exists(), "the blank one is kept"


def test_of_several_notebooks_all_are_named_and_what_grading_makes_of_them(ada):
    folder = notebook(ada).parent
    for name, answer in (("a", "double"), ("b", "total")):
        shutil.copy(notebook(ada), folder / f"{name}.ipynb")
        write(folder / f"{name}.ipynb", **{answer: RIGHT.format(answer)})
    saved = folder.with_name("saved")
    notebook(ada).rename(saved)
    assert "`a.ipynb` and `b.ipynb` have work in them: handed in like this, your instructor has" in lab_of(ada).trouble
    assert "Rename a.ipynb back Rename b.ipynb back Fetch again" in write_page(ada)
    saved.rename(notebook(ada))
    write(notebook(ada), double=RIGHT.format("double"))
    assert lab_of(ada).trouble.startswith(f"`total` is blank in `{NOTEBOOK}`, and written in `b.ipynb`: handed in like")
    assert lab_of(ada).renamed == ()
    with pytest.raises(FileNotFoundError):
        rename_back(folder / "new" / NOTEBOOK, "a.ipynb")
