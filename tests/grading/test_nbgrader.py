"""nbgrader's own commands, with our configuration and as they come out of the box, on the small lab."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from classroom import REPOSITORY, Classroom
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from small_course import ANSWERS, LAB

from autograde.classroom.configuration import configuration

PARTLY = ANSWERS | {"double": "def double(x):\n    return 2 * abs(x)"}


@pytest.fixture
def api(small: Classroom, monkeypatch: pytest.MonkeyPatch) -> NbGraderAPI:
    """What the formgrader's buttons call, with our configuration."""
    for name, value in small.environment.items():
        monkeypatch.setenv(name, value)
    config = configuration(small.root)
    return NbGraderAPI(CourseDirectory(config=config), config=config)


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_plain_autograde_takes_our_way(small, api):
    small.put("partly", small.answered(PARTLY))
    small.put("forged", forged(small.released()))
    small.put("broken", b"{ not json")
    assert api.generate_assignment(LAB)["success"]
    done = small.nbgrader("autograde", LAB)
    assert done.returncode == 0, done.stderr
    assert small.scores() == {"partly": 4.5, "forged": 0, "broken": 0}
    assert "broken: 90_small: 90_small.ipynb is not JSON: line 1" in done.stderr
    done = api.generate_feedback(LAB)
    assert done["success"], done
    assert "A negative number comes out wrong." in small.feedback("partly")
    assert "90_small.ipynb is not JSON" in small.feedback("broken")


def forged(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A notebook that says of itself that it has all points, in every way that nbgrader would believe."""
    for cell in notebook.cells:
        tag = cell.metadata.get("nbgrader", {})
        if tag.get("grade"):
            cell.outputs = [nbformat.v4.new_output("execute_result", data={"text/plain": str(tag["points"])})]
            tag["points"] = 100
            cell.source = "100"
    notebook.metadata["lockstep"] = {"marked": [], "problems": [], "manual": None}
    return notebook


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_the_formgraders_button_takes_our_way(small, api):
    small.put("partly", small.answered(PARTLY))
    assert api.generate_assignment(LAB)["success"]
    done = api.autograde(LAB, "partly")
    assert done["success"], done
    assert small.scores() == {"partly": 4.5}
    assert small.graded("partly").metadata.lockstep.marked[0]["result"]["score"] == 1.5


def test_a_configuration_that_would_execute_submissions_is_refused(small):
    (small.root / "nbgrader_config.py").write_text("c.Autograde.autograde_preprocessors = []\n")
    small.put("ada", small.released())
    result = small.grade()
    assert result.exit_code == 1
    assert result.output == (
        "Error: an nbgrader_config.py takes Rebuild or Judge out of Autograde: submissions would be executed\n"
    )


@pytest.mark.thorough
def test_a_late_penalty_of_the_courses_own_is_kept(small):
    (small.root / "penalty.py").write_text(
        "from nbgrader.plugins import LateSubmissionPlugin\n"
        "class Half(LateSubmissionPlugin):\n"
        "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        "        return score / 2\n"
    )
    (small.root / "nbgrader_config.py").write_text(
        f"import sys\nsys.path.insert(0, {str(small.root)!r})\nc.AssignLatePenalties.plugin_class = 'penalty.Half'\n"
    )
    small.put("ada", small.answered(ANSWERS))
    small.lockstep("build")
    assert small.nbgrader("generate_assignment", LAB, "--force").returncode == 0
    assert small.nbgrader("db", "assignment", "add", LAB, "--duedate=2025-01-01 09:00:00").returncode == 0
    result = small.grade()
    assert result.exit_code == 0, result.output
    row = small.rows()["ada"]
    assert (row["score"], row["max"], row["double"], row["total"]) == ("2.5", "5", "2", "3")
    assert small.nbgrader("generate_feedback", LAB, "--force").returncode == 0


def stock(folder: Path, *args: str) -> subprocess.CompletedProcess:
    """nbgrader as it comes, in a course folder of its own usual layout."""
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "PYTHONPATH": str(REPOSITORY),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    command = [sys.executable, "-m", "nbgrader", *args, "--ExecutePreprocessor.timeout=120"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.thorough
def test_stock_nbgrader_grades_the_lab_by_executing_it(small, tmp_path):
    course = tmp_path / "stock"
    shutil.copytree(small.root / "build" / "solutions" / LAB, course / "source" / LAB)
    done = stock(course, "generate_assignment", LAB)
    assert done.returncode == 0, done.stderr
    folder = course / "submitted" / "partly" / LAB
    folder.mkdir(parents=True)
    wrong = ANSWERS | {"total": "def total(comm, x):\n    return x"}
    nbformat.write(small.answered(wrong), folder / f"{LAB}.ipynb")
    done = stock(course, "autograde", LAB)
    assert done.returncode == 0, done.stderr
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        notebook = gradebook.find_submission_notebook(LAB, LAB, "partly")
        assert {grade.name: grade.score for grade in notebook.grades} == {"double-check": 2, "total-check": 0}


@pytest.mark.thorough
def test_stock_validate_fails_the_cell_whose_check_fails(small):
    folder = small.root / "labs" / LAB
    nbformat.write(small.answered({"double": ANSWERS["double"]}), folder / f"{LAB}.ipynb")
    done = stock(folder, "validate", f"{LAB}.ipynb")
    assert "VALIDATION FAILED ON 1 CELL(S)!" in done.stdout, done
    assert 'check("total")' in done.stdout and 'check("double")' not in done.stdout
    nbformat.write(small.answered(ANSWERS), folder / f"{LAB}.ipynb")
    done = stock(folder, "validate", f"{LAB}.ipynb")
    assert "Success! Your notebook passes all the tests." in done.stdout, done
