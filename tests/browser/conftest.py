"""A real browser, and JupyterLab as `./lockstep lab` starts it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from example_labs import lab_of_the_story
from notebook_page import NotebookPage
from playwright.sync_api import Browser, Page
from server_address import address_of
from small_clone import ROOT

from autograde.labs.folder import find_labs
from autograde.making.solved import write_solved

SCREENSHOTS = "LOCKSTEP_SCREENSHOTS"  # environment variable: the folder that screenshots are left in
TOKEN = "secret"


@pytest.fixture(scope="session")
def screenshot() -> Callable[[Page, str], None]:
    """Leaves a screenshot of a page under a name, if it is told where."""
    folder = os.environ.get(SCREENSHOTS)

    def leave(page: Page, name: str) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png")

    return leave


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the labs in it, solved."""
    folder = tmp_path_factory.mktemp("kit")
    for lab in find_labs(ROOT):
        write_solved(lab, folder / "labs" / lab.name)
    return folder


@contextmanager
def jupyterlab(root: Path | None, state: Path, *options: str, inside: Sequence[str] = ()) -> Iterator[str]:
    """`./lockstep lab` on a folder, for a person who never used JupyterLab before: its address.

    root: None: on the clone's labs, as students have it. state: where it keeps what it remembers of that person.
    options: of `./lockstep lab`. inside: the command that runs it somewhere else, a container say.
    """
    assert list(ROOT.glob(".venv/lockstep.*")), "this needs a finished set-up: ./lockstep test"
    folders = {f"JUPYTER_{kind}_DIR": str(state / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    server = subprocess.Popen(
        [
            *(*inside, ROOT / "lockstep", "lab", *options, "--no-browser", "--ip=127.0.0.1", "--port=0"),
            f"--IdentityProvider.token={TOKEN}",
            *([f"--ServerApp.root_dir={root}"] if root else []),
        ],
        env=os.environ | folders | {"IPYTHONDIR": str(state / "ipython")},
        stdout=(state / "log").open("w"),
        stderr=subprocess.STDOUT,
    )
    try:
        yield address_of(server, state / "runtime", state / "log")
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="module")
def lab_page(browser: Browser, labs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookPage]:
    """Lab 03, solved, as a student opens it in the JupyterLab of `./lockstep lab`."""
    with jupyterlab(labs, tmp_path_factory.mktemp("state")) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        lab = lab_of_the_story("03_pi_allreduce")
        path = f"labs/{lab.name}/{lab.notebook}"
        page.goto(f"{address}lab/tree/{path}?token={TOKEN}")
        yield NotebookPage(page, cells=len(nbformat.read(labs / path, as_version=4).cells))
        context.close()
