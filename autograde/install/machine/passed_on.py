"""What of the environment of whoever sets up reaches the programs that do it.

Only what is listed here. What people set for programs of their own (HOROVOD_..., CXXFLAGS, CMAKE_..., PIP_TARGET, what
conda activates) changes what is built, or breaks it, and no list of it would ever be whole. docs/admins.md says what is
taken.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from course.processes.surroundings import machine

COMPILER = 2**30  # bytes that one takes at a file of Horovod's that includes torch
# In small letters: proxies and npm's variables are written either way. `*` stands for anything.
PASSED_ON = (
    # Whose account this is, where its files are, and how it writes.
    "path home user logname shell term lang language lc_* tz tmpdir xdg_cache_home xdg_config_home xdg_config_dirs",
    # Which network there is, and whom it trusts.
    "http_proxy https_proxy ftp_proxy all_proxy no_proxy netrc",
    "ssl_cert_file ssl_cert_dir requests_ca_bundle curl_ca_bundle node_extra_ca_certs",
    "npm_config_registry npm_config_*proxy npm_config_cafile npm_config_ca npm_config_strict_ssl npm_config_cache",
    # A site's modules: the compiler that they name, its licence, and the libraries that it and MPI load.
    "cc cxx ld_library_path *_license_file",
)
# A relocated MPI of the system finds itself by these; the Open MPI of `.venv` would look for itself there.
OF_SYSTEMS_MPI = "opal_prefix pmix_prefix prte_prefix i_mpi_root"
# Of pip's settings, in its files and as PIP_..., those that say where packages come from.
OF_PIP = (
    *("index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "proxy", "cert", "client-cert"),
    *("keyring-provider", "retries", "timeout", "default-timeout", "cache-dir", "no-cache-dir"),
    *("use-feature", "use-deprecated"),
)
PIP_COMMANDS = ("global", "install", "download", "wheel")  # sections of pip's files; the last one wins


def passed_on(environment: Mapping[str, str], mpi: str) -> dict[str, str]:
    """The variables that the set-up's programs get, but pip's. mpi: as Kit's."""
    names = " ".join([*PASSED_ON, OF_SYSTEMS_MPI if mpi != "wheel" else ""]).split()
    kept = {name: value for name, value in environment.items() if value and listed(name, names)}
    if not os.path.isdir(kept.get("TMPDIR", "/")):
        del kept["TMPDIR"]
    return kept | {"MAKEFLAGS": make_flags(environment.get("MAKEFLAGS", ""))}


def listed(name: str, names: list[str]) -> bool:
    """Whether a variable is among `names`, which are as in PASSED_ON."""
    return any(fnmatchcase(name.lower(), each) for each in names)


def make_flags(given: str) -> str:
    """How many compilers run at once: as many as MAKEFLAGS says in `given`, else as there are cores and memory for. The
    rest of it, as below another make, is for another make."""
    asked = re.search(r"(?:^|\s)(?:-\w*j|--jobs[= ])\s*(\d+)", given)
    return f"-j{asked[1] if asked else compilers()}"


def compilers() -> int:
    """As many as there are cores and memory for."""
    return max(1, min(machine.cores(), machine.memory().available // COMPILER))


def passed_on_to_pip(environment: Mapping[str, str]) -> dict[str, str]:
    """As variables, what pip's files and variables say of where packages come from."""
    files = configparser.RawConfigParser()
    for file in pip_files(environment):
        with contextlib.suppress(configparser.Error, OSError, UnicodeDecodeError):
            files.read_string(file.read_text(encoding="utf-8"))
    taken = {}
    for name in OF_PIP:
        variable = f"PIP_{name.upper().replace('-', '_')}"
        found = [files[part].get(name) for part in PIP_COMMANDS if part in files] + [environment.get(variable)]
        if given := list(filter(None, found)):
            taken[variable] = given[-1]
    return taken


def pip_files(environment: Mapping[str, str]) -> list[Path]:
    """Where pip looks for its settings; the last one wins (pip.pypa.io/en/stable/topics/configuration)."""
    named = environment.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    home = Path(environment.get("HOME", "/"))
    folders = [Path(each, "pip") for each in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep) if each]
    own = [home / ".pip", Path(environment.get("XDG_CONFIG_HOME") or home / ".config", "pip")]
    folders += [Path("/etc"), *([] if os.path.exists(named) else own)]
    return [*(folder / "pip.conf" for folder in folders), *([Path(named)] if named else [])]
