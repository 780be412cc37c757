"""What people have in their environment for programs of their own, each variable such as it breaks a set-up or a start
that takes it."""

from __future__ import annotations

from pathlib import Path

# Nobody, root neither, can make a file there.
NOWHERE = "/proc/none"
FOREIGN = {
    # For building Horovod, and other programs.
    "HOROVOD_GPU": "CUDA",
    "HOROVOD_GPU_OPERATIONS": "NCCL",
    "HOROVOD_WITH_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_PYTORCH": "1",
    "HOROVOD_CUDA_HOME": NOWHERE,
    "CC": f"{NOWHERE}/cc",
    "CXX": "none-linux-g++",
    "CFLAGS": "--none",
    "CXXFLAGS": "--none",
    "CPPFLAGS": "--none",
    "LDFLAGS": "--none",
    "CPATH": NOWHERE,
    "CPLUS_INCLUDE_PATH": NOWHERE,
    "LIBRARY_PATH": NOWHERE,
    "COMPILER_PATH": NOWHERE,
    "CMAKE_ARGS": "--none",
    "CMAKE_GENERATOR": "None",
    "CMAKE_PREFIX_PATH": NOWHERE,
    "CMAKE_TOOLCHAIN_FILE": NOWHERE,
    "CMAKE_BUILD_PARALLEL_LEVEL": "none",
    "MAKEFLAGS": "n --jobserver-auth=3,4",
    "MAKEFILES": NOWHERE,
    "SETUPTOOLS_USE_DISTUTILS": "none",
    "SOURCE_DATE_EPOCH": "0",
    "TAR_OPTIONS": "--none",
    "GREP_OPTIONS": "--none",
    "POSIXLY_CORRECT": "1",
    "TMPDIR": NOWHERE,
    # For another Python, and its packages.
    "PYTHONHOME": NOWHERE,
    "PYTHONINSPECT": "1",
    "PYTHONSAFEPATH": "1",
    "PYTHONHASHSEED": "none",
    "PYTHONWARNINGS": "error",
    "PYTHONOPTIMIZE": "2",
    "PIP_TARGET": NOWHERE,
    "PIP_PREFIX": NOWHERE,
    "PIP_ROOT": NOWHERE,
    "PIP_USER": "1",
    "PIP_REQUIRE_VIRTUALENV": "1",
    "PIP_REQUIRE_HASHES": "1",
    "PIP_NO_BINARY": ":all:",
    "PIP_CONSTRAINT": NOWHERE,
    "PIP_PYTHON": NOWHERE,
    "PIP_DRY_RUN": "1",
    "VIRTUAL_ENV": NOWHERE,
    "VIRTUALENV_PYTHON": NOWHERE,
    "CONDA_PREFIX": NOWHERE,
    # For MPI, npm and the shell.
    "OMPI_MCA_btl": "none",
    "OMPI_CXX": "none",
    "OPAL_PREFIX": NOWHERE,
    "NPM_CONFIG_PREFIX": NOWHERE,
    "NODE_OPTIONS": "--none",
    "CDPATH": "/",
    "SHELLOPTS": "noglob:posix",
    "BASH_FUNC_readlink%%": "() { exit 7; }",
    "IPYTHONDIR": NOWHERE,
}
# A file of pip, whose last three lines say where packages are.
PIP_CONF = """
[global]
target = /proc/none
user = true
require-virtualenv = true
constraint = /proc/none
[install]
no-binary = :all:
no-index = true
find-links =
    {index}
"""


def foreign_environment(folder: Path) -> dict[str, str]:
    """All of it, with files in `folder`; pip's file names `folder`/index, and the variables nothing."""
    files = {"breaks.py": "raise SystemExit(7)", "json.py": "raise SystemExit(7)", "breaks.sh": "exit 7"}
    made = folder / "foreign"
    made.mkdir(exist_ok=True)
    for name, text in {**files, "pip.conf": PIP_CONF.format(index=folder / "index")}.items():
        (made / name).write_text(text)
    places = {"PYTHONPATH": made, "PYTHONSTARTUP": made / "breaks.py", "BASH_ENV": made / "breaks.sh"}
    places |= {"PIP_CONFIG_FILE": made / "pip.conf"}
    return FOREIGN | {name: str(path) for name, path in places.items()} | {"PIP_FIND_LINKS": "", "PIP_NO_INDEX": ""}
