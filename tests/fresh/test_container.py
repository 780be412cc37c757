"""The images of the Containerfile, built for real: students' opens JupyterLab and a lab, instructors' grades."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from built_image import Running, Store, copy_of_the_kit, lacking, start
from example_labs import lab_of_the_story
from fresh_system import ROOT, packages_that_the_readme_names

from autograde.labs.folder import find_lab
from autograde.making.solved import write_solved

LAB = lab_of_the_story("03_pi_allreduce").name


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if lacking():
        pytest.skip(lacking())
    return copy_of_the_kit(tmp_path_factory.mktemp("kit") / "lockstep")


@pytest.fixture(scope="module")
def store(kit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that has both images."""
    store = Store(tmp_path_factory.mktemp("store"))
    store.make_base()
    for target in ("student", "instructor"):
        store.build(kit, target)
        print(f"{target}: {store.size(target)}")
    yield store
    store.buildah("rm", "--all")
    store.buildah("rmi", "--all", "--force")


@pytest.fixture(scope="module")
def student(store, tmp_path_factory: pytest.TempPathFactory) -> Running:
    return start(store, "student", tmp_path_factory.mktemp("student") / "home")


@pytest.fixture(scope="module")
def instructor(store, tmp_path_factory: pytest.TempPathFactory) -> Running:
    return start(store, "instructor", tmp_path_factory.mktemp("instructor") / "home")


def solved(folder: Path) -> None:
    """Write the lab with its solutions to `folder`."""
    write_solved(find_lab(ROOT, LAB), folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o777)


def test_it_installs_what_the_readme_names():
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    installed = re.search(r"apt-get install (.*)", text)[1].split()
    assert {*packages_that_the_readme_names()} <= {*installed}
    apptainer = (ROOT / "slurm" / "lockstep.def").read_text()
    assert {*packages_that_the_readme_names()} <= {*apptainer.split()}


def test_a_changed_lab_does_not_compile_horovod_anew(kit, store):
    (kit / "labs" / LAB / "GLOSSARY.md").open("a").write("\nOne more line.\n")
    said = store.build(kit, "instructor")
    assert re.search(r"RUN \./lockstep setup server.*\n--> Using cache", said), said


def test_students_have_a_kit_that_is_set_up_and_not_for_them_to_change(student):
    assert student.run("/opt/lockstep/lockstep setup") == ""
    student.run("! test -w /opt/lockstep/autograde && ! test -e /opt/lockstep/solutions")
    assert (
        student.run("find / -xdev -path '*/solutions/*' -name lab.py -o -xdev -name variants 2>/dev/null || true") == ""
    )


def test_a_hub_can_start_its_single_user_server(student):
    assert re.search(r"^\d+\.\d+", student.run("jupyterhub-singleuser --version"), re.MULTILINE)


def test_the_labs_are_in_the_home_and_work_that_is_there_stays(student):
    mine = student.home / "labs" / LAB / f"{LAB}.ipynb"
    student.run("true")
    assert mine.exists()
    mine.write_text("my work")
    mine.with_name("run.sh").unlink()
    student.run("true")
    assert mine.read_text() == "my work" and mine.with_name("run.sh").exists()


def test_jupyterlab_answers_on_its_port(store, student):
    command = json.loads(store.buildah("inspect", "--type", "image", "student"))["OCIv1"]["config"]["Cmd"]
    asked = "import sys, urllib.request as u; sys.exit(u.urlopen('http://127.0.0.1:8888/api').status != 200)"
    tries = f'for n in $(seq 90); do python -c "{asked}" 2>/dev/null && break; sleep 1; done; kill $!; test $n -lt 90'
    student.run(f"{' '.join(command)} & {tries}", seconds=200)


def test_a_lab_runs_in_the_students_image_and_its_checks_pass(student):
    solved(student.home / "solved")
    student.run(
        f"cd ~/solved && python -m jupyter nbconvert --to notebook --execute --output executed.ipynb {LAB}.ipynb"
    )
    cells = json.loads((student.home / "solved" / "executed.ipynb").read_text())["cells"]
    shown = [output.get("data", {}).get("text/plain", "") for cell in cells for output in cell.get("outputs", [])]
    passed = re.findall(r"^\w+: passed, ([\d.]+) of \1 points", "\n".join(map("".join, shown)), re.MULTILINE)
    assert sum(map(float, passed)) == 12, shown


def test_the_instructors_image_grades_or_says_what_is_missing(instructor):
    solved(instructor.home / "class" / "submitted" / "ada" / LAB)
    grade = f"./lockstep grade {LAB} --no-collect && cp class/{LAB}/grades.csv ~"
    status, output = instructor.tried(f"cp -r ~/class /opt/lockstep && cd /opt/lockstep && {grade}")
    makes_sandboxes = instructor.tried("bwrap --unshare-user --ro-bind / / true")[0] == 0
    if makes_sandboxes:
        assert status == 0, output
        assert "ada" in (instructor.home / "grades.csv").read_text()
    else:
        assert status == 1 and "cannot make a sandbox" in output and "user namespaces" in output.lower(), output
