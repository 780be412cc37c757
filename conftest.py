"""Fixtures of all tests, those in the labs' folders, too. A world takes seconds to start, so tests share one."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import failures
import lab_tests
import pytest
from chosen import chosen, part_of
from lab_tests import lab_of
from labs_under_test import COURSE, LABS, OURS, Worlds
from running_hub import Hub, running_hub
from slurm_cluster import running_cluster
from small_course import LAB as SMALL
from small_course import make_course
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from autograde.labs.folder import Lab, LabError, find_lab
from autograde.making.archive import renew
from course.calls.main_module import main_put_back
from course.processes.launchers.slurm import SHARED
from course.world import World

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

# Chromium neither asks for the network nor for a sandbox, which root does not get.
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
CHROMIUM += ["--no-zygote", "--disable-site-isolation-trials"]  # fewer processes: a quarter less work
PATIENCE = 240_000  # ms: on a crowded machine, all that a page does takes its time
# How names of groups begin, the longest groups first: short ones fill what is left of the workers' time at the end.
LONG_FIRST = ("hub", "slurm", "tests/lectures/test_site", "tests/browser", "attacks", "tests/grading", "tests/attacks")
LONG_FIRST += ("tests/mutants", "tests/world", "tests/install", "tests/hub", "tests/course", "tests/checks")
LONG_FIRST += ("tests/labs/test_lab_", "tests/", "solutions/", "")  # the last are of labs that are elsewhere


class Together(LoadScopeScheduling):
    """Gives each worker one group of tests after the other. What is dear to start is started once in a group."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid, self.config)


def group(nodeid: str, config: pytest.Config) -> str:
    """Whose tests run on one worker: those of the hub, those of Slurm, a group of attackers, a lab's TODO, a module."""
    path, _, rest = nodeid.partition("::")
    if path.startswith(("tests/hub/test_hub_", "tests/browser/test_hub_", "tests/browser/test_first_look")):
        return "hub"
    if path.startswith("tests/slurm/") or path.endswith("_on_slurm.py"):
        return "slurm"
    parameters = rest.partition("[")[2].strip("]").split("-")
    if path == "tests/attacks/test_attacks.py" and not config.getoption("chosen"):
        return "attacks on memory" if parameters[0] in ("bombs", "floods") else f"attacks {parameters[0]}"
    if path == "tests/lectures/test_site.py":  # one site for all lectures
        return path
    if path.startswith("tests/labs/") or (re.match(r"\d\d_", parameters[0]) and path.count("/") > 1):
        return "-".join([path, *parameters[:2]])
    return path


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together | None:
    """What `--dist loadscope` does here. (Marks for `--dist loadgroup` are not heard by xdist 3.8 with pytest 9.)"""
    return Together(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that choose tests, see their help. `./lockstep test` (tests/run.py) gives them."""
    parser.addoption("--chosen", action="store_true", help="only those that are run each time, see support/chosen.py")
    parser.addoption("--part", metavar="K/N", help="run only the K-th of N parts, in which groups are dealt")
    parser.addoption("--lab", metavar="NAME", help="run only the tests of this lab: its build, checks and notebook")
    parser.addoption("--every-mistake", action="store_true", help="hold all known mistakes against 20 seeds, for hours")
    failures.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a lab that is not there; make the labs' archives; hear SIGINT; keep what fails for `--failures`."""
    if name := config.getoption("lab"):
        try:
            find_lab(COURSE, name)
        except LabError as error:
            raise pytest.UsageError(str(error)) from None
    if not hasattr(config, "workerinput"):
        renew(COURSE)
    # What a script starts in the background ignores it, and so would all that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    failures.register(config)
    lab_tests.register(config, [lab for lab in LABS if name in (None, lab.name)])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what `--lab`, `--chosen` and `--part` ask for, the longest groups first."""
    name, kept = config.getoption("lab"), list(items)

    def is_of_lab(item: pytest.Item) -> bool:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        labs = [getattr(value, "lab", value) for value in parameters]
        return lab_of(item.path) == name or any(isinstance(lab, Lab) and lab.name == name for lab in labs)

    for item in items:
        if group(item.nodeid, config) == "hub":
            item.add_marker(pytest.mark.timeout(3600), append=False)  # its start alone takes minutes on a busy machine
    if name:
        kept = [item for item in kept if is_of_lab(item)]
    if config.getoption("chosen"):
        kept = chosen(kept)
    kept.sort(key=lambda item: [group(item.nodeid, config).startswith(first) for first in LONG_FIRST].index(True))
    if text := config.getoption("part"):
        groups = part_of(list(dict.fromkeys(group(item.nodeid, config) for item in kept)), text)
        kept = [item for item in kept if group(item.nodeid, config) in groups]
    wanted = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = kept


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave alone the modules of which `-m`, `--lab` or `--chosen` leaves all tests out: importing all of them takes
    ten seconds, and each worker does."""
    if not collection_path.match("test_*.py"):
        return None
    source, marks = collection_path.read_text(), config.getvalue("markexpr")
    whole = "".join(re.findall(r"^pytestmark = [^\n]*", source, re.MULTILINE))
    lab = lab_of(collection_path)
    if (name := config.getoption("lab")) and (lab != name if lab else not re.search("LABS|OURS", source)):
        return True
    if config.getoption("chosen") and re.search(r"mark\.(alone|thorough)\b", whole):
        return True
    unwanted = "mark.alone" not in source if marks == "alone" else marks == "not alone" and "mark.alone" in whole
    return True if unwanted else None


@pytest.fixture(autouse=True)
def main_as_before() -> Iterator[None]:
    """A cell that a test loads in this process is `__main__` as long as the test runs."""
    with main_put_back():
        yield


@pytest.fixture(scope="session")
def slurm_conf() -> Iterator[str]:
    """Path of the slurm.conf of a cluster of two nodes, which runs as long as the tests."""
    with running_cluster() as folder:
        yield str(folder / "slurm" / "slurm.conf")


@pytest.fixture(scope="module")
def on_slurm(slurm_conf: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tests of a module are on a cluster of two nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", slurm_conf)
        patch.setenv(SHARED, str(tmp_path_factory.mktemp("shared")))
        yield


@pytest.fixture(scope="session")
def worlds() -> Iterator[Worlds]:
    """Worlds, each of which is started when it is first asked for."""
    with ExitStack() as stack:
        yield Worlds(stack)


@pytest.fixture(scope="session")
def world(worlds: Worlds) -> World:
    """Four real MPI ranks."""
    return worlds.of_size(4)


@pytest.fixture(scope="session")
def hub(pytestconfig: pytest.Config) -> Iterator[Hub]:
    """A JupyterHub with two courses, which runs as long as the tests; only root can start it. The first has a small lab
    of its instructor's beside ours. What is run each time needs this course only, and one of our labs in it."""
    courses, chosen_only = {"hpc": (["iris", "omar"], ["ada", "bob"])}, pytestconfig.getoption("chosen")
    if not chosen_only:
        courses["ml"] = (["noor"], ["cleo"])

    def choose(hub: Hub) -> None:
        make_course(hub.own_labs.parent)
        fewer = {"labs": [*(lab.name for lab in OURS[:1]), SMALL]} if chosen_only else {}
        hub.choose("hpc", labs_folders=[str(hub.own_labs)], **fewer)

    with running_hub(courses, prepare=choose) as hub:
        yield hub


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium without windows, or the one with windows where only that is there.

    Each test makes contexts of its own in it: nothing is shared.
    It ends with the module: Playwright holds an event loop that runs as long as it is there, and a second Playwright,
    or whatever else wants a loop of its own, fails beside it.
    """
    from playwright.sync_api import expect, sync_playwright  # most tests need no browser

    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert program, "these tests need chromium-headless-shell: ./lockstep test installs it, or tells how"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=CHROMIUM)
        new_context = browser.new_context
        expect.set_options(timeout=PATIENCE)

        def patient(**options: Any) -> BrowserContext:
            """A context in which a click waits as long as a crowded machine takes for a page, not 30 s."""
            context = new_context(**options)
            context.set_default_timeout(PATIENCE)
            return context

        browser.new_context = patient
        yield browser
        browser.close()
