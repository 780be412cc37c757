"""Students' containers have what students get: Containerfile and slurm/lockstep.def, followed as far as files go."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest

from autograde.labs.folder import Lab, find_labs, load_variants, solution_cells
from autograde.labs.places import REPOSITORY
from autograde.making.bundle import write_students_clone

LABS = find_labs(REPOSITORY)
PACK = re.compile(r"python -m autograde\.making\.bundle (\S+)")


class Stages:
    """The root file systems that an image's stages make, with the files that come from the clone.

    students: what is packed for them.
    """

    def __init__(self, folder: Path, students: Path) -> None:
        self.folder, self.students = folder, students
        self.last = folder

    def begin(self, name: str, base: str) -> None:
        """Begin the stage `name`, on the stage or image `base`."""
        self.last = self.folder / name
        if (self.folder / base).is_dir():
            shutil.copytree(self.folder / base, self.last)
        else:
            self.last.mkdir()

    def copy(self, sources: list[str], target: str, stage: str | None) -> None:
        """Copy from a stage; or from the clone, of which git knows all that matters."""
        if stage:
            for source in sources:
                copied = self.last / target.strip("/")
                shutil.copytree(self.folder / stage / source.strip("/"), copied, dirs_exist_ok=True)
            return
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", *sources]
        names = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split("\0")
        for name in filter(None, names):
            # A file goes into the target, a folder's content as well.
            above = next((source for source in sources if name.startswith(f"{source}/")), None)
            inside = Path(name).name if name in sources else Path(name).relative_to(above or ".")
            copied = self.last / target.strip("/") / inside
            copied.parent.mkdir(parents=True, exist_ok=True)
            if (REPOSITORY / name).exists():
                shutil.copy2(REPOSITORY / name, copied)

    def run(self, command: str) -> None:
        """What the command packs for students, and where it sets up; other commands bring nothing of the clone."""
        if "./lockstep setup" in command:
            (self.last / "opt" / "lockstep" / ".venv").mkdir()
        for folder in PACK.findall(command):
            shutil.copytree(self.students, self.last / folder.strip("/"))


def podmans(stages: Stages) -> Path:
    """The root file system of what `podman build .` makes."""
    text = re.sub(r"\\\n", " ", (REPOSITORY / "Containerfile").read_text())
    for name, _, rest in (line.partition(" ") for line in text.splitlines()):
        if name == "FROM":
            base, _, stage = rest.partition(" AS ")
            stages.begin(stage or "only", base)
        elif name == "COPY":
            options, paths = (re.findall(pattern, rest) for pattern in (r"--(\w+)=(\S+)", r"(?<= )[^- ]\S*|^[^- ]\S*"))
            stages.copy(paths[:-1], paths[-1], dict(options).get("from"))
        elif name == "RUN":
            stages.run(rest)
    return stages.last


def apptainers(stages: Stages) -> Path:
    """The root file system of what `apptainer build slurm/lockstep.def` makes."""
    text = (REPOSITORY / "slurm" / "lockstep.def").read_text()
    arguments = dict(re.findall(r"^ +(\w+)=(\S+)$", text, re.MULTILINE))
    text = re.sub(r"\{\{ (\w+) \}\}", lambda match: arguments[match[1]], text)
    for part in text.split("Bootstrap:")[1:]:
        stages.begin((re.findall(r"^Stage: (\w+)", part, re.MULTILINE) or ["only"])[0], "")
        for section, _, stage, lines in re.findall(r"^%(\w+)( from (\w+))?\n((?: +.*\n|\n)*)", part, re.MULTILINE):
            for line in lines.splitlines():
                if section == "files" and line.strip():
                    stages.copy([line.split()[0]], line.split()[1], stage)
                elif section == "post":
                    stages.run(line)
    return stages.last


def one_line(text: str) -> str:
    """The text without the differences of indentation."""
    return " ".join(text.split())


def kept_back(lab: Lab) -> dict[str, str]:
    """What students of `lab` must not read, each in one line, by a name of it."""
    found = {}
    for todo, cell in solution_cells(lab.source).items():
        found[f"{lab.name}, {todo}, whole cell"] = re.sub(r".*(BEGIN|END) SOLUTION.*\n", "", cell)
        for number, part in enumerate(re.findall(r"BEGIN SOLUTION\n(.*?)\n *### END", cell, re.DOTALL)):
            if len(one_line(part)) > 80:  # shorter ones are other code's, too
                found[f"{lab.name}, {todo}, part {number}"] = part
    for todo, answers in load_variants(lab.variants)[0].items():
        found |= {f"{lab.name}, {todo}, {name}": answer for name, answer in answers.items()}
    return {name: one_line(text) for name, text in found.items() if text.strip()}


def text_of(folder: Path) -> str:
    """All text in the folder, notebooks as their cells have it."""
    texts = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".ipynb":
            texts += [cell.source for cell in nbformat.read(path, as_version=4).cells]
        elif path.is_file():
            texts.append(path.read_text(errors="replace"))
    return "\n".join(one_line(text) for text in texts)


@pytest.fixture(scope="module")
def students(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is packed for students."""
    folder = tmp_path_factory.mktemp("packed") / "students"
    write_students_clone(LABS, folder)
    return folder


def test_no_solution_or_right_answer_is_in_what_is_packed_for_students(students):
    text = text_of(students)
    for lab in LABS:
        for name, secret in kept_back(lab).items():
            assert secret not in text, name
    source = one_line(LABS[0].source.read_text())
    assert [each for each in kept_back(LABS[0]).values() if each in source], "this would find them"


@pytest.mark.parametrize("build", [podmans, apptainers])
def test_an_image_has_what_is_packed_for_students_and_nothing_else_of_the_clone(build, students, tmp_path):
    kit = build(Stages(tmp_path, students)) / "opt" / "lockstep"
    assert {path.relative_to(kit) for path in kit.rglob("*")} - {Path(".venv")} == {
        path.relative_to(students) for path in students.rglob("*")
    }
    assert {each.name for each in (kit / "labs").glob("[0-9]*")} == {lab.name for lab in LABS}
    assert {path.name for path in kit.iterdir()} >= {"lockstep", "LICENSE", "course", "autograde"}


def test_the_kit_in_the_image_of_students_is_not_theirs_to_change():
    student = (REPOSITORY / "Containerfile").read_text().rpartition("FROM ")[2]
    assert re.findall(r"^COPY (.*)$", student, re.MULTILINE) == [
        "--from=packed --chown=root:root /opt/students /opt/lockstep",
        "--from=packed --chown=root:root /opt/lockstep/.venv /opt/lockstep/.venv",
    ]
