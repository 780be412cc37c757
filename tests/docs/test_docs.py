"""The pages for readers: each command is one that there is and that a test runs, and each link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import NOT_RUN, RUN_BY

from autograde.cli import main
from autograde.labs.places import REPOSITORY

DOCS = sorted((REPOSITORY / "docs").glob("*.md"))
OF_BENCHES = sorted((REPOSITORY / "solutions").glob("*/bench/README.md"))  # of labs' own benches
ROOT_PAGES = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "solutions/README.md")]
PAGES = [*ROOT_PAGES, *OF_BENCHES, *DOCS]
BLOCK = re.compile(r"^ *```(.*)\n((?:(?! *```).*\n)*) *```$", re.MULTILINE)
INLINE = re.compile(r"`(?:sudo )?\./lockstep ([^`]+)`")
EXAMPLE = re.compile(r"15_my_lab|LAB|N_name")  # in names that stand for others
LINK = re.compile(r"\]\(([^)\s]+)\)")
LOCKSTEP = re.compile(r"(?:sudo )?\./lockstep (.+)")
BENCH = re.compile(r"python (solutions/\w+)/bench/(\w+\.py)( .*)?")  # of a lab
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())


def commands(page: Path) -> list[str]:
    """The commands of a page's blocks, without what is said of them."""
    blocks = [text for language, text in BLOCK.findall(page.read_text(encoding="utf-8")) if not language]
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def anchors(page: Path) -> set[str]:
    """What links can name in a page: its headings, as GitHub and the site write them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def run_by_its_lab(command: str) -> bool:
    """Whether a command runs a lab's own bench, and a test of the lab's does so, too."""
    if not (found := BENCH.fullmatch(command)):
        return False
    texts = [path.read_text(encoding="utf-8") for path in (REPOSITORY / found[1] / "tests").glob("test_*.py")]
    return any(re.search(rf'run_bench\([^)]*"{found[2]}"', text) for text in texts)


def test_each_command_is_run_by_a_test_or_it_is_said_why_not() -> None:
    shown = {command for page in PAGES for command in commands(page) if not run_by_its_lab(command)}
    patterns = [*RUN_BY, *NOT_RUN]
    assert [command for command in shown if not any(re.fullmatch(pattern, command) for pattern in patterns)] == []
    assert [pattern for pattern in patterns if not any(re.fullmatch(pattern, command) for command in shown)] == []


@pytest.mark.parametrize("test", sorted({*RUN_BY.values()}))
def test_the_tests_that_run_them_are_there(test: str) -> None:
    file, name = test.split("::")
    assert re.search(rf"^ *def {name}\(", (REPOSITORY / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE)


@each_page
def test_each_command_and_option_is_one_that_there_is(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lines = [found[1] for command in commands(page) if (found := LOCKSTEP.fullmatch(command))]
    of_shell = set(
        re.findall(r"^ {2}(\w+)(?: |$)", (REPOSITORY / "lockstep").read_text(encoding="utf-8"), re.MULTILINE)
    )
    for line in lines + INLINE.findall(text):
        name, *arguments = line.split()
        assert name in of_shell or name == "COMMAND", line
        if name in main.commands:
            known = {option for param in main.commands[name].params for option in param.opts}
            assert [each for each in arguments if each.startswith("--") and each.split("=")[0] not in known] == [], line
    named = re.findall(r"(?<![\w./~-])((?:bench|tests|slurm|autograde|course|docs|solutions)/[\w./]+\w)", text)
    there = [name for name in named if not EXAMPLE.search(name)]
    assert [name for name in there if not (REPOSITORY / name).exists()] == []


@each_page
def test_each_link_within_the_clone_leads_to_a_page_and_a_heading(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not heading or heading in anchors(target), link


def test_each_page_is_in_the_index_and_the_first_page_is_short() -> None:
    index = (REPOSITORY / "docs" / "index.md").read_text(encoding="utf-8")
    listed = re.search(r"```\{toctree\}\n:hidden:\n\n(.*?)```", index, re.DOTALL)[1].split()
    assert {*listed} == {page.stem for page in DOCS} - {"index"}
    assert [name for name in listed if f"]({name}.md)" not in index] == []
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
