"""Containerfile, step by step in a fresh Debian: `podman build` does the same, with an image from a registry."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest
from fresh_system import DISTRIBUTIONS, ROOT, STUDENT, FreshSystem, copy_kit, make_root, packages_that_the_readme_names

SECONDS = 3600
(DEBIAN_13,) = (each for each in DISTRIBUTIONS if each.suite == "trixie")


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile, each with its arguments."""
    text = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


class Container:
    """A container as `instructions` make it, in a root file system without the account that it is to make."""

    def __init__(self, system: FreshSystem) -> None:
        self.system, self.user, self.folder = system, 0, "/"
        self.environment: dict[str, str] = {}
        self.entrypoint: list[str] = []
        self.command: list[str] = []

    def run(self, *arguments: str, more: dict[str, str] | None = None, seconds: float = SECONDS) -> str:
        """Run a command as the container would, and return what it said. It has to succeed."""
        settings = {**({"HOME": "/home/jovyan"} if self.user else {}), **self.environment, **(more or {})}
        options = [word for name, value in settings.items() for word in ("--setenv", name, value)]
        options += ["--chdir", self.folder]
        status, output = self.system.run(*arguments, user=self.user, options=tuple(options), seconds=seconds)
        assert status == 0, f"{arguments}\n{output}"
        return output

    def follow(self, name: str, rest: str) -> None:
        """Do what one instruction says."""
        if name == "RUN":
            self.run("sh", "-c", rest)
        elif name == "COPY":
            assert rest == "--chown=jovyan . /opt/lockstep"
            copy_kit(self.system.root / "opt" / "lockstep")
        elif name == "USER":
            self.user = STUDENT
        elif name == "WORKDIR":
            self.folder = rest
        elif name == "ENV":
            self.environment |= dict(word.split("=", 1) for word in shlex.split(rest))
        elif name in ("ENTRYPOINT", "CMD"):
            setattr(self, {"ENTRYPOINT": "entrypoint", "CMD": "command"}[name], json.loads(rest))
        else:
            assert name == "EXPOSE", name

    def stage(self, root: Path) -> Container:
        """A stage that begins with what this one has, in the root file system `root`."""
        subprocess.run(["cp", "-a", "--reflink=auto", self.system.root, root], check=True)
        stage = copy(self)
        stage.system, stage.environment = replace(self.system, root=root), {**self.environment}
        return stage


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """The container, made."""
    if DEBIAN_13.lacks:
        pytest.skip(DEBIAN_13.lacks)
    root = tmp_path_factory.mktemp("container") / "root"
    make_root(DEBIAN_13, [], root)
    for name in ("passwd", "group"):
        file = root / "etc" / name
        file.write_text("".join(line for line in file.open() if not line.startswith("student:")))
    shutil.rmtree(root / "home" / "student")
    made = Container(replace(FreshSystem(root, DEBIAN_13), kit="/"))
    stages: dict[str, Container] = {}
    for name, rest in instructions():
        if name == "FROM":
            base, _, stage = rest.partition(" AS ")
            made = stages[base].stage(root.with_name(stage)) if base in stages else made
            stages[stage] = made
        elif rest.startswith("--from="):
            source, target = rest.split()[-2:]
            packed = stages[rest.split()[0].removeprefix("--from=")].system.root
            shutil.rmtree(made.system.root / target.strip("/"))
            shutil.copytree(packed / source.strip("/"), made.system.root / target.strip("/"), symlinks=True)
        else:
            made.follow(name, rest)
    yield made
    for stage in stages.values():
        shutil.rmtree(stage.system.root)


def test_it_installs_what_the_readme_names():
    installed = next(rest for name, rest in instructions() if name == "RUN" and "apt-get install" in rest)
    assert {*packages_that_the_readme_names()} <= {*installed.split()}
    apptainer = (ROOT / "slurm" / "lockstep.def").read_text()
    assert {*packages_that_the_readme_names()} <= {*apptainer.split()}


def test_the_kit_is_set_up_and_not_for_students_to_change(container):
    assert container.run("/opt/lockstep/lockstep", "setup") == ""
    container.run("sh", "-c", "! test -w /opt/lockstep/autograde && ! test -e /opt/lockstep/solutions")


def test_a_hub_can_start_its_single_user_server(container):
    assert re.search(r"^\d+\.\d+", container.run(*container.entrypoint, "jupyterhub-singleuser", "--version"), re.M)


def test_the_labs_are_in_the_home_and_work_that_is_there_stays(container):
    mine = container.system.root / "home/jovyan/labs/03_pi_allreduce/03_pi_allreduce.ipynb"
    container.run(*container.entrypoint, "true")
    assert mine.exists()
    mine.write_text("my work")
    mine.with_name("run.sh").unlink()
    container.run(*container.entrypoint, "true")
    assert mine.read_text() == "my work" and mine.with_name("run.sh").exists()


def test_jupyterlab_answers_on_its_port(container):
    asked = "import sys, urllib.request as u; sys.exit(u.urlopen('http://127.0.0.1:8888/api').status != 200)"
    tries = f'for n in $(seq 90); do python -c "{asked}" 2>/dev/null && exit 0; sleep 1; done; exit 1'
    command = shlex.join([*container.entrypoint, *container.command])
    container.run("bash", "-c", f"{command} & {tries}", seconds=200)


def test_four_ranks_compute_in_it(container):
    code = "from course.world import COMM, World\nprint(World(4).run(lambda comm: comm.allreduce(1), COMM))"
    assert "[4, 4, 4, 4]" in container.run(*container.entrypoint, "python", "-c", code)
