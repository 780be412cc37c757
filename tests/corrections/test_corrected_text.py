"""A student gets the corrected text of a lab, and all that the student wrote stays."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from corrected_lab import Released
from labs_page import write_page
from nbformat import NotebookNode
from nbformat.sign import NotebookNotary
from small_course import ANSWERS, CHECKS_PY, LAB, LAB_PY, PROBES_PY, make_course

from autograde.classroom.submissions.rebuild import rebuild
from course.corrections.own_folder import Correction, CorrectionResult, correct, find_correction
from course.jupyterhub.pages.corrected_text import get_corrected
from course.jupyterhub.pages.student_exchange import StudentExchange, Unavailable
from course.lab_archive import ARCHIVE, archive_files
from course.overview.cells import NoNotebook, read_notebook

COURSE = "lockstep"
DAY = f"{datetime.now():%Y-%m-%d}"
TYPO = ("# Now with ranks.", "# Now with several ranks.")
DOCSTRING = ("Twice x.", "Twice x, as it says.")
DONE = {
    "double": '''def double(x):
    """Twice x.

    What is checked:
    - 1.5 points: it returns twice the number
    - 0.5 points: of a negative number, too
    """
    return x + x'''
}


def folder_of(student: StudentExchange) -> Path:
    """The student's folder of the lab."""
    return student.root / COURSE / LAB


def read(student: StudentExchange, name: str = LAB) -> NotebookNode:
    """A notebook in it."""
    return nbformat.read(folder_of(student) / f"{name}.ipynb", as_version=4)


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    """One of its cells, by id."""
    return next(each for each in notebook.cells if each.id == name)


def work(student: StudentExchange, answers: dict[str, str], notes: dict[str, str] | None = None) -> NotebookNode:
    """Fetch the lab, run it, write answers, and add notes behind the cells that `notes` names. Returns the notebook."""
    student.fetch(COURSE, LAB)
    notebook = read(student)
    cells = []
    for each in notebook.cells:
        each.source = answers.get(each.id, each.source)
        if each.cell_type == "code":
            each.outputs = [nbformat.v4.new_output("stream", text=f"{each.id} was run")]
            each.execution_count = 1
        cells.append(each)
        if each.id in (notes or {}):
            cells.append(nbformat.v4.new_markdown_cell(notes[each.id]))
    notebook.cells = cells
    nbformat.write(notebook, folder_of(student) / f"{LAB}.ipynb")
    return notebook


def lacks(room: Released, student: StudentExchange) -> Correction | None:
    """The correction that the student's folder lacks."""
    folder = folder_of(student)
    try:
        mine = read_notebook((folder / f"{LAB}.ipynb").read_bytes())
    except NoNotebook:
        return None
    return find_correction(room.exchange, COURSE, LAB, folder, mine)


def get(room: Released, student: StudentExchange) -> CorrectionResult:
    """Get it."""
    correction = lacks(room, student)
    assert correction is not None
    result = correct(correction, folder_of(student))
    assert lacks(room, student) is None
    nbformat.validate(read(student))
    return result


def run(notebook: NotebookNode) -> list[str]:
    """The ids of the cells that have an output."""
    return [each.id for each in notebook.cells if each.get("outputs")]


def test_a_corrected_typo_comes_and_all_that_the_student_wrote_stays(room, ada):
    room.put_out()
    answers = ANSWERS | {"sixes": 'check.answer("sixes", 6)', "why": "Because."}
    before = work(ada, answers, {"start-1": "my note", "double-check": "and another", "why": "the last"})
    assert lacks(room, ada) is None
    room.correct(TYPO)
    room.put_out()
    assert "This lab was corrected on " in write_page(ada) and ": 1 cell of text. Your folder has" in write_page(ada)
    raw = (folder_of(ada) / f"{LAB}.ipynb").read_bytes()
    assert get(room, ada) == CorrectionResult(f"{LAB}_until_{DAY}.ipynb", (), (), {})
    after = read(ada)
    assert [each.source for each in after.cells] == [
        each.source.replace(*(t[2:] for t in TYPO)) for each in before.cells
    ]
    assert run(after) == run(before), "no code was corrected"
    assert (folder_of(ada) / f"{LAB}_until_{DAY}.ipynb").read_bytes() == raw
    assert "This lab was corrected" not in write_page(ada)

    # Once more on the same day: no copy is overwritten.
    room.correct(tuple(reversed(TYPO)))
    room.put_out()
    assert get(room, ada).copy == f"{LAB}_until_{DAY}-2.ipynb"
    assert [each.source for each in read(ada).cells] == [each.source for each in before.cells]


def test_what_a_student_writes_is_no_correction_and_a_notebook_from_a_clone_is_told_by_its_text(room, ada):
    room.put_out()
    room.correct(TYPO)
    room.put_out()
    notebook = work(
        ada, {**DONE, "double-check-1": "Now with ranks. I do not know what they are."}, {"start-1": "mine"}
    )
    assert lacks(room, ada) is None
    os.utime(folder_of(ada) / f"{LAB}.ipynb", (0, 0))
    assert lacks(room, ada) is None
    del notebook.metadata["lockstep"]
    nbformat.write(notebook, folder_of(ada) / f"{LAB}.ipynb")
    assert lacks(room, ada) is None
    cell(notebook, "double-check-1").source = "Now with ranks."
    nbformat.write(notebook, folder_of(ada) / f"{LAB}.ipynb")
    assert lacks(room, ada).words == "1 cell of text"
    (folder_of(ada) / f"{LAB}.ipynb").write_text("{}")
    assert lacks(room, ada) is None
    nbformat.write(nbformat.v4.new_notebook(), folder_of(ada) / f"{LAB}.ipynb")
    assert lacks(room, ada) is None


def test_the_corrected_text_of_a_todo_is_put_into_the_answer_or_below_it(room, ada):
    room.put_out()
    work(ada, DONE)
    room.correct(DOCSTRING)
    room.put_out()
    assert lacks(room, ada).words == "the text of TODO 1"
    assert get(room, ada).beside == ()
    assert cell(read(ada), "double").source == DONE["double"].replace(*DOCSTRING)
    assert "double" in run(read(ada)) and "total-check" in run(read(ada)), "a docstring computes nothing"

    room.correct((DOCSTRING[1], "Two times x."))
    notebook = read(ada)
    cell(notebook, "double").source = "def double(x):\n    # no docstring\n    return x + x"
    nbformat.write(notebook, folder_of(ada) / f"{LAB}.ipynb")
    room.put_out()
    assert get(room, ada).beside == ("TODO 1, `double`",)
    corrected = read(ada)
    below = corrected.cells[[each.id for each in corrected.cells].index("double") + 1]
    assert cell(corrected, "double").source == "def double(x):\n    # no docstring\n    return x + x"
    assert (
        "Yours stand above" in below.source and '"""Two times x.' in below.source and "nbgrader" not in below.metadata
    )
    raw = (folder_of(ada) / f"{LAB}.ipynb").read_bytes()
    released = nbformat.read(room.exchange / COURSE / "outbound" / LAB / f"{LAB}.ipynb", as_version=4)
    assert rebuild(released, raw, LAB).problems == []


def test_outputs_stay_as_long_as_they_hold(room, ada):
    room.put_out()
    every = run(work(ada, ANSWERS))
    make_course(
        room.root,
        (room.root / "solutions" / LAB / "lab.py").read_text(),
        CHECKS_PY.replace("-rng.randrange(1, 100)", "-rng.randrange(1, 50)"),
    )
    room.put_out()
    assert lacks(room, ada).words == "the check of TODO 1"
    get(room, ada)
    assert run(read(ada)) == [name for name in every if name != "double-check"]
    room.correct(("world = World(2)", "world = World(3)"))
    room.put_out()
    assert lacks(room, ada).words == "1 cell of given code"
    get(room, ada)
    assert run(read(ada)) == [] and cell(read(ada), "double").execution_count is None
    assert cell(read(ada), "double").source == ANSWERS["double"]


def test_a_todo_that_is_renamed_is_named_and_in_the_copy(room, ada):
    room.put_out()
    work(ada, ANSWERS, {"double": "about double"})
    lab = LAB_PY.replace("double", "twice")
    checks = CHECKS_PY.replace("double.", "twice.").replace("import double", "import twice")
    make_course(room.root, lab, checks.replace('"double"', '"twice"'), PROBES_PY.replace("double.", "twice."))
    shutil.rmtree(room.root / "solutions" / LAB / "variants")
    (room.root / "solutions" / LAB / "questions.toml").unlink()
    room.put_out()
    assert "a new TODO 1, TODO `double` taken away" in lacks(room, ada).words
    result = get(room, ada)
    assert result.lost == ("what you wrote into TODO 1, `double`, which the lab does not have any more",)
    after, copy = read(ada), read(ada, result.copy.removesuffix(".ipynb"))
    assert "YOUR CODE HERE" in cell(after, "twice").source and cell(after, "total").source == ANSWERS["total"]
    assert cell(copy, "double").source == ANSWERS["double"]
    assert "about double" in [each.source for each in after.cells]
    assert {"checks/double.py", "checks/twice.py"} & {*archive_files(folder_of(ada))} == {"checks/twice.py"}


def test_other_files_are_new_unless_the_student_changed_them(room, ada):
    lab = room.root / "solutions" / LAB
    (lab / "old.txt").write_text("old")
    room.put_out()
    work(ada, ANSWERS)
    mine = folder_of(ada)
    (mine / "run.sh").write_text("#!/bin/sh\n# mine\n")
    (mine / "own.txt").write_text("mine")
    (lab / "run.sh").write_text("#!/bin/sh\n# new\n")
    (lab / "data.txt").write_text("1 2 3 4\n")
    (lab / "new.txt").write_text("new")
    (lab / "old.txt").unlink()
    room.put_out()
    assert lacks(room, ada).words == "data.txt, new.txt, old.txt and run.sh"
    assert get(room, ada).kept == {"run.sh": f"run.sh.corrected-{DAY}"}
    assert (mine / "run.sh").read_text() == "#!/bin/sh\n# mine\n"
    assert (mine / f"run.sh.corrected-{DAY}").read_text() == "#!/bin/sh\n# new\n"
    assert [(mine / name).read_text() for name in ("data.txt", "new.txt", "own.txt")] == ["1 2 3 4\n", "new", "mine"]
    assert not (mine / "old.txt").exists()
    assert run(read(ada)) == [], "what reads data.txt may show something else"

    # A notebook that was fetched again stands among files of the release before.
    (lab / "data.txt").write_text("5\n")
    room.put_out()
    (mine / f"{LAB}.ipynb").rename(mine / "mine.ipynb")
    ada.fetch(COURSE, LAB)
    assert (mine / "data.txt").read_text() == "1 2 3 4\n" and lacks(room, ada).words == "data.txt"
    assert get(room, ada).copy == "" and (mine / "data.txt").read_text() == "5\n"


def test_the_archive_of_checks_is_no_work_and_is_replaced_whatever_it_is(room, ada):
    lab = room.root / "solutions" / LAB
    hints = "".join(f'[{name}]\nquestion = "?"\npointer = "There."\nskeleton = "..."\n' for name in ANSWERS)
    (lab / "hints.toml").write_text(hints)
    for folder in ("figures", "models"):
        (lab / folder).mkdir()
        (lab / folder / "__init__.py").write_text("")
    room.put_out()
    every, mine = run(work(ada, ANSWERS)), folder_of(ada) / ARCHIVE
    mine.write_bytes(mine.read_bytes()[:-9])
    assert lacks(room, ada) is None, "the notebook says what is wrong with it"
    (lab / "hints.toml").write_text(hints.replace("There", "Here"))
    room.put_out()
    assert lacks(room, ada).words == "hints"
    assert get(room, ada).kept == {} and b"Here" in archive_files(folder_of(ada))["hints.toml"]
    assert run(read(ada)) == every
    (lab / "figures" / "__init__.py").write_text("# A picture.\n")
    (lab / "models" / "__init__.py").write_text("# A model.\n")
    room.put_out()
    assert lacks(room, ada).words == "pictures and models"
    get(room, ada)
    assert run(read(ada)) == []

    # A notebook that was fetched again stands beside the archive of the release before.
    (lab / "hints.toml").unlink()
    room.put_out()
    (folder_of(ada) / f"{LAB}.ipynb").unlink()
    ada.fetch(COURSE, LAB)
    assert lacks(room, ada).words == "its checks"
    assert get(room, ada).copy == "" and "hints.toml" not in archive_files(folder_of(ada))
    mine.unlink()
    ada.fetch(COURSE, LAB)
    assert archive_files(folder_of(ada)), "and where it is missing, it comes again"


def test_the_archive_of_checks_is_not_handed_in_and_no_change_of_what_was(room, ada):
    room.put_out()
    work(ada, ANSWERS)
    ada.hand_in(COURSE, LAB)
    sent = ada.last_submission(COURSE, LAB)
    assert (sent / f"{LAB}.ipynb").exists() and not (sent / ARCHIVE).exists()
    before = ada.content(COURSE, LAB)
    (folder_of(ada) / ARCHIVE).write_bytes(b"")
    assert ada.content(COURSE, LAB) == before
    (folder_of(ada) / "data.txt").write_text("mine")
    assert ada.content(COURSE, LAB) != before


def test_nothing_is_half_written_where_no_room_is_left(room, ada):
    room.put_out()
    work(ada, ANSWERS)
    room.correct(TYPO)
    room.put_out()
    correction, before = lacks(room, ada), {path: path.read_bytes() for path in folder_of(ada).glob("*.*")}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        with pytest.raises(Unavailable, match=r"^You do not have the corrected text of 90_small yet: .* as it was"):
            get_corrected(correction, folder_of(ada), NotebookNotary(db_file=":memory:"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert {path: path.read_bytes() for path in folder_of(ada).glob("*.*")} == before


def test_outputs_are_trusted_as_they_were(room, ada, tmp_path):
    room.put_out()
    notary = NotebookNotary(data_dir=str(tmp_path))
    notary.sign(work(ada, ANSWERS))
    for trusted, typo in ((True, TYPO), (False, DOCSTRING)):
        room.correct(typo)
        room.put_out()
        if not trusted:
            notary.unsign(read(ada))
        get_corrected(lacks(room, ada), folder_of(ada), notary)
        assert notary.check_signature(read(ada)) == trusted


def test_nothing_is_lost_where_the_exchange_has_lost_the_old_text(room, ada):
    room.put_out()
    work(ada, {**DONE, "why": "Because.", "sixes": 'check.answer("sixes", 6)'}, {"total": "my note"})
    shutil.rmtree(room.exchange / COURSE / "outbound" / f".{LAB}.releases")
    room.correct(TYPO, DOCSTRING)
    room.put_out()
    assert lacks(room, ada).words == ""
    result = get(room, ada)
    after = [each.source for each in read(ada).cells]
    assert result.lost == () and result.beside == ("TODO 1, `double`",)
    assert {DONE["double"], "Because.", 'check.answer("sixes", 6)', "my note", "Now with several ranks."} <= {*after}
    assert after.index("my note") == after.index(cell(read(ada), "total").source) + 1
    assert "Now with ranks." not in after and run(read(ada)) == []


def test_what_was_changed_elsewhere_stays_where_the_labs_text_is_as_it_was(room, ada):
    room.put_out()
    work(ada, {"start-1": "# A small lab\n\nMy own words.", "double-check-1": "Now with ranks, I see."})
    room.correct(TYPO)
    room.put_out()
    result = get(room, ada)
    assert cell(read(ada), "start-1").source == "# A small lab\n\nMy own words."
    assert cell(read(ada), "double-check-1").source == "Now with several ranks."
    assert result.lost == ("what you changed in the cell that begins with “Now with several ranks.”",)
