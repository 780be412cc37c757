"""How far a student is with each lab, from a real exchange and gradebook; and what the page of labs makes of it."""

from __future__ import annotations

import os
import re
import shutil
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from classroom import Classroom
from labs_page import write_page
from small_course import ANSWERS, LAB, make_course
from traitlets.config import Config

from course.exchange.folders import OF_A_COURSE
from course.exchange.handed_in.given import score
from course.exchange.submit import hand_in_privately
from course.jupyterhub.pages.lab_states import CourseState, LabState, course_states
from course.jupyterhub.pages.lectures import COPIES, copy_lectures, open_copy
from course.jupyterhub.pages.rendering import hub_pages
from course.jupyterhub.pages.student_exchange import StudentExchange, Unavailable
from course.overview import RESULT
from course.overview.about import About
from course.overview.entries import Entry, lecture_entries
from course.overview.progress import Progress

COURSE = "lockstep"
UNSANDBOXED = "c.Judge.sandboxed = False\n"
DEADLINE = datetime(2026, 1, 31, 12)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class on the small lab, which is released and was due long ago."""
    room = Classroom(make_course(tmp_path_factory.mktemp("class") / "course"), LAB, UNSANDBOXED)
    assert room.lockstep("build").exit_code == 0
    for course in (COURSE, "empty"):
        for folder, mode in OF_A_COURSE.items():
            path = room.exchange / course / folder
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(mode)
    assert room.nbgrader("generate_assignment", LAB, "--force").returncode == 0
    with room.gradebook() as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate=str(DEADLINE))
    done = room.nbgrader("release_assignment", LAB)
    assert done.returncode == 0, done.stderr
    return room


@pytest.fixture
def ada(room: Classroom, tmp_path: Path) -> StudentExchange:
    """A student who has nothing yet, in the course with the lab and in an empty one."""
    shutil.rmtree(room.exchange / COURSE / "inbound" / ".receipts.ada", ignore_errors=True)  # of the test before
    return student(room, tmp_path, "ada")


def student(room: Classroom, folder: Path, name: str) -> StudentExchange:
    """The exchange as a student's server uses it, whose files are below `folder`."""
    config = Config()
    hand_in_privately(config, room.exchange)
    config.Exchange.cache = str(folder / "cache")
    config.CourseDirectory.student_id = name
    (folder / "home").mkdir()
    return StudentExchange(config, folder / "home")


def lab_of(exchange: StudentExchange) -> LabState:
    """The state of the one lab."""
    (lab,) = next(course for course in course_states(exchange) if course.name == COURSE).labs
    return lab


def notebook(exchange: StudentExchange) -> Path:
    """The student's notebook."""
    return exchange.root / COURSE / LAB / f"{LAB}.ipynb"


@pytest.mark.thorough
def test_a_lab_goes_from_to_be_fetched_to_its_score(room, ada):
    lab = lab_of(ada)
    assert (lab.title, lab.released, lab.fetched, lab.deadline) == ("A small lab", True, False, DEADLINE)
    assert "To be fetched. The deadline passed 12 h ago." in write_page(ada)
    ada.fetch(COURSE, LAB)
    lab = lab_of(ada)
    assert lab.fetched and lab.complete and lab.to_do and (ada.root / lab.notebook).is_file()
    assert "Not handed in." in write_page(ada)

    answered = nbformat.read(notebook(ada), as_version=4)
    for cell in answered.cells:
        cell.source = ANSWERS["double"] if cell.id == "double" else cell.source
    nbformat.write(answered, notebook(ada))
    ada.hand_in(COURSE, LAB)
    lab = lab_of(ada)
    assert lab.handed_in and not lab.to_do and not lab.changed and lab.feedback is None
    assert re.fullmatch(r"\d+ d( \d+ h)?", lab.late)
    assert f"Handed in {lab.late} late" in write_page(ada)
    later = lab.handed_in.timestamp() + 3 * 86400
    os.utime(notebook(ada), (later, later))
    assert not lab_of(ada).changed, "it was only saved"
    (notebook(ada).parent / "notes.txt").write_text("More.")
    assert lab_of(ada).changed
    assert "You changed it after that: hand it in again if that is to count." in write_page(ada)

    assert room.lockstep("grade", LAB).exit_code == 0
    assert lab_of(ada).feedback is None, "it is not released yet"
    assert room.nbgrader("release_feedback", LAB).returncode == 0
    given = lab_of(ada).feedback
    assert (given.score, given.points, given.of) == (2, 5, lab.handed_in)
    assert "2 of 5 points" in write_page(ada)
    ada.fetch_feedback(COURSE, LAB)
    assert "Score: 2.0 / 5.0" in (ada.root / given.path).read_text()

    # What was given back stays with what it was given for, and when the lab is not released any more.
    ada.hand_in(COURSE, LAB, confirmed=True)
    outbound = room.exchange / COURSE / "outbound" / LAB
    outbound.rename(outbound.with_name(".away"))
    try:
        lab = lab_of(ada)
        assert (lab.released, lab.times, lab.feedback.of) == (False, 2, given.of) and lab.handed_in > given.of
        assert "It is not released any more." in write_page(ada)
        with pytest.raises(
            Unavailable, match=r"90_small is not handed in: .*is not released in .*Nothing was handed in"
        ):
            ada.hand_in(COURSE, LAB)
    finally:
        outbound.with_name(".away").rename(outbound)


def test_the_page_says_how_far_one_is_in_the_notebook(ada):
    ada.fetch(COURSE, LAB)
    assert "Not begun Not handed in." in write_page(ada)
    opened = nbformat.read(notebook(ada), as_version=4)
    for cell in opened.cells:
        if cell.id == "double-check":
            cell.outputs = [nbformat.v4.new_output("display_data", metadata={RESULT: {"passed": True}})]
    nbformat.write(opened, notebook(ada))
    assert "Passed 1 of 2 Not handed in." in write_page(ada)


def test_the_assignment_list_shows_when_a_lab_is_due(ada):
    (released,) = ada.released(COURSE)
    assert [one["notebook_id"] for one in released["notebooks"]] == [LAB]
    ada.fetch(COURSE, LAB)
    (fetched,) = ada.released(COURSE)
    assert [one["notebook_id"] for one in fetched["notebooks"]] == [f"{LAB}, due 2026-01-31 12:00 UTC"]
    assert Path(fetched["notebooks"][0]["path"]) == notebook(ada)


def test_a_folder_or_notebook_that_was_renamed_is_named_and_stays_as_it_is(ada):
    ada.fetch(COURSE, LAB)
    folder = notebook(ada).parent
    notebook(ada).write_text("mine")
    folder.rename(folder.with_name("my lab"))
    lab = lab_of(ada)
    assert not lab.fetched and lab.trouble == (
        "You have 90_small.ipynb in the folder lockstep/my lab, and only lockstep/90_small is handed in. Rename or "
        "move it back, or fetch the lab anew: that leaves your folder as it is."
    )
    ada.fetch(COURSE, LAB)
    assert lab_of(ada).trouble == ""
    assert (folder.with_name("my lab") / f"{LAB}.ipynb").read_text() == "mine"
    notebook(ada).rename(folder / "mine.ipynb")
    lab = lab_of(ada)
    assert (
        lab.fetched
        and not lab.complete
        and "`90_small.ipynb` is missing in your folder lockstep/90_small, and `mine.ipynb` lies there" in lab.trouble
    )
    assert "mine.ipynb lies there. If that is yours, rename it back. Rename it back Fetch again" in write_page(ada)
    ada.fetch(COURSE, LAB)
    assert lab_of(ada).complete and (folder / "mine.ipynb").exists()
    notebook(ada).write_text("{ not json")
    lab = lab_of(ada)
    assert lab.title == "A small lab", "that of the lab as it was released"
    assert lab.trouble == (
        "90_small.ipynb cannot be read: it is cut off or damaged. Rename it and fetch the lab anew: your file stays."
    )
    assert lab.trouble in write_page(ada)


def test_a_course_without_labs_and_an_exchange_that_cannot_be_read_are_one_sentence_each(room, ada, tmp_path):
    assert "No lab is released in empty yet. It will be here as soon as your instructor releases it." in write_page(ada)
    (room.exchange / "broken").mkdir()
    broken = next(course for course in course_states(ada) if course.name == "broken")
    shutil.rmtree(room.exchange / "broken")
    place = room.exchange / "broken" / "outbound"
    sentence = f"The exchange at {place} cannot be read now, so your labs are not shown here."
    assert broken.trouble == f"{sentence} Your own files are safe. Tell your instructor."
    assert broken.trouble in write_page(ada, courses=[broken])
    (tmp_path / "gone").mkdir()
    gone = student(room, tmp_path / "gone", "ada")
    gone.config.Exchange.root = str(tmp_path / "nowhere")
    with pytest.raises(Unavailable, match=r"nowhere cannot be read now"):
        course_states(gone)
    assert "You are in no course yet. Ask your instructor to put ada into one." in write_page(ada, courses=[])


def test_what_fails_is_one_sentence_and_no_traceback(ada):
    with pytest.raises(Unavailable, match=r"^nothing is not fetched: Assignment not found"):
        ada.fetch(COURSE, "nothing")
    ada.fetch(COURSE, LAB)
    (ada.root / COURSE / LAB / "large.bin").write_bytes(bytes(2_000_000))
    ada.config.CourseDirectory.max_dir_size = 1000
    with pytest.raises(Unavailable, match=r"^90_small is not handed in: .*Take large files away"):
        ada.hand_in(COURSE, LAB)
    shutil.rmtree(ada.root / COURSE)
    (ada.root / COURSE).write_text("in the way")
    with pytest.raises(
        Unavailable, match=r"^90_small is not fetched: Not a directory \(/.*\)\. Try again; if it stays"
    ):
        ada.fetch(COURSE, LAB)


def test_the_next_lab_is_the_one_whose_deadline_comes_first():
    def lab(name: str, deadline: datetime | None, handed_in: datetime | None = None) -> LabState:
        times = {"deadline": deadline, "handed_in": handed_in, "saved": None, "late": "", "times": 0}
        known = {"course": "hpc", "folder": "", "released": True, "fetched": False, "complete": False, "trouble": ""}
        return LabState(name=name, about=About(), progress=Progress(), feedback=None, **known, **times)

    labs = (
        lab("01", None),
        lab("02", datetime(2026, 3, 2)),
        lab("03", DEADLINE, DEADLINE),
        lab("04", datetime(2026, 3, 1)),
    )
    assert CourseState("hpc", labs).next.name == "04"
    assert CourseState("hpc", labs[:1]).next.name == "01"
    assert CourseState("hpc", labs[2:3]).next is None


def test_a_late_penalty_is_taken_off_the_score():
    page = "<h4>90_small (Score: 3.0 / 5.0)</h4><li>(Score: 3.0 / 3.0)</li>"
    late = '<li class="late-penalty">Late submission penalty (Score: -4.0)</li>'
    assert score(page) == (3, 5, 0)
    assert score(page + late) == (0, 5, 4)
    assert score("well done") == (None, None, 0)


def test_what_people_wrote_is_text_on_the_page(ada):
    page = hub_pages().get_template("your_labs.html")
    html = page.render(courses=[CourseState("hpc", trouble="<script>")], failed="<b>no</b>", base_url="/")
    assert "&lt;script&gt;" in html and "&lt;b&gt;no&lt;/b&gt;" in html


def lecture(text: str) -> str:
    """A notebook with a text in its one cell."""
    return nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)]))


def lectures_of(exchange: StudentExchange, folder: Path) -> list[Entry]:
    """The lectures in a folder, and how far the student is with them."""
    return lecture_entries(folder, exchange.root, str(COPIES))


def test_lectures_are_shown_if_there_are_some_and_opened_as_a_copy(ada, tmp_path):
    folder = tmp_path / "course" / "lectures"
    assert lectures_of(ada, folder) == []
    assert "Lectures" not in write_page(ada)
    folder.mkdir(parents=True)
    (folder / "1_ranks.ipynb").write_text(
        lecture("# 1 Ranks\n[03](../../labs/03/03.ipynb), [terms](../../labs/GLOSSARY.md)")
    )
    page = write_page(ada, lectures=lectures_of(ada, folder))
    assert "Lectures 1 Ranks Not begun Open" in page and "1_ranks" not in page and "pages with all" not in page
    assert "pages with all pictures" in write_page(ada, lectures=lectures_of(ada, folder), site="built")
    path = open_copy(folder, "1_ranks", ada.root, COURSE)
    assert path == "course/lectures/1_ranks.ipynb"
    assert f"[03](../../{COURSE}/03/03.ipynb), [terms](GLOSSARY.md)" in (ada.root / path).read_text()
    with pytest.raises(Unavailable, match="no lecture"):
        open_copy(folder, "../home/x", ada.root, COURSE)


def test_a_new_lecture_replaces_a_copy_unless_its_text_was_changed(ada, tmp_path):
    folder = tmp_path / "course" / "lectures"
    folder.mkdir(parents=True)
    (folder / "1_ranks.ipynb").write_text(lecture("[03](../../labs/03/03.ipynb)"))
    copy = ada.root / open_copy(folder, "1_ranks", ada.root, COURSE)
    run = nbformat.read(copy, as_version=4)
    run.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}  # as JupyterLab saves it
    nbformat.write(run, copy)
    saved = copy.read_text()
    copy_lectures(folder, ada.root, "another course")
    assert copy.read_text() == saved, "it is up to date"
    (folder / "1_ranks.ipynb").write_text(lecture("A better text: [03](../../labs/03/03.ipynb)"))
    copy_lectures(folder, ada.root, "another course")
    assert f"A better text: [03](../../{COURSE}/03/03.ipynb)" in copy.read_text(), "as its links were"
    for changed in (copy.read_text().replace("better", "worse"), "my notes", "[]"):
        copy.write_text(changed)
        copy_lectures(folder, ada.root, COURSE)
        assert copy.read_text() == changed


def test_a_home_that_cannot_be_written_is_named(ada, tmp_path):
    folder = tmp_path / "course" / "lectures"
    folder.mkdir(parents=True)
    (folder / "1_ranks.ipynb").write_text(lecture("Ranks"))
    ada.root.mkdir(exist_ok=True)
    (ada.root / "course").write_text("a file of the student's")
    with pytest.raises(Unavailable, match="cannot be copied to your folder course/lectures"):
        open_copy(folder, "1_ranks", ada.root, COURSE)
