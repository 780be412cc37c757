"""The folders of nbgrader's exchange: nobody can replace one, and what somebody else made is not taken over."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from unix_accounts import User, users, with_accounts

from course.exchange.folders import FoldersError, prepare

pytestmark = with_accounts


@pytest.fixture(scope="module")
def people() -> Iterator[list[User]]:
    """A grader, and somebody else."""
    with users("grader-hpc", "eve") as people:
        yield people


@pytest.fixture
def grader(people: list[User]) -> User:
    """Whose the course `hpc` is."""
    return people[0]


@pytest.fixture
def eve(people: list[User]) -> User:
    """Whose it is not."""
    return people[1]


@pytest.fixture
def exchange(grader: User) -> Iterator[Path]:
    """An exchange with the course's folders."""
    place = Path(tempfile.mkdtemp(prefix="exchange-"))  # not pytest's, which others cannot enter
    place.chmod(0o755)
    prepare(place / "exchange", {"hpc": grader.name})
    yield place / "exchange"
    shutil.rmtree(place)


def described(path: Path) -> tuple[str, str, str]:
    """Permissions, owner and group of a folder."""
    return f"{path.stat().st_mode & 0o7777:04o}", path.owner(), path.group()


def test_the_folders_are_made_again_as_they_were_and_nobody_can_replace_one(exchange, grader, eve):
    course = exchange / "hpc"
    (course / "feedback").chmod(0o777)
    prepare(exchange, {"hpc": grader.name})
    theirs = (grader.name, grader.name)
    assert described(exchange) == ("1777", "root", "root")
    assert described(course) == ("0755", *theirs)
    assert described(course / "outbound") == ("0755", *theirs)
    assert described(course / "inbound") == ("3733", *theirs)
    assert described(course / "feedback") == ("0711", *theirs)
    for words in (["mv", course, exchange / "old"], ["rmdir", course / "feedback"], ["touch", course / "more"]):
        assert eve.run(*words).returncode != 0, words


def test_folders_that_somebody_else_made_are_refused(exchange, grader, eve):
    new = exchange / "new"
    assert eve.run("mkdir", new).returncode == 0
    with pytest.raises(FoldersError, match=f"new belongs to {eve.name}, and should to {grader.name}"):
        prepare(exchange, {"new": grader.name})
    new.rmdir()
    assert eve.run("ln", "-s", exchange / "hpc", new).returncode == 0
    with pytest.raises(FoldersError, match="new is no folder"):
        prepare(exchange, {"new": grader.name})
    new.unlink()
    with pytest.raises(FoldersError, match="useradd --user-group no-such-grader"):
        prepare(exchange, {"new": "no-such-grader"})


def test_what_was_made_by_root_and_not_given_away_is_mended(exchange, grader):
    (exchange / "new" / "inbound").mkdir(parents=True)
    prepare(exchange, {"new": grader.name})
    assert described(exchange / "new" / "inbound") == ("3733", grader.name, grader.name)


def test_a_graders_group_with_students_in_it_is_refused(exchange, grader, eve):
    subprocess.run(["usermod", "--gid", grader.name, eve.name], check=True)
    try:
        with pytest.raises(FoldersError, match=f"is also that of {eve.name}"):
            prepare(exchange, {"hpc": grader.name})
    finally:
        subprocess.run(["usermod", "--gid", eve.name, eve.name], check=True)


def test_without_root_all_is_ones_own(eve):
    code = "from pathlib import Path; from course.exchange.folders import prepare; prepare(Path('mine'), {'hpc': 'x'})"
    done = eve.run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    assert described(eve.home / "mine" / "hpc" / "inbound") == ("3733", eve.name, eve.name)
