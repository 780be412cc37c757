"""JupyterLab as students' container starts it: labs and lectures in a home of one's own, and the map of the course."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import TOKEN, jupyterlab
from notebook_page import START
from playwright.sync_api import Browser, expect
from small_clone import ROOT

pytestmark = [pytest.mark.timeout(300), pytest.mark.alone, pytest.mark.thorough]


def command(home: Path) -> tuple[dict[str, str], str]:
    """The variables and the root folder of the command of students' image, as if its kit were this clone."""
    text = (ROOT / "Containerfile").read_text().rpartition("FROM ")[2]
    words = json.loads(re.search(r"^CMD (.*)$", text, re.MULTILINE)[1])
    words = [word.replace("/opt/lockstep", str(ROOT)).replace("/home/jovyan", str(home)) for word in words]
    here = words.index(str(ROOT / "lockstep"))
    assert words[0] == "env" and words[here + 1] == "lab"
    (root,) = (word.partition("=")[2] for word in words if word.startswith("--ServerApp.root_dir="))
    return dict(word.split("=", 1) for word in words[1:here]), root


def test_the_container_opens_the_map_and_its_links_lead_to_labs_and_lectures(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    # As the entrypoint does, whose `cp` is that of the container.
    entrypoint = (ROOT / "course" / "container" / "entrypoint").read_text()
    (folders,) = re.findall(r"^for folder in (.*); do$", entrypoint, re.MULTILINE)
    for folder in folders.split():
        shutil.copytree(ROOT / folder, home / folder)
    environment, root = command(home)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with (
        jupyterlab(Path(root), tmp_path) as address,
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
