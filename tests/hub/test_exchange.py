"""nbgrader's exchange between real accounts: who can read what, and what becomes of a hand-in that goes wrong."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from course_accounts import COURSE, School, contents, school
from small_course import LAB
from unix_accounts import User, with_accounts

from course.exchange.due import content_of, deadline_file
from course.exchange.folders import prepare

pytestmark = with_accounts


@pytest.fixture(scope="module")
def made() -> Iterator[School]:
    """A course, made once."""
    with school() as made:
        yield made


@pytest.fixture
def hpc(made: School) -> Iterator[School]:
    """A course to which nobody has handed in anything yet."""
    made.clear()
    yield made


def mode(path: Path) -> str:
    """Permissions, as "0644"."""
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


def ago(**span: float) -> str:
    """A time in nbgrader's form."""
    return (datetime.now(UTC) - timedelta(**span)).strftime("%Y-%m-%d %H:%M:%S.%f UTC")


@contextmanager
def mounted(place: Path, options: str) -> Iterator[None]:
    """A file system in memory at `place`, with that size."""
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
        place.rmdir()


def forge(user: User, hpc: School, name: str, source: Path) -> Path:
    """What `user` can put into the exchange by hand: a copy of a folder of the user's own, under any name."""
    done = user.run("cp", "-r", source, hpc.inbound / name)
    assert done.returncode == 0, done.stderr
    return hpc.inbound / name


def test_what_is_handed_in_is_the_students_and_the_graders_only_also_for_who_knows_the_path(hpc):
    hpc.fetched(hpc.ada).joinpath("notes").mkdir()
    hpc.fetched(hpc.ada).joinpath("notes", "own.txt").write_text("her own")
    hpc.ada.own(hpc.fetched(hpc.ada))
    hpc.submit(hpc.ada)
    (folder,) = hpc.handed_in(hpc.ada)
    assert [path.name for path in hpc.submissions()] == [folder.name]
    for path in (folder, *folder.rglob("*")):
        assert (path.owner(), path.group()) == (hpc.ada.name, hpc.grader.name)
        assert mode(path) == ("0770" if path.is_dir() else "0640")
    inside = [folder / "submission_secret.txt", folder / f"{LAB}.ipynb", folder / "notes" / "own.txt"]
    tries = [
        *(["cat", path] for path in inside),
        ["ls", folder],
        ["ls", hpc.inbound],
        ["touch", folder / "more.txt"],
        ["cp", "/dev/null", inside[0]],
        ["mv", folder, hpc.inbound / "gone"],
        ["rm", "-r", folder],
        ["ls", hpc.ada.home / ".local"],
        ["ls", hpc.receipts(hpc.ada).parent],
        ["cat", hpc.receipts(hpc.ada) / folder.name.rpartition("+")[0] / "submission_secret.txt"],
        ["mv", hpc.receipts(hpc.ada).parent, hpc.inbound / "gone"],
    ]
    assert [words for words in tries if hpc.eve.run(*words).returncode == 0] == []
    assert [path for path in inside if hpc.grader.run("cat", path).returncode != 0] == []
    cache = hpc.cache(hpc.ada)
    assert mode(cache) == "0700"
    assert mode(hpc.receipts(hpc.ada).parent).endswith("700")
    assert hpc.grader.run("rm", "-r", folder).returncode == 0, "the grader makes room"


@pytest.mark.thorough
def test_a_hand_in_that_is_killed_is_not_there_and_the_next_one_works(hpc):
    folder = hpc.fetched(hpc.ada)
    (folder / "large.bin").write_bytes(os.urandom(60_000_000))
    hpc.ada.own(folder)
    before = contents(folder)
    words = hpc.ada.command(sys.executable, "-m", "nbgrader", "submit", LAB, "--course", COURSE)
    known = {"cwd": hpc.ada.home, "env": hpc.ada.environment(JUPYTER_CONFIG_PATH=hpc.place / "people")}
    process = subprocess.Popen(words, **known, stderr=subprocess.DEVNULL, start_new_session=True)
    while not (there := hpc.submissions()):
        assert process.poll() is None
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert there[0].name.startswith(".") and mode(there[0]).endswith("700"), "nobody else reads it before it is whole"
    assert hpc.handed_in(hpc.ada) == []
    assert contents(folder) == before
    assert "No submissions" in hpc.must(hpc.grader, "nbgrader", "collect", LAB)
    hpc.submit(hpc.ada)
    assert hpc.submissions() == hpc.handed_in(hpc.ada), "what the killed one left is gone"
    assert len(list(hpc.receipts(hpc.ada).iterdir())) == 1
    hpc.must(hpc.grader, "nbgrader", "collect", LAB)
    assert hpc.collected(hpc.ada).joinpath("large.bin").read_bytes() == before["large.bin"]


def test_what_had_arrived_when_its_hand_in_was_killed_is_handed_in(hpc):
    hpc.submit(hpc.ada)
    (arrived,) = hpc.handed_in(hpc.ada)
    receipt = hpc.receipts(hpc.ada) / arrived.name.rpartition("+")[0]
    receipt.rename(receipt.with_name(f".{receipt.name.replace('+', '%2B')}"))  # as it is before the last step
    shutil.rmtree(hpc.cache(hpc.ada))
    listed = ["nbgrader", "list", "--cached", "--course", COURSE]
    assert hpc.must(hpc.ada, *listed).count(LAB) == 1 and receipt.is_dir()
    said = hpc.submit(hpc.ada)
    assert "You have handed in 2 times now. The last one counts, which is this one." in said
    assert len(hpc.handed_in(hpc.ada)) == hpc.must(hpc.ada, *listed).count(LAB) == 2


def test_links_pipes_and_what_cannot_be_read(hpc):
    folder = hpc.fetched(hpc.ada)
    (hpc.ada.home / "data").mkdir(exist_ok=True)
    (hpc.ada.home / "data.csv").write_text("1,2,3")
    (folder / "file.csv").symlink_to(hpc.ada.home / "data.csv")
    (folder / "folder").symlink_to(hpc.ada.home / "data")
    (folder / "nothing").symlink_to(hpc.ada.home / "gone")
    os.mkfifo(folder / "pipe")
    hpc.ada.own(hpc.ada.home)
    said = hpc.submit(hpc.ada)
    (handed_in,) = hpc.handed_in(hpc.ada)
    assert (handed_in / "file.csv").read_text() == "1,2,3" and not (handed_in / "file.csv").is_symlink()
    reasons = {"folder": "it is a link to a folder", "nothing": "it is a link to nothing", "pipe": "it is no file"}
    for name, reason in reasons.items():
        assert f"{folder / name} is not handed in: {reason}" in said
        assert not os.path.lexists(handed_in / name)
    (folder / "secret.txt").touch(mode=0o000)  # root's
    said = hpc.refused(hpc.ada)
    assert f"{folder / 'secret.txt'} cannot be read: permission denied. Mend it, or move it away" in said
    assert len(hpc.handed_in(hpc.ada)) == 1


def test_a_wrong_course_and_an_assignment_that_is_not_there_are_named(hpc):
    said = hpc.refused(hpc.ada, LAB, "--course", "hpcc")
    assert f"There is no course `hpcc` in the exchange at {hpc.exchange}" in said
    said = hpc.refused(hpc.ada, "91_smal", "--course", COURSE)
    assert f"`91_smal` is not released in `hpc`, or not any more. Released: {LAB}. If it should be there, ask" in said
    withdrawn = hpc.outbound / f".{LAB}"
    (hpc.outbound / LAB).rename(withdrawn)
    said = hpc.refused(hpc.ada)
    withdrawn.rename(hpc.outbound / LAB)
    assert f"`{LAB}` is not released in `hpc`, or not any more. Released: nothing." in said
    hpc.inbound.chmod(0o3731)
    said = hpc.refused(hpc.ada)
    hpc.inbound.chmod(0o3733)
    assert f"You may not hand in to `hpc`: no permission for {hpc.inbound}. Tell your instructor." in said


@pytest.mark.thorough
def test_an_exchange_that_is_full_or_read_only(hpc):
    folder = hpc.fetched(hpc.ada)
    (folder / "large.bin").write_bytes(bytes(3_000_000))
    hpc.ada.own(folder)
    small = hpc.place / "small"
    hpc.configure(
        "elsewhere", (hpc.place / "people" / "nbgrader_config.py").read_text().replace(str(hpc.exchange), str(small))
    )
    with mounted(small, "size=1m"):
        prepare(small, {COURSE: hpc.grader.name})
        (small / COURSE / "outbound" / LAB).mkdir(mode=0o755)
        said = hpc.refused(hpc.ada, config="elsewhere", afresh=True)
        assert f"It cannot be put into {small / COURSE / 'inbound'}: no space is left" in said
        assert "Tell your instructor, and hand in again later." in said
        left = [*(small / COURSE / "inbound").rglob("*+*"), *(small / COURSE / "inbound").rglob("*%2B*")]
        assert left == [], "it makes the room free that it took"
        subprocess.run(["mount", "-o", "remount,ro", small], check=True)
        assert f"The exchange at {small} is read-only now." in hpc.refused(hpc.ada, config="elsewhere", afresh=True)
    assert hpc.submissions() == []
    assert (folder / "large.bin").stat().st_size == 3_000_000
    hpc.submit(hpc.ada)


@pytest.mark.thorough
def test_who_is_late_hears_it_at_once_and_by_how_much(hpc):
    due = datetime.now(UTC) - timedelta(hours=3, minutes=20, seconds=1)
    add = ["nbgrader", "db", "assignment", "add", LAB]
    hpc.must(hpc.grader, *add, f"--duedate={due:%Y-%m-%d %H:%M:%S UTC}")
    assert "until the lab is released again" in hpc.must(hpc.grader, "nbgrader", "release_assignment", LAB, "--force")
    assert f"It is late: handed in 3 h 20 min after the deadline, {due:%Y-%m-%d %H:%M:%S} UTC." in hpc.submit(hpc.ada)
    listed = hpc.must(hpc.ada, "nbgrader", "list", "--cached", "--course", COURSE)
    assert "UTC, 3 h 20 min late (no feedback available)" in listed
    hpc.must(hpc.bob, "nbgrader", "fetch_assignment", LAB, "--course", COURSE)
    assert not list((hpc.bob.home / COURSE / LAB).glob("*deadline*"))
    hpc.must(hpc.grader, *add, f"--duedate={due + timedelta(days=1):%Y-%m-%d %H:%M:%S UTC}")
    hpc.must(hpc.grader, "nbgrader", "release_assignment", LAB, "--force")
    assert "late" not in hpc.submit(hpc.ada)


@pytest.mark.thorough
def test_who_has_an_extension_hears_of_it_and_nobody_else_does(hpc):
    due = (datetime.now(UTC) - timedelta(hours=2)).replace(microsecond=0)
    hpc.must(hpc.grader, "nbgrader", "db", "assignment", "add", LAB, f"--duedate={due:%Y-%m-%d %H:%M:%S UTC}")
    hpc.must(hpc.grader, "autograde", "enrol", hpc.ada.name, hpc.bob.name)
    hpc.must(hpc.grader, "nbgrader", "release_assignment", LAB, "--force")
    said = hpc.must(hpc.grader, "autograde", "extend", LAB, hpc.ada.name, "1d")
    own = f"{due + timedelta(days=1):%Y-%m-%d %H:%M:%S} UTC"
    assert said == f"{hpc.ada.name}: the deadline of {LAB} is {own}, 1 d after the class's\n"
    for _ in range(2):
        assert f"It is in time: your deadline is {own}." in hpc.submit(hpc.ada)
        assert "It is late: handed in 2 h" in hpc.submit(hpc.bob)
        listed = hpc.must(hpc.ada, "nbgrader", "list", "--cached", "--course", COURSE)
        assert LAB in listed and " late" not in listed
        (shown,) = (hpc.outbound / f".{LAB}.extensions").iterdir()
        assert hpc.ada.run("cat", shown).returncode == 0
        for words in (["cat", shown], ["ls", shown.parent], ["sh", "-c", f"echo x > '{shown}'"]):
            assert hpc.bob.run(*words).returncode != 0, words
        hpc.must(hpc.grader, "nbgrader", "release_assignment", LAB, "--force")  # which shows it again
    hpc.must(hpc.grader, "autograde", "extend", LAB, hpc.ada.name, "none")
    assert "It is late: handed in 2 h" in hpc.submit(hpc.ada)
    assert not shown.exists()


@pytest.mark.thorough
def test_two_hand_ins_within_a_second_count_both_from_the_assignment_list(hpc):
    known = (hpc.place / "people" / "nbgrader_config.py").read_text()
    hpc.configure("seconds", known + "c.Exchange.timestamp_format = '%Y-%m-%d %H:%M:%S %Z'\n")
    hpc.place.joinpath("clicks.py").write_text(
        "from nbgrader.server_extensions.assignment_list.handlers import AssignmentList\n"
        "clicks = AssignmentList(); clicks.root_dir = '.'\n"
        f"notes = open('{COURSE}/{LAB}/notes.txt', 'w', buffering=1)\n"
        f"print([(print('more', file=notes), clicks.submit_assignment({COURSE!r}, {LAB!r}))[1] for _ in range(3)])\n"
        f"print(clicks.submit_assignment({COURSE!r}, {LAB!r})['value'])\n"
        f"print(clicks.submit_assignment({COURSE!r}, 'unknown')['value'])\n"
    )
    hpc.fetched(hpc.ada)
    said = hpc.must(hpc.ada, "clicks", config="seconds")
    assert str([{"success": True}] * 3) in said
    assert len({path.name.split("+")[2] for path in hpc.handed_in(hpc.ada)}) == 3
    assert "It is as you handed it in at " in said
    assert "During handling of the above exception" not in said and "`unknown` is not released in `hpc`" in said


def test_what_others_forge_is_not_collected_and_stops_nobody(hpc):
    hpc.submit(hpc.ada)
    (own,) = hpc.handed_in(hpc.ada)
    mine = hpc.fetched(hpc.eve)
    forged = forge(hpc.eve, hpc, f"{hpc.ada.name}+{LAB}+{ago(days=-1)}+forged", mine)
    linked = hpc.inbound / f"{hpc.ada.name}+{LAB}+{ago(days=-2)}+linked"
    assert hpc.eve.run("ln", "-s", own, linked).returncode == 0
    unclear = forge(hpc.eve, hpc, f"{hpc.eve.name}+{LAB}+yesterday or so+x", mine)
    closed = forge(hpc.bob, hpc, f"{hpc.bob.name}+{LAB}+{ago(days=-1)}+closed", hpc.fetched(hpc.bob))
    assert hpc.bob.run("chmod", "700", closed).returncode == 0
    backdated = forge(hpc.eve, hpc, f"{hpc.eve.name}+{LAB}+{ago(minutes=30)}+x", mine)
    readable = forge(hpc.bob, hpc, f"{hpc.bob.name}+{LAB}+{ago(minutes=5)}+x", hpc.fetched(hpc.bob))
    assert hpc.eve.run("rm", backdated / "timestamp.txt").returncode != 0, "there is none, nor a secret"
    nobody = forge(hpc.eve, hpc, f"nobody-at-all+{LAB}+{ago(minutes=5)}+x", mine)
    said = hpc.must(hpc.grader, "nbgrader", "collect", LAB)
    assert f"{forged} is not collected: it says that it is {hpc.ada.name}'s, but is owned by {hpc.eve.name}" in said
    assert f"{nobody} is not collected" in said
    assert f"{linked} is not collected: " in said
    assert f"{unclear} is not collected: no submission's name ends like this" in said
    assert f"{closed} is not collected: Permission denied" in said
    claimed = backdated.name.split("+")[2].removesuffix(" UTC")
    assert f"{backdated} says that it was handed in at {claimed} UTC, but was changed at " in said
    assert f"{readable} says" not in said and f"{own} says" not in said
    assert (hpc.collected(hpc.ada) / "submission_secret.txt").read_text() == (own / "submission_secret.txt").read_text()
    people = {hpc.ada.name, hpc.bob.name, hpc.eve.name}
    assert {path.parent.name for path in hpc.root.glob(f"class/submitted/*/{LAB}")} == people
    secret = (hpc.collected(hpc.eve) / "submission_secret.txt").read_text()
    assert len(secret) == 128 and secret != (hpc.collected(hpc.bob) / "submission_secret.txt").read_text()
    assert (hpc.collected(hpc.eve) / "timestamp.txt").read_text() == backdated.name.split("+")[2]
    assert "No newer submission to collect" in hpc.must(hpc.grader, "nbgrader", "collect", LAB, "--update")
    hpc.must(hpc.grader, "nbgrader", "collect", LAB, "--update", "--ExchangeCollect.check_owner=False")
    assert (hpc.collected(hpc.ada) / "timestamp.txt").read_text() == forged.name.split("+")[2], "one account for all"


def test_feedback_reaches_its_student_and_nobody_else(hpc):
    hpc.submit(hpc.ada)
    said = hpc.must(hpc.grader, "autograde", "grade", LAB, "--no-sandbox")
    hpc.must(hpc.grader, "nbgrader", "release_feedback", LAB)
    feedback = hpc.exchange / COURSE / "feedback"
    assert mode(feedback) == "0711" and len(list(feedback.iterdir())) == 1, said
    shutil.rmtree(hpc.ada.home / ".local")
    assert "feedback ready to be fetched" in hpc.must(hpc.ada, "nbgrader", "list", "--cached")
    hpc.must(hpc.ada, "nbgrader", "fetch_feedback", LAB, "--course", COURSE)
    (page,) = (hpc.ada.home / COURSE / LAB / "feedback").rglob("*.html")
    assert hpc.ada.run("cat", page).returncode == 0
    (released,) = feedback.iterdir()
    assert released.read_bytes() == page.read_bytes()
    # The name is a hash of 512 random bits that only ada and the grader can read: eve can neither see nor compute it.
    # Who is told the name can read the page, as a link that its owner passes on.
    for words in (["ls", feedback], ["ls", hpc.ada.home], ["cat", hpc.handed_in(hpc.ada)[0] / "submission_secret.txt"]):
        assert hpc.eve.run(*words).returncode != 0, words
    assert hpc.eve.run("ls", hpc.root / "class").returncode != 0
    assert hpc.eve.run("rm", "-f", released).returncode != 0
    assert hpc.eve.run("sh", "-c", f"echo forged > '{released}'").returncode != 0


def test_a_home_that_cannot_be_written_and_receipts_that_somebody_else_put_there_stop_nobody(hpc):
    own = hpc.receipts(hpc.ada).parent
    assert hpc.eve.run("cp", "-r", hpc.fetched(hpc.eve).parent, own).returncode == 0
    hpc.fetched(hpc.ada)
    said = hpc.submit(hpc.ada)
    assert f"Receipts cannot be kept in the exchange: {own} was put there by {hpc.eve.name}. Tell your" in said
    listed = ["nbgrader", "list", "--cached", "--course", COURSE]
    assert hpc.must(hpc.ada, *listed).count(LAB) == 1, "by the receipt in her home"
    shutil.rmtree(own)
    hpc.ada.home.chmod(0o500)
    try:
        shutil.rmtree(hpc.cache(hpc.ada).parents[3])
        assert "Submitted as" in hpc.submit(hpc.ada)
    finally:
        hpc.ada.home.chmod(0o700)
    assert not hpc.cache(hpc.ada).exists() and len(list(hpc.receipts(hpc.ada).iterdir())) == 1
    assert hpc.must(hpc.ada, *listed).count(LAB) == 1


def test_without_a_hub_a_clone_hands_in_the_same_way(hpc):
    text = f"c = get_config()\nc.Exchange.root = {str(hpc.exchange)!r}\nc.CourseDirectory.course_id = {COURSE!r}\n"
    text += "from autograde.classroom.configuration import configure\nconfigure(c, {place!r})\n"
    hpc.configure("clone", text.format(place=str(hpc.place / "clone")))
    hpc.fetched(hpc.ada).rename(hpc.ada.home / LAB)
    hpc.must(hpc.ada, "nbgrader", "submit", LAB, config="clone")
    shutil.rmtree(hpc.ada.home / ".local")
    assert hpc.must(hpc.ada, "nbgrader", "list", "--cached", config="clone").count(LAB) == 1
    (submission,) = hpc.handed_in(hpc.ada)
    assert mode(submission) == "0770"

    # What has not changed is not handed in again; what would be late and replace it is refused, and how it is not.
    again = ["nbgrader", "submit", LAB]
    status, said = hpc.run(hpc.ada, *again, config="clone")
    assert status == 1 and "It is as you handed it in at " in said and "Traceback" not in said
    (receipt,) = hpc.receipts(hpc.ada).iterdir()
    receipt.rename(receipt.with_name(f"{hpc.ada.name}+{LAB}+{ago(hours=2)}"))
    shutil.rmtree(hpc.ada.home / ".local")
    over = datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=1)
    due = deadline_file(hpc.exchange, COURSE, LAB)
    due.write_bytes(content_of(over))
    due.chmod(0o644)
    (hpc.ada.home / LAB / "notes.txt").write_text("More.")
    hpc.ada.own(hpc.ada.home / LAB)
    status, said = hpc.run(hpc.ada, *again, config="clone")
    assert status == 1 and "This would be 1 h late, and replace what you handed in at " in said, said
    assert "add --PrivateSubmit.confirmed=True to `nbgrader submit`." in said and len(hpc.handed_in(hpc.ada)) == 1
    said = hpc.must(hpc.ada, *again, "--PrivateSubmit.confirmed=True", config="clone")
    due.unlink()
    assert f"{LAB}.ipynb was taken as it was saved at " in said and len(hpc.handed_in(hpc.ada)) == 2
    shutil.rmtree(hpc.ada.home / LAB)


@pytest.mark.thorough
def test_the_formgraders_buttons_are_ours(hpc):
    hpc.submit(hpc.ada)
    forge(hpc.eve, hpc, f"{hpc.ada.name}+{LAB}+{ago(days=-1)}+forged", hpc.fetched(hpc.eve))
    (hpc.place / "buttons.py").write_text(
        "from nbgrader.apps import NbGrader\n"
        "from nbgrader.apps.api import NbGraderAPI\n"
        "app = NbGrader(); app.initialize([]); api = NbGraderAPI(config=app.config)\n"
        f"print(api.collect({LAB!r})['log']); print(api.release_assignment({LAB!r})['log'])\n"
        "print(api.exchange.release_assignment.__name__)"
    )
    said = hpc.must(hpc.grader, "buttons")
    assert (
        "cheating attempt?" in said
        and "is released already. To release it again" in said
        and "ReleaseFromSource" in said
    )
    assert hpc.collected(hpc.ada).is_dir()
