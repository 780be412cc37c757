"""The site as `./lockstep book` makes it, and a page that reaches no other host."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from lecture_site import CHOSEN, Offline, Site
from playwright.sync_api import Browser
from refused_hosts import refuse_other_hosts

from autograde.cli import main
from autograde.labs.places import REPOSITORY
from autograde.lectures.notebooks import FOLDER


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Site:
    """The site of all lectures, run on real ranks, and of all labs. With `--chosen` one lecture is run."""
    root = tmp_path_factory.mktemp("course")
    lectures = [CHOSEN] if pytestconfig.getoption("chosen") else []
    shutil.copytree(REPOSITORY / FOLDER, root / FOLDER)
    for name in ("labs", "docs", "solutions", "course/pictures", "bench/pictures"):
        shutil.copytree(REPOSITORY / name, root / name)
    shutil.copy(REPOSITORY / "CONTRIBUTING.md", root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCKSTEP_COURSE", str(root))
        patch.setenv("PYTHONPATH", str(REPOSITORY))
        result = CliRunner().invoke(main, ["book", *lectures], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return Site(root / "build" / "book" / "html", result.output)


@pytest.fixture
def offline(browser: Browser) -> Iterator[Offline]:
    """A new browser's page."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page, failed = context.new_page(), []
        page.on("requestfailed", lambda request: failed.append(request.url))
        page.on("pageerror", lambda error: failed.append(str(error)))
        yield Offline(page, refuse_other_hosts(context), failed)
