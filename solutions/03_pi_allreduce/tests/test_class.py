"""From release to grades.csv: a class does the lab through a real exchange, and is graded on real ranks."""

from __future__ import annotations

import html
import json
import re
import shutil

import pytest
from classroom import REPOSITORY, Classroom
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from seeds import SEED
from small_course import LAB as OTHER
from small_course import make_course

from autograde.classroom.configuration import configuration
from autograde.labs.folder import find_lab, load_checks, load_variants
from autograde.making.build import build
from autograde.sandbox.examine import Marked

pytestmark = pytest.mark.thorough
LAB = "03_pi_allreduce"

# For each student with mistakes, the known mistake made in each TODO; "" is the reference, None a blank cell.
MISTAKES = {
    "ada": ("remainder_lost", "reduce", "average", "in_the_loop"),
    "bob": ("shares_overlap", "float32_buffers", "not_waited_for", "everything"),
    "carl o'odd [x] é": ("h_of_own_points", None, None, None),
    "dina": ("", "only_rank_0", "", None),
}
ALL = {"reference", "blank", "broken", "elsewhere", "twice", *MISTAKES}
UNDONE = ([0, 0, 0, 0], ["not-done"] * 4)
SCORES = {
    "reference": ([3, 3, 3, 3], ["", "", "", ""]),
    "ada": ([1.5, 0.75, 2, 2], ["remainder-lost", "reduce-not-allreduce", "average-for-sum", "allreduce-in-the-loop"]),
    "bob": ([1.5, 0.75, 1, 2.25], ["overlapping-shares", "float32", "not-waited-for", "everything-on-every-rank"]),
    "carl o'odd [x] é": ([1, 0, 0, 0], ["local-h", "not-done", "not-done", "not-done"]),
    "dina": ([3, 0, 3, 0], ["", "call-missing", "", "not-done"]),
    **dict.fromkeys(("blank", "broken", "elsewhere", "twice"), UNDONE),
}


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """The class after everybody handed in and `lockstep grade` ran once. `room.output` is what that said."""
    root = make_course(tmp_path_factory.mktemp("class") / "course")
    shutil.copytree(REPOSITORY / "solutions" / LAB, root / "solutions" / LAB)
    room = Classroom(root, LAB, config=f"c.Judge.seed = {SEED}")
    assert room.lockstep("build").exit_code == 0
    released = room.nbgrader("release_assignment", LAB)
    assert released.returncode == 0, released.stderr
    hand_in(room)
    room.result = room.lockstep("grade", LAB, "--jobs", "2", "--seed", "7")
    return room


def hand_in(room: Classroom) -> None:
    """Everybody fetches, writes and hands in; the first with nbgrader's own commands."""
    folder = room.home / "students" / "reference"
    folder.mkdir(parents=True)
    fetched = room.nbgrader("fetch_assignment", LAB, cwd=folder, ours=False)
    assert fetched.returncode == 0, fetched.stderr
    path = folder / LAB / f"{LAB}.ipynb"
    assert path.read_bytes() == (room.root / "labs" / LAB / f"{LAB}.ipynb").read_bytes()
    path.write_bytes(build(find_lab(room.root, LAB)).instructor[f"{LAB}.ipynb"].content)
    submitted = room.nbgrader("submit", LAB, "--student=reference", cwd=folder, ours=False)
    assert submitted.returncode == 0, submitted.stderr
    room.submit("blank", room.released())
    for student, mistakes in MISTAKES.items():
        room.submit(student, room.answered(answers(room, mistakes)))
    room.submit("broken", path.read_bytes()[:-200])
    room.submit("elsewhere", (room.root / "labs" / OTHER / f"{OTHER}.ipynb").read_bytes())
    room.submit("twice", b"")
    room.submit("twice", room.released())
    (room.exchange / "lockstep" / "inbound" / f"zoe+{LAB}+one fine day").mkdir()


def answers(room: Classroom, mistakes: tuple[str | None, ...]) -> dict[str, str]:
    """Source by TODO for these mistakes."""
    lab = find_lab(room.root, LAB)
    _, wrong = load_variants(lab.variants)
    reference = json.loads(build(lab).instructor[f"{LAB}.ipynb"].content)
    right = {cell["id"]: "".join(cell["source"]) for cell in reference["cells"]}
    todos = [check.todo for check in load_checks(lab.checks)]
    chosen = {todo: name for todo, name in zip(todos, mistakes, strict=True) if name is not None}
    return {todo: wrong[todo][name].source if name else right[todo] for todo, name in chosen.items()}


def test_everybody_is_graded_or_named(room):
    assert set(room.scores()) == ALL
    assert set(room.rows()) == ALL
    assert room.result.exit_code == 1, "one submission in the exchange has an unreadable name"
    assert f"zoe+{LAB}+one fine day: not collected" in room.result.output
    assert f"{LAB}: {len(ALL)} to grade" in room.result.output
    assert f"graded: {len(ALL) - 1}, needs manual grading: 1" in room.result.output
    assert "Traceback" not in room.result.output


@pytest.mark.parametrize("student", SCORES)
def test_scores_are_exact_and_the_feedback_says_why(room, student):
    row = room.rows()[student]
    todos = [check.todo for check in load_checks(find_lab(room.root, LAB).checks)]
    scores, keys = SCORES[student]
    assert [float(row[todo]) for todo in todos] == scores
    assert (float(row["score"]), float(row["max"])) == (sum(scores), 12)
    assert room.scores()[student] == sum(scores)
    assert row["findings"] == "; ".join(f"{todo}:{key}" for todo, key in zip(todos, keys, strict=True) if key)
    page = html.unescape(room.feedback(student))
    marked = [Marked.from_plain(plain) for plain in room.graded(student).metadata.lockstep.marked]
    for finding in (finding for one in marked for finding in one.result.findings):
        assert finding.message.splitlines()[0] in page
        assert finding.report in page


def test_the_deadlock_is_told_by_rank_and_line(room):
    page = html.unescape(room.feedback("dina"))
    assert re.search(r"rank 0\s+waits in comm\.allreduce, cell line \d+: ", page)


def test_damaged_and_foreign_notebooks_are_named_in_the_feedback(room):
    said = "03_pi_allreduce.ipynb is not JSON: line"
    assert said in room.rows()["broken"]["problems"] and said in room.feedback("broken")
    assert room.rows()["broken"]["status"] == "needs manual grading"
    said = "the notebook is for another lab: its cells are"
    assert said in room.rows()["elsewhere"]["problems"] and said in room.feedback("elsewhere")
    assert "double" in room.feedback("elsewhere")


def test_the_last_of_two_submissions_counts(room):
    assert room.rows()["twice"]["problems"] == ""


def test_feedback_shows_no_case_and_no_answer(room):
    solution = find_lab(room.root, LAB).source.read_text()
    answer = solution.split("BEGIN SOLUTION")[1].split("### END SOLUTION")[0].strip()
    for student in ALL - {"reference", "dina"}:
        assert answer not in html.unescape(room.feedback(student))


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_nbgraders_own_autograde_gives_the_same_scores(room):
    before = room.scores()
    for student in ("ada", "broken"):
        with room.gradebook() as gradebook:
            for grade in gradebook.find_submission_notebook(LAB, LAB, student).grades:
                grade.auto_score = None
            gradebook.db.commit()
    assert room.scores() != before
    done = room.nbgrader("autograde", LAB, "--student=ada", "--force")
    assert done.returncode == 0, done.stderr
    config = configuration(room.root)
    done = NbGraderAPI(CourseDirectory(config=config), config=config).autograde(LAB, "broken")
    assert done["success"], done
    assert room.scores() == before


def test_nothing_is_graded_twice(room):
    result = room.lockstep("grade", LAB)
    assert f"{LAB}: 0 to grade, {len(ALL)} graded before and unchanged" in result.output
