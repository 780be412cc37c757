"""What is handed in is known in the exchange, whatever becomes of homes, locks, receipts and killed hand-ins."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from labs_page import write_page
from nbgrader.exchange import ExchangeError
from nbgrader.utils import notebook_hash
from one_student import COURSE, LAB, NOTEBOOK, student_with

from autograde.classroom.submissions.submission import read_submission
from course.exchange import receipts, submit
from course.exchange.due import content_of, deadline_file
from course.exchange.limits import MAX_FOLDER, MAX_NOTEBOOK
from course.files import Unreadable
from course.jupyterhub.pages.confirmation import confirmation
from course.jupyterhub.pages.lab_states import course_states
from course.jupyterhub.pages.student_exchange import QUIET, StudentExchange, Unavailable

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
SECRET = "submission_secret.txt"


@pytest.fixture
def ada(tmp_path: Path) -> StudentExchange:
    """A student who has fetched the one lab of a course."""
    return student_with(tmp_path)


def hand_in(exchange: StudentExchange) -> None:
    """Hand in, with a new line in the student's notes, whatever it replaces."""
    with open(exchange.root / COURSE / LAB / "notes.txt", "a") as notes:
        notes.write("One more thing.\n")
    exchange.hand_in(COURSE, LAB, confirmed=True)


def inbound(exchange: StudentExchange) -> Path:
    """Where things are handed in."""
    return exchange.place / COURSE / "inbound"


def own(exchange: StudentExchange) -> Path:
    """The receipts in the exchange."""
    return inbound(exchange) / ".receipts.ada" / COURSE


def handed_in(exchange: StudentExchange) -> list[Path]:
    """The submissions in the exchange, oldest first; there is nothing else beside the receipts."""
    found = sorted(path for path in inbound(exchange).iterdir() if path.name != ".receipts.ada")
    assert [path for path in found if not path.name.startswith("ada+")] == []
    return found


def give_back(exchange: StudentExchange, submission: Path) -> None:
    """Release feedback on a submission."""
    name = notebook_hash(secret=(submission / SECRET).read_text(), notebook_id=LAB)
    page = exchange.place / COURSE / "feedback" / f"{name}.html"
    page.write_text(f"<h4>{LAB} (Score: 3.0 / 12.0)</h4>")


def killed_in(exchange: StudentExchange, place: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand in, in a process that is killed when it calls this function."""
    child = os.fork()
    if not child:
        monkeypatch.setattr(place, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        hand_in(exchange)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_who_clears_the_home_still_has_what_was_handed_in_and_its_feedback(ada):
    hand_in(ada)
    (submission,) = handed_in(ada)
    give_back(ada, submission)
    shutil.rmtree(ada.root / ".local")
    page = write_page(ada)
    assert "Handed in ," in page and "3 of 12 points" in page and "Open feedback" in page and "Next" not in page
    ada.fetch_feedback(COURSE, LAB)
    assert "Score: 3.0" in next((ada.root / COURSE / LAB).glob("feedback/*/*.html")).read_text()
    hand_in(ada)
    assert "2 times, the last one counts" in write_page(ada)


def test_receipts_are_small_and_nobody_elses(ada):
    (ada.root / COURSE / LAB / "large.bin").write_bytes(bytes(1_000_000))
    hand_in(ada)
    for place in (own(ada).parent, ada.root / ".local"):
        files = [path for path in place.rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in files) < 1000 and {path.stat().st_mode & 0o77 for path in files} == {
            0
        }
    assert own(ada).parent.stat().st_mode & 0o77 == 0
    assert [one["submissions"][0]["path"] for one in ada.handed_in(COURSE)] == [str(next(own(ada).iterdir()))]


def test_a_late_hand_in_that_replaces_one_in_time_is_told_before_and_after(ada, caplog):
    hand_in(ada)
    now = datetime.now(UTC).replace(tzinfo=None)
    (receipt,) = own(ada).iterdir()
    receipt.rename(receipt.with_name(f"ada+{LAB}+{now - timedelta(hours=2)} UTC"))  # two hours ago
    shutil.rmtree(ada.root / ".local")
    warned = "What you hand in now is late, and counts in place of what was in time."
    for due in (now + timedelta(hours=1), now - timedelta(hours=1)):
        deadline_file(ada.place, COURSE, LAB).write_bytes(content_of(due))
        assert (warned in write_page(ada, now=now)) == (due < now)
    with caplog.at_level("INFO", logger=QUIET):
        hand_in(ada)
    assert f"It is late: handed in 1 h after the deadline, {due:%Y-%m-%d %H:%M:%S} UTC." in caplog.text
    assert "You had handed in in time before. The last one counts, which is this late one." in caplog.text
    assert "You have handed in 2 times now." in caplog.text
    page = write_page(ada, now=now)
    assert "late" in page and warned not in page
    done = confirmation(ada, course_states(ada)[0].labs[0])
    assert "the last one counts, and no longer the one that was in time" in done


@pytest.mark.parametrize("error", NO_LOCKS)
def test_a_file_server_without_locks_stops_no_hand_in_and_loses_none_under_way(ada, monkeypatch, error):
    def no_lock(*_: Any) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "flock", no_lock)
    under_way(ada, monkeypatch, lambda: hand_in(ada))
    assert len(handed_in(ada)) == len(list(own(ada).iterdir())) == 2
    killed_in(ada, submit, "open_to_group", monkeypatch)
    hand_in(ada)
    (left,) = own(ada).glob(".*")
    os.utime(left, (0, 0))  # long ago
    hand_in(ada)
    assert len(handed_in(ada)) == len(list(own(ada).iterdir())) == 4


def under_way(exchange: StudentExchange, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Hand in, and do something else when that is nearly done."""
    finish = submit.open_to_group

    def nearly_done(folder: Path) -> None:
        monkeypatch.setattr(submit, "open_to_group", finish)
        meanwhile()
        finish(folder)

    monkeypatch.setattr(submit, "open_to_group", nearly_done)
    hand_in(exchange)


def test_two_hand_ins_at_the_same_time_both_arrive(ada, monkeypatch):
    under_way(ada, monkeypatch, lambda: hand_in(ada))
    first, second = handed_in(ada)
    assert "2 times, the last one counts" in write_page(ada)
    names = {path.name.rpartition("+")[0]: (path / SECRET).read_text() for path in (first, second)}
    assert {path.name: (path / SECRET).read_text() for path in own(ada).iterdir()} == names


@pytest.mark.parametrize(
    "place, name, arrived",
    [
        (submit, "make_private", False),
        (submit, "copy_private", False),
        (submit, "open_to_group", False),
        (receipts.Receipts, "issue", True),
    ],
)
def test_a_hand_in_that_is_killed_is_there_or_not(ada, monkeypatch, place, name, arrived):
    killed_in(ada, place, name, monkeypatch)
    assert ("Handed in" in write_page(ada)) == arrived
    hand_in(ada)
    assert len(handed_in(ada)) == len(list(own(ada).iterdir())) == 1 + arrived
    assert list(own(ada).iterdir()) == [path for path in own(ada).iterdir() if (path / SECRET).read_text()]


def test_a_receipt_that_is_lost_or_damaged_comes_back_from_where_it_is_known(ada):
    hand_in(ada)
    (submission,), (receipt,) = handed_in(ada), own(ada).iterdir()
    give_back(ada, submission)
    shutil.rmtree(own(ada).parent)
    assert "3 of 12 points" in write_page(ada) and receipt.is_dir(), "from the home"
    shutil.rmtree(ada.root / ".local")
    (receipt / SECRET).write_text("")
    assert "3 of 12 points" in write_page(ada), "from the submission"
    shutil.rmtree(ada.root / ".local")
    shutil.rmtree(submission)
    assert "3 of 12 points" in write_page(ada), "a grader who clears the exchange"
    shutil.rmtree(ada.root / ".local")
    shutil.rmtree(receipt)
    receipt.write_text("no folder")
    (receipt.parent / f"ada+{LAB}+some day").mkdir()
    (receipt.parent / "ada+").mkdir()
    page = write_page(ada)
    assert "Handed in" in page and "points" not in page, "its name still says when"
    ada.fetch_feedback(COURSE, LAB)


def test_what_only_the_feedback_knows_is_told_as_such(ada):
    hand_in(ada)
    give_back(ada, *handed_in(ada))
    ada.fetch_feedback(COURSE, LAB)
    unsure = "The exchange does not know all that you handed in: this is by the feedback in your folder"
    assert unsure not in write_page(ada)
    for place in (own(ada).parent, ada.root / ".local"):
        shutil.rmtree(place)
    page = write_page(ada)
    assert "Handed in ," in page and "3 of 12 points" in page and unsure in page


def test_a_home_without_room_is_not_needed_and_without_any_place_for_the_receipt_nothing_is_handed_in(ada):
    ada.config.Exchange.cache = "/proc/nowhere"
    hand_in(ada)
    assert "Handed in ," in write_page(ada)
    shutil.rmtree(own(ada).parent)
    own(ada).parent.write_text("in the way")
    with pytest.raises(Unavailable) as refused:
        hand_in(ada)
    said = str(refused.value)
    assert (
        "The receipt cannot be put into /proc/nowhere/hpc: " in said and f"{own(ada).parent} was put there by" in said
    )
    assert "Nothing was handed in; your files are as they were." in said
    own(ada).parent.unlink()
    assert len(handed_in(ada)) == 1


def test_receipts_are_not_removed_as_a_list_is(ada):
    hand_in(ada)
    with pytest.raises(ExchangeError, match="Receipts of what you handed in are kept"):
        ada._call("List", COURSE, LAB, cached=True, remove=True).start()
    assert "Handed in ," in write_page(ada)


def padded(exchange: StudentExchange, size: int) -> None:
    """Give the student's notebook this size."""
    path = exchange.root / COURSE / LAB / NOTEBOOK
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(b" " * (size - file.tell()))
        file.truncate(size)


def test_a_notebook_has_one_limit_which_is_told_before_it_is_handed_in(ada):
    folder = ada.root / COURSE / LAB
    padded(ada, MAX_NOTEBOOK)
    assert "MB" not in write_page(ada)
    hand_in(ada)
    (submission,) = handed_in(ada)
    assert isinstance(read_submission(submission / NOTEBOOK).raw, bytes), "what is handed in is graded"
    padded(ada, MAX_NOTEBOOK + 1)
    reason = (
        "90_small.ipynb has 32.1 MB, and a notebook that is handed in has 32 MB at most. In JupyterLab choose Edit, "
        "Clear Outputs of All Cells, and save it."
    )
    assert reason in write_page(ada)
    with pytest.raises(Unavailable, match=re.escape(f"{LAB} is not handed in: {reason} Nothing was handed in")):
        hand_in(ada)
    (folder / NOTEBOOK).rename(folder / "Try.IPYNB.txt")
    ada.fetch(COURSE, LAB)
    assert "Try.IPYNB.txt has 32.1 MB" in write_page(ada)
    assert len(handed_in(ada)) == 1 and isinstance(read_submission(folder / "Try.IPYNB.txt").raw, Unreadable)


def test_a_folder_has_one_limit_of_what_is_handed_in_of_it(ada):
    folder = ada.root / COURSE / LAB
    (folder / "feedback" / "x").mkdir(parents=True)
    beside = (folder / "feedback" / "x" / "not_handed_in.bin", ada.root / "data.bin")
    for path, size in ((folder / "large.bin", MAX_FOLDER - 10_000), *((path, MAX_FOLDER + 1) for path in beside)):
        path.touch()
        os.truncate(path, size)
    (folder / "data.bin").symlink_to(ada.root / "data.bin")
    assert "MB" not in write_page(ada), "a link to more is left out"
    os.truncate(folder / "large.bin", MAX_FOLDER)
    reason = (
        f"{folder} has 100.1 MB, and a lab that is handed in has 100 MB at most. Take large files away; the largest "
    )
    assert f"{reason}is large.bin, 100 MB." in write_page(ada)
    with pytest.raises(Unavailable, match=re.escape(f"{LAB} is not handed in: {reason}")):
        hand_in(ada)
    assert handed_in(ada) == []
