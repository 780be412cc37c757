"""Starts a command, JupyterLab say, whatever the home is like: full, read-only, somebody else's, full of old settings.

    python -P -m course.homes.start [--apart] [--copy] COMMAND [ARGUMENTS]

What a start has to write lies outside of the home, or where the home takes it. --apart: the settings of Jupyter,
IPython and matplotlib that somebody has in the home, for other servers, do not count here; JupyterLab's own do. --copy:
puts labs and lectures into the home first, as in a container. Standard library only.
"""

from __future__ import annotations

import os
import pwd
import stat
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from course.homes.copies import put
from course.homes.look import NOT_COPIED, cannot_write, trouble

KIT = Path(__file__).resolve().parents[2]
STUDENTS = KIT / "course" / "jupyterlab" / "students"  # the map of the course
PLACES = ("/tmp", "/var/tmp", "/dev/shm")
SETTINGS = ("JUPYTER_CONFIG_DIR", "IPYTHONDIR", "MPLCONFIGDIR")  # which code in the home decides about
OF_SHELLS = ("PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT")  # for somebody's other Python


def state_folder() -> Path | None:
    """A folder outside of the home, for this account alone, where something can be written; None if there is none."""
    for place in filter(None, (os.environ.get("TMPDIR"), *PLACES)):
        folder = Path(place, f"lockstep-{os.geteuid()}")
        try:
            if not is_own(folder):
                folder = Path(tempfile.mkdtemp(prefix="lockstep-", dir=place))
        except OSError:
            continue
        if cannot_write(folder) is None:
            return folder
    return None


def is_own(folder: Path) -> bool:
    """Whether a folder, made if it is missing, is this account's and closed to others. Raises OSError."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        seen = folder.lstat()
        return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.geteuid() and not seen.st_mode & 0o077
    return True


def in_home(home: Path) -> Iterator[tuple[str, list[Path]]]:
    """The folders that Jupyter, IPython and matplotlib write to: the variable that names each, and where in the home it
    writes."""
    config = named("JUPYTER_CONFIG_DIR", home / ".jupyter")
    data = named("XDG_DATA_HOME", home / ".local" / "share") / "jupyter"
    cache = [named(f"XDG_{kind}_HOME", home / name) for kind, name in (("CONFIG", ".config"), ("CACHE", ".cache"))]
    yield "JUPYTER_CONFIG_DIR", [config]
    yield "JUPYTER_DATA_DIR", [named("JUPYTER_DATA_DIR", data)]
    yield "IPYTHONDIR", [(ipython := named("IPYTHONDIR", home / ".ipython")), ipython / "profile_default"]
    yield "MPLCONFIGDIR", [named("MPLCONFIGDIR", path / "matplotlib") for path in cache]
    for kind, name in (("SETTINGS", "user-settings"), ("WORKSPACES", "workspaces")):
        yield f"JUPYTERLAB_{kind}_DIR", [named(f"JUPYTERLAB_{kind}_DIR", config / "lab" / name)]


def named(variable: str, otherwise: Path) -> Path:
    """The folder that a variable names, or another one."""
    return Path(os.environ.get(variable) or otherwise)


def nearest(folder: Path) -> Path:
    """The folder, or where it is to be made if it is not there."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


def environment(home: Path, apart: bool) -> dict[str, str]:
    """What is added to the environment of a command. apart: see above."""
    # The kit's kernel and settings come before those of the same name in the home.
    added = {"JUPYTER_PREFER_ENV_PATH": "1"} | ({"PYTHONNOUSERSITE": "1"} if apart else {})
    state = state_folder()
    if state is None:
        return added
    runtime = os.environ.get("JUPYTER_RUNTIME_DIR")
    if not runtime or cannot_write(nearest(Path(runtime))):
        added["JUPYTER_RUNTIME_DIR"] = str(state / "runtime")
    folders = dict(in_home(home))
    refusing = {one for one in {nearest(path) for paths in folders.values() for path in paths} if cannot_write(one)}
    for variable, paths in folders.items():
        of_others = apart and variable in SETTINGS and variable not in os.environ
        if of_others or any(nearest(path) in refusing for path in paths):
            added[variable] = str(state / variable.lower())
        elif apart and variable.startswith("JUPYTERLAB"):
            added[variable] = str(paths[0])
    return added


def copied(home: Path) -> dict[str, str]:
    """Put labs and lectures into the home. Returns what is added to the environment of the command."""
    sentences = put(KIT, home)
    found = trouble(home)
    if found is not None and found.lasting:  # which says it all
        sentences = []
    for sentence in [*([found.sentence] if found else []), *sentences]:
        print(f"lockstep: {sentence}", file=sys.stderr)
    added = {NOT_COPIED: "\n".join(sentences)}
    if not (KIT / "solutions").exists() and "JUPYTER_CONFIG_PATH" not in os.environ:
        added["JUPYTER_CONFIG_PATH"] = str(STUDENTS)
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:  # libraries ask for a name
        added |= {name: "student" for name in ("USER", "LOGNAME") if name not in os.environ}
    return added


def main() -> None:
    """See above. Whatever fails here, the command is started."""
    command = sys.argv[1:]
    options = []
    while command and command[0].startswith("--"):
        options.append(command.pop(0))
    for name in OF_SHELLS:
        os.environ.pop(name, None)
    if "error" in os.environ.get("PYTHONWARNINGS", ""):
        del os.environ["PYTHONWARNINGS"]
    home = Path(os.path.expanduser("~"))
    try:
        if "--copy" in options:
            os.environ.update(copied(home))
        os.environ.update(environment(home, "--apart" in options))
    except Exception:
        traceback.print_exc()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise SystemExit(f"lockstep: {command[0]} cannot be started: {error.strerror}") from None


if __name__ == "__main__":
    main()
