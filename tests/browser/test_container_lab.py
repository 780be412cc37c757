"""JupyterLab as students' container starts it: labs and lectures in a home of one's own, and the map of the course."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from notebook_page import START
from playwright.sync_api import Browser, expect
from small_clone import ROOT

from conftest import TOKEN, jupyterlab

pytestmark = [pytest.mark.timeout(300), pytest.mark.alone, pytest.mark.thorough]


def root_folder(home: Path) -> Path:
    """The root folder of the command of students' image, as if `home` were that of its user."""
    command = re.findall(r"^CMD (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)[-1]
    words = json.loads(command)
    assert words[:2] == ["/opt/lockstep/lockstep", "lab"]
    (folder,) = (word.partition("=")[2] for word in words if word.startswith("--ServerApp.root_dir="))
    return Path(folder.replace("/home/jovyan", str(home)))


def without_solutions() -> list[str]:
    """A command prefix below which this clone has no solutions, as students' image has none."""
    kept = [path for path in ROOT.iterdir() if path.name != "solutions"]
    binds = [word for path in kept for word in ("--bind", str(path), str(path))]
    return ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--tmpfs", str(ROOT), *binds, "--"]


def test_the_container_opens_the_map_and_its_links_lead_to_labs_and_lectures(browser: Browser, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run([ROOT / "course" / "container" / "entrypoint", "true"], env=os.environ | {"HOME": home}, check=True)
    with (
        jupyterlab(root_folder(home), tmp_path, inside=without_solutions()) as address,
        browser.new_context(viewport={"width": 1280, "height": 900}) as context,
    ):
        page = context.new_page()
        page.goto(f"{address}lab?token={TOKEN}")
        course = page.get_by_role("tabpanel", name="Course map")
        expect(course.get_by_role("heading", level=1)).to_have_text("Course map", timeout=START)
        labs, lectures = course.get_by_role("list").all()
        expect(labs.get_by_role("listitem")).to_have_count(len([*(ROOT / "labs").glob("[0-9]*/*.ipynb")]))
        expect(lectures.get_by_role("listitem")).to_have_count(len([*(ROOT / "course/lectures").glob("[0-9]*.md")]))
        lectures.get_by_role("link").first.click()
        expect(page.get_by_role("tab", name="01_one_machine.ipynb")).to_be_visible(timeout=START)
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=START)
