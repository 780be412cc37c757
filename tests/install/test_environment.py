"""environment.yml (conda) and pyproject.toml (pip) describe the same set, and the code imports nothing else."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]

# Where conda-forge calls a package otherwise than PyPI does.
CONDA_NAMES = {
    "fastjsonschema": "python-fastjsonschema",
    "jupyter-client": "jupyter_client",
    "jupyter-core": "jupyter_core",
    "jupyter-server": "jupyter_server",
    "matplotlib": "matplotlib-base",
    "playwright": "playwright-python",
    "torch": "pytorch",
}

# What conda needs and pip does not: Python and pip are there before pip starts.
ONLY_CONDA = {"python", "pip"}

# Extras that conda does without: its Horovod comes built, its JupyterHub with the proxy; few build the site.
NOT_FOR_CONDA = {"horovod-build", "hub-proxy", "book", "slides"}


def pip_set(project: dict) -> dict[str, str]:
    """Version by package of `project`, a parsed pyproject.toml, by conda's names: `==1.2` becomes `1.2`."""
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"]]
    wanted += [requirement for extra in extras.keys() - NOT_FOR_CONDA for requirement in extras[extra]]
    found = {}
    for requirement in wanted:
        name, version = re.fullmatch(r"([\w.-]+)(?:==)?(.*)", requirement).groups()
        found[CONDA_NAMES.get(name, name)] = version
    return found | {"horovod": project["tool"]["lockstep"]["horovod"]}


def conda_set(environment: dict) -> dict[str, str]:
    """Version by package of `environment`, a parsed environment.yml; builds (`=1.2=*mpi*`) are left out."""
    found = {}
    for requirement in environment["dependencies"]:
        if isinstance(requirement, dict):
            *from_pypi, kit = requirement["pip"]
            assert kit == "-e .", "pip installs the kit last"
            found |= dict(name.split("==") for name in from_pypi)
            continue
        name, version = re.fullmatch(r"([\w.-]+?)(?:=|(?=[<>])|$)(.*)", requirement).groups()
        found[name] = version if version[:1] in ("<", ">") else version.partition("=")[0]
    return found


def disagreements(project: dict, environment: dict) -> list[str]:
    """One sentence for each package whose versions differ, or that is in one of the files only."""
    pip, conda = pip_set(project), conda_set(environment)
    conda = {name: version for name, version in conda.items() if name not in ONLY_CONDA}
    return [
        f"{name}: {pip.get(name, 'missing')} in pyproject.toml, {conda.get(name, 'missing')} in environment.yml"
        for name in sorted(pip.keys() | conda.keys())
        if pip.get(name) != conda.get(name)
    ]


@pytest.fixture
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture
def environment() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text())


def test_conda_and_pip_get_the_same_versions(project, environment):
    assert disagreements(project, environment) == []


def test_conda_gets_the_python_that_the_project_requires(project, environment):
    wanted = SpecifierSet(conda_set(environment)["python"])
    allowed = SpecifierSet(project["project"]["requires-python"])
    minors = [f"3.{minor}" for minor in range(8, 20) if f"3.{minor}" in wanted]
    assert minors
    assert [minor for minor in minors if minor not in allowed] == []


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("pytorch=2.13.0", "pytorch=2.12.0", ["pytorch: 2.13.0 in pyproject.toml, 2.12.0 in environment.yml"]),
        ("tqdm=4.70.1", "pip", ["tqdm: 4.70.1 in pyproject.toml, missing in environment.yml"]),
        ("pip", "pandas=3.0", ["pandas: missing in pyproject.toml, 3.0 in environment.yml"]),
        ("horovod=0.28.1=*mpi_openmpi*", "horovod", ["horovod: 0.28.1 in pyproject.toml,  in environment.yml"]),
        ("soupsieve<4", "soupsieve<5", ["soupsieve: <4 in pyproject.toml, <5 in environment.yml"]),
    ],
)
def test_a_difference_is_named(project, environment, before, after, named):
    environment["dependencies"] = [after if entry == before else entry for entry in environment["dependencies"]]
    assert disagreements(project, environment) == named


def test_every_pin_is_what_is_installed_here(project):
    from importlib.metadata import version

    for requirement in project["project"]["dependencies"]:
        name, _, wanted = requirement.partition("==")
        assert not wanted or version(name).partition("+")[0] == wanted, f"{name}: run ./lockstep setup"


def test_all_that_the_packages_import_is_a_declared_dependency(project):
    extras = project["project"]["optional-dependencies"]
    listed = project["project"]["dependencies"] + extras["hub"] + extras["hub-proxy"]
    declared = {canonicalize_name(re.match(r"[\w.-]+", name)[0]) for name in listed} | {"horovod"}
    distributions = packages_distributions()
    of_labs = [path for path in ROOT.glob("solutions/**/*.py") if path.parent.name != "tests"]
    for path in [*ROOT.glob("course/**/*.py"), *ROOT.glob("autograde/**/*.py"), *of_labs]:
        beside = {other.stem for other in path.parent.glob("*.py")}  # the reaper is run by its path
        for module in imported(path) - sys.stdlib_module_names - {"course", "autograde", "__future__"} - beside:
            owners = {canonicalize_name(name) for name in distributions.get(module, [module])}
            assert owners & declared, f"{path.relative_to(ROOT)} imports {module}, which pyproject.toml does not list"


def imported(path: Path) -> set[str]:
    """Top names of the modules that the file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.partition(".")[0])
    return found
