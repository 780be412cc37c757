"""Which labs a course has: course.toml chooses, LOCKSTEP_LABS adds those of an instructor's own folder."""

from __future__ import annotations

import nbformat
import pytest
from classroom import Classroom
from example_labs import labs_with
from small_course import ANSWERS, LAB, make_course

from course.jupyterhub.courses import Course, read_courses
from course.jupyterhub.place import Place
from course.lab_choice import ChoiceError

OWN = "91_own_lab"


@pytest.fixture
def room(tmp_path) -> Classroom:
    """A class whose course has the small lab, beside a folder with a lab of the instructor's own."""
    room = Classroom(make_course(tmp_path / "course"), LAB)
    made = room.lockstep("new", OWN, "--folder", str(tmp_path / "own"))
    assert made.exit_code == 0 and f"export LOCKSTEP_LABS={tmp_path / 'own'}" in made.output
    return room


def choose(room: Classroom, text: str) -> None:
    """Write the course's course.toml."""
    (room.root / "course.toml").write_text(text)


def folders(room: Classroom) -> list[list[str]]:
    """What nbgrader shows as source, and what it releases: names of folders."""
    places = (room.root / "build" / "solutions", room.root / "labs")
    return [sorted(path.name for path in place.iterdir() if path.is_dir()) for place in places]


def assignments(room: Classroom) -> set[str]:
    """The labs in the gradebook."""
    done = room.nbgrader("db", "assignment", "list")
    assert done.returncode == 0, done.stderr
    return {name for name in (LAB, OWN) if name in done.stdout + done.stderr}


@pytest.mark.thorough
def test_a_course_sees_the_labs_that_it_chooses_and_those_of_its_own_folders(room, tmp_path):
    choose(room, f'labs = ["{OWN}", "{LAB}"]\nlabs_folders = ["{tmp_path / "own"}"]\n')
    built = room.lockstep("build")
    assert built.exit_code == 0, built.output
    assert built.output.splitlines() == [f"{OWN}: built", f"{LAB}: built"]  # in the order that was chosen
    assert room.lockstep("enrol", "ada").exit_code == 0
    assert folders(room) == [[LAB, OWN]] * 2 and assignments(room) == {LAB, OWN}
    choose(room, f'labs = ["{LAB}"]\nlabs_folders = ["{tmp_path / "own"}"]\n')
    again = room.lockstep("build", "--missing")
    assert again.output == f"{OWN}: taken away, as course.toml does not choose it\n"
    assert room.lockstep("enrol", "ada").exit_code == 0
    assert folders(room) == [[LAB]] * 2 and assignments(room) == {LAB}
    for command in ("build", "grade", "report"):
        said = room.lockstep(command, OWN)
        assert said.exit_code == 1 and said.output.count("\n") == 1
        assert (
            f"`{OWN}` is not among the labs that {room.root / 'course.toml'} chooses; there are: {LAB}" in said.output
        )


@pytest.mark.thorough
def test_a_lab_that_is_not_chosen_any_more_keeps_work_and_grades(room):
    assert room.lockstep("build").exit_code == 0
    room.put("ada", room.answered(ANSWERS))
    graded = room.grade("--no-sandbox")
    assert graded.exit_code == 0, graded.output
    worked = room.answered({"double": "def double(x):\n    return x + x"})
    notebook = room.root / "labs" / LAB / f"{LAB}.ipynb"
    nbformat.write(worked, notebook)
    room.lockstep("new", OWN)
    choose(room, f'labs = ["{OWN}"]\n')
    built = room.lockstep("build")
    assert built.exit_code == 1 and f"labs/{LAB} is not chosen any more, but there is work in" in built.output
    assert notebook.exists()
    assert room.lockstep("enrol").exit_code == 0
    assert assignments(room) == {LAB, OWN}


@pytest.mark.thorough
def test_a_lab_of_ones_own_folder_is_built_and_graded(room, tmp_path, monkeypatch):
    for named in (tmp_path / "own", tmp_path / "own" / OWN):  # a folder of labs, and a lab
        monkeypatch.setenv("LOCKSTEP_LABS", f"{named}:")
        built = room.lockstep("build", "--force")
        assert built.exit_code == 0 and folders(room) == [[LAB, OWN]] * 2, built.output
        assert room.lockstep("build", "--check").output == "labs/ is up to date\n"
    own = Classroom(room.root, OWN)
    before, after = "(comm.rank - 1) % comm.size", "(comm.rank + 1) % comm.size"
    answer = f"def pass_on(comm, x):\n    return comm.sendrecv(x, dest={after}, source={before})\n"
    own.put("ada", own.answered({"pass_on": answer}))
    graded = own.grade()
    assert graded.exit_code == 0, graded.output
    assert own.scores() == {"ada": 3}
    assert room.lockstep("report", OWN).exit_code == 0


def test_bad_choices_are_one_line_each(room, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    course = f"{room.root / 'course.toml'}"
    for text, words in (
        ('labs = ["99_nothing"]', f"{course}: no lab `99_nothing`; there are: {LAB}"),
        ("labs = [", f"{course} cannot be read"),
        ("lab = []", "and nothing else; not `lab`"),
        (
            f'labs_folders = ["{tmp_path / "empty"}"]',
            f"labs_folders: {tmp_path / 'empty'} is no lab and has none in it",
        ),
    ):
        choose(room, text + "\n")
        for command in (["build"], ["grade", LAB], ["enrol"]):
            said = room.lockstep(*command)
            assert said.exit_code == 1 and said.output.count("\n") == 1 and words in said.output, said.output
    choose(room, "")
    for folder, words in (
        (tmp_path / "empty", "LOCKSTEP_LABS: "),
        (tmp_path / "nowhere", "cannot be read: No such file or directory"),
        (make_course(tmp_path / "other") / "solutions", f"two labs are called {LAB}"),
    ):
        monkeypatch.setenv("LOCKSTEP_LABS", str(folder))
        said = room.lockstep("build")
        assert said.exit_code == 1 and said.output.count("\n") == 1 and words in said.output, said.output


@pytest.mark.thorough
def test_a_lab_that_cannot_be_built_yet_is_named_and_everything_else_is_enrolled(room, tmp_path):
    choose(room, f'labs_folders = ["{tmp_path / "own"}"]\n')
    (tmp_path / "own" / OWN / "lab.py").write_text('# %% todo="half"\n')
    said = room.lockstep("enrol", "ada")
    assert said.exit_code == 1 and said.output.startswith(f"Error: {OWN}: ") and said.output.count("\n") == 1
    assert assignments(room) == {LAB}
    with room.gradebook() as gradebook:
        assert [student.id for student in gradebook.students] == ["ada"]


@pytest.mark.thorough
def test_a_hub_makes_a_course_with_the_labs_of_courses_toml(tmp_path, monkeypatch):
    place = Place(tmp_path / "hub")
    place.make()
    monkeypatch.setattr("os.geteuid", lambda: 65534)  # as a hub without root, which needs no accounts
    monkeypatch.delenv("LOCKSTEP_LABS", raising=False)

    def sources(text: str) -> list[str]:
        place.courses_file.write_text(f"[hpc]\n{text}\nstudents = ['ada']\n")
        (course,) = read_courses(place.courses_file)
        place.make_course(course)
        return folders(Classroom(place.course(course), ""))

    one, two = (lab.name for lab in labs_with(2, "to choose from"))
    assert sources(f"labs = ['{two}']") == [[two]] * 2
    assert sources(f"labs = ['{two}', '{one}']") == [[one, two]] * 2
    assert sources(f"labs = ['{one}']") == [[one]] * 2
    with pytest.raises(ChoiceError, match=rf"courses.toml: \[hpc\]: labs: no lab `nothing`; there are: {one}"):
        sources("labs = ['nothing']")
    assert Course("ml", (), ()).choice.text() == ""
