"""`./lockstep setup --collect` and `--wheels`, with small packages: for machines without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from small_clone import Clone
from small_package_index import WHEELS, write_index, write_wheel

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = """
[tool.lockstep.wheels]
python = "{}.{}"
glibc = "2.28"
torch = "2.9"
of-python = ["numpy", "cmake"]
left-out = ["large"]
sources = []
""".format(*sys.version_info)


@pytest.fixture
def clone(tmp_path) -> Clone:
    made = Clone(tmp_path / "kit", tmp_path)
    pyproject = made.folder / "pyproject.toml"
    extended = pyproject.read_text().replace('"small-lab==1.0"]', '"small-lab==1.0", "large==1.0", "numpy==1.0"]')
    pyproject.write_text(extended + SETTINGS)
    index = tmp_path / "index"
    write_index(index)
    for name in ("large", "numpy"):
        write_wheel(index, name, "1.0", {})
    also = {"matplotlib.py": "", "sklearn.py": "", "datasets.py": ""}
    write_wheel(index, "small_lab", "1.0", WHEELS["small_lab", "1.0"] | also)
    # A real pip, which the new environment is made with.
    shutil.copy(pip_wheel(tmp_path), index)
    made.add_program("cmake", "exit 0")
    return made


def pip_wheel(folder: Path) -> Path:
    """The wheel of pip that Python's ensurepip carries; Debian's has it in a folder of its own."""
    import ensurepip

    own = sysconfig.get_config_var("WHEEL_PKG_DIR") or Path(ensurepip.__file__).parent / "_bundled"
    (wheel,) = Path(own).glob("pip-*.whl")
    return wheel


def python_with(folder: Path, index: Path, torch: str | None, *more: str) -> Path:
    """A Python of its own with a small torch of release `torch`, and other packages."""
    subprocess.run([sys._base_executable, "-m", "venv", folder], check=True)
    wheels = folder / "wheels"
    wheels.mkdir()
    if torch:
        files = {"torch/__init__.py": "from .version import __version__\nclass cuda: is_available = lambda: False"}
        files["torch/version.py"] = f"__version__ = '{torch}'\n"
        write_wheel(wheels, "torch", torch, files)
    for name in more:
        write_wheel(wheels, name, "7.0", {f"{name}.py": ""})
    if list(wheels.iterdir()):
        pip = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--no-index", *wheels.iterdir()]
        subprocess.run(pip, check=True)
    return folder / "bin" / "python"


@pytest.fixture
def python(clone, tmp_path) -> Path:
    return python_with(tmp_path / "machine", tmp_path / "index", "2.11.0+cu130", "numpy")


def collect(clone: Clone, **environment: str) -> tuple[int, str]:
    """Run `./lockstep setup --collect wheels` with a pip of the clone's own: Debian's Python may have none."""
    subprocess.run([sys._base_executable, "-m", "venv", clone.folder / ".venv"], check=True)
    try:
        return clone.run("setup", "--collect", "wheels", **environment)
    finally:
        shutil.rmtree(clone.folder / ".venv")


@pytest.fixture
def wheels(clone, tmp_path) -> Path:
    status, output = collect(clone)
    assert status == 0, output
    return tmp_path / "wheels"


@pytest.mark.thorough
def test_what_was_collected_sets_up_beside_another_pythons_torch(clone, python, wheels):
    held = {path.name for path in wheels.iterdir()}
    assert {"horovod-0.28.1.tar.gz", "small_lab-1.0-py3-none-any.whl", "requirements.txt"} <= held
    assert not any(name.startswith(("torch", "large", "numpy")) for name in held)
    offline = {"PIP_FIND_LINKS": "", "https_proxy": "http://127.0.0.1:9"}
    status, output = clone.run("setup", "--wheels", str(wheels), "--with-torch-of", str(python), **offline)
    assert status == 0, output
    assert "which sees torch 2.11.0+cu130" in output
    assert "Horovod is built without GPU operations: nvcc, NCCL or a GPU is missing" in output
    asked = "import torch, numpy, horovod.torch, nbgrader; print(torch.__file__)"
    seen = subprocess.check_output([clone.folder / ".venv" / "bin" / "python", "-c", asked], text=True)
    assert Path(seen).is_relative_to(python.parents[1])
    # Later commands find it as it is, and make it again, from the same folder, only when the kit has changed.
    assert clone.run("grade", **offline) == (3, "kit grade\n")
    (clone.folder / "pyproject.toml").open("a").write("# changed\n")
    status, output = clone.run("grade", **offline)
    assert "which sees torch 2.11.0+cu130" in output and output.endswith("kit grade\n"), output
    status, output = clone.run("setup", "test")
    assert status == 1 and ".venv has not what `test` needs" in output


@pytest.mark.thorough
def test_without_cmake_horovod_is_left_out_and_it_says_so(clone, python, wheels):
    (clone.programs / "cmake").unlink()
    status, output = clone.run("setup", "--wheels", str(wheels), "--with-torch-of", str(python))
    assert status == 0, output
    assert "Horovod is left out, and with it the labs that use it: there is no cmake, to build it" in output


@pytest.mark.thorough
def test_a_build_of_horovod_that_fails_leaves_it_out(clone, python, wheels):
    (wheels / "horovod-0.28.1.tar.gz").write_bytes(b"")
    status, output = clone.run("setup", "--wheels", str(wheels), "--with-torch-of", str(python))
    assert status == 0, output
    assert "Horovod cannot be built without GPU operations" in output


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("torch", "more", "why"),
    [
        (None, ["numpy"], "has no torch"),
        ("2.8.1+cu128", ["numpy"], "torch 2.9 or later is needed"),
        ("2.11.0", [], "nor {wheels} has numpy"),
    ],
)
def test_a_python_that_lacks_something_is_refused_and_nothing_is_made(clone, wheels, tmp_path, torch, more, why):
    python = python_with(tmp_path / "poor", tmp_path / "index", torch, *more)
    status, output = clone.run("setup", "--wheels", str(wheels), "--with-torch-of", str(python))
    assert status == 1
    assert why.format(wheels=wheels) in output
    assert not (clone.folder / ".venv").exists()


@pytest.mark.thorough
def test_a_wheel_that_is_missing_is_named(clone, python, wheels):
    (wheels / "small_lab-1.0-py3-none-any.whl").unlink()
    status, output = clone.run("setup", "--wheels", str(wheels), "--with-torch-of", str(python))
    assert status == 1
    assert f"{wheels} lacks, for Python" in output and ": small-lab==1.0\n" in output
    assert not (clone.folder / ".venv").exists()


@pytest.mark.thorough
def test_a_set_up_that_fails_midway_leaves_no_environment(clone, python, wheels):
    (wheels / "small_lab-1.0-py3-none-any.whl").write_bytes(b"cut off")
    status, output = clone.run("setup", "--wheels", str(wheels), "--with-torch-of", str(python))
    assert status == 1
    assert "this step failed: installing nbgrader" in output
    assert not (clone.folder / ".venv").exists()


@pytest.mark.thorough
def test_an_environment_made_with_a_network_is_kept(clone, python, wheels):
    assert clone.run("setup")[0] == 0
    status, output = clone.run("setup", "--wheels", str(wheels), "--with-torch-of", str(python))
    assert status == 1
    assert "made with a network, and would be lost" in output
    assert clone.stamps


def test_options_that_make_no_sense_get_one_line_of_why(clone, tmp_path):
    clone.add_program("old", "test $1 = -V && echo Python 3.10.12 && exit; exit 1")
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    python = sys._base_executable
    for arguments, why in {
        ("--wheels", "file", "--with-torch-of", python): "file is no folder",
        ("--wheels", "empty", "--with-torch-of", python): "empty has no requirements.txt",
        ("--wheels", "empty", "--with-torch-of", "none"): "none is no program",
        ("--wheels", "empty", "--with-torch-of", "old"): "old is: Python 3.10.12",
        ("--collect", "file"): "it is a file",
        ("--collect", "full"): "it holds other files",
        ("--collect", "/proc/wheels"): "not allowed to write in /proc",
    }.items():
        status, output = clone.run("setup", *arguments)
        assert status == 1 and why in output, output
        assert output.count("  why:") == 1 and "Traceback" not in output, output
    assert (tmp_path / "full" / "mine").exists()
    for arguments, why in {
        ("--wheels", "empty"): "these options do not go together",
        ("--wheels",): "--wheels needs a value",
        ("--wheel", "empty"): "the set-up has no option --wheel",
    }.items():
        status, output = clone.run("setup", *arguments)
        assert status == 2 and why in output and output.count("\n") == 1, output


def test_collecting_without_network_says_so_and_leaves_nothing(clone, tmp_path):
    status, output = collect(clone, PIP_FIND_LINKS="")
    assert status == 1
    assert "No matching distribution found" in output
    assert not (tmp_path / "wheels").exists() and not list(tmp_path.glob(".wheels.*"))
