"""What students hand in in Moodle is graded from the archive that Moodle makes of it."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from pathlib import Path

import nbformat
import pytest
from classroom import Classroom
from small_course import ANSWERS, LAB, make_course

from autograde.classroom.errors import StepFailed
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.submissions.zip_names import names_of
from autograde.term import moodle_zip
from autograde.term.lists.full_names import Match
from autograde.term.moodle_zip import LEFT_OUT, about_unknown, by_person, opened, take_in
from course.exchange.limits import MAX_NOTEBOOK


@pytest.fixture
def room(tmp_path) -> Classroom:
    """A class of four, two of whom have one name."""
    room = Classroom(make_course(tmp_path / "course"), LAB)
    names = {"s1": "Ada Lovelace", "s2": "Zoë de la Cruz", "s3": "Max Kim", "s4": "Max Kim"}
    Course(room.root).enrol(names)
    return room


def archive(path: Path, files: dict[str, bytes]) -> Path:
    """An archive of files, by where they are in it."""
    with zipfile.ZipFile(path, "w") as made:
        for where, content in files.items():
            made.writestr(where, content)
    return path


def submitted(room: Classroom) -> dict[str, bytes]:
    """What lies where submissions are graded, by path."""
    place = room.root / "class" / "submitted"
    return {file.relative_to(place).as_posix(): file.read_bytes() for file in place.rglob("*") if file.is_file()}


@pytest.mark.thorough
def test_a_class_is_graded_from_it_and_who_is_not_found_is_named(room, tmp_path):
    assert room.lockstep("build").exit_code == 0
    right = nbformat.writes(room.answered(ANSWERS)).encode()
    part = nbformat.writes(room.answered({"double": ANSWERS["double"]})).encode()
    files = {
        f"Ada Lovelace_4711_assignsubmission_file/{LAB}.ipynb": right,
        f"zoë  de la Cruz_4712_assignsubmission_file/my {LAB} (1).ipynb": part,
        f"Max Kim_4713_assignsubmission_file/{LAB}.ipynb": right,
    }
    graded = room.lockstep("grade", LAB, "--from", str(archive(tmp_path / "all.zip", files)), "--no-sandbox")
    assert graded.exit_code == 1, "somebody's work is not graded"
    assert "2 in " in graded.output and room.scores() == {"s1": 5, "s2": 2}
    assert "Max Kim_4713 is not taken: the gradebook has 2 of this name, and all.zip 1; put" in graded.output
    again = room.lockstep("grade", LAB, "--from", str(tmp_path / "all.zip"), "--no-sandbox")
    assert "0 to grade, 2 graded before and unchanged" in again.output


@pytest.mark.parametrize("folders", [True, False])
def test_a_newer_submission_replaces_all_of_an_earlier_one_and_nothing_leaves_its_folder(room, tmp_path, folders):
    room.put("s1", b"earlier")
    course, end = Course(room.root), "_assignsubmission_file" + ("/" if folders else "_")
    inside = {"work.ipynb": b"newer", "timestamp.txt": b"2000-01-01", "../../s2/x.ipynb": b"forged", "//x.ipynb": b"x"}
    path = archive(tmp_path / "all.zip", {f"Lovelace Ada_1{end}{name}": text for name, text in inside.items()})
    assert take_in(course, LAB, path) == ([f"1 in {path}"], [])
    assert submitted(room) == {f"s1/{LAB}/work.ipynb": b"newer"}
    if folders:
        unpacked = tmp_path / "unpacked" / "Ada Lovelace_1_assignsubmission_file"
        unpacked.mkdir(parents=True)
        (unpacked / f"{LAB}.ipynb").write_bytes(b"newest")
        (unpacked / "link.ipynb").symlink_to("/etc/hostname")
        _, failed = take_in(course, LAB, unpacked.parent)
        assert failed == [f"Ada Lovelace_1: link.ipynb is left out: {LEFT_OUT}"]
        assert submitted(room) == {f"s1/{LAB}/{LAB}.ipynb": b"newest"}


def test_a_submission_that_cannot_be_read_leaves_the_earlier_one_in_place(room, tmp_path):
    room.put("s1", b"earlier", when=None)
    where = f"Ada Lovelace_1_assignsubmission_file/{LAB}.ipynb"
    path = archive(tmp_path / "all.zip", {where: b"newer"})
    path.write_bytes(path.read_bytes().replace(b"newer", b"NEWER", 1))  # no longer what its checksum says
    assert take_in(Course(room.root), LAB, path) == (
        [f"0 in {path}"],
        [
            f"Ada Lovelace_1: {LAB}.ipynb is left out: {LEFT_OUT}",
            "Ada Lovelace_1 is not taken: no file can be read; what was there before stays",
        ],
    )
    assert submitted(room) == {f"s1/{LAB}/{LAB}.ipynb": b"earlier"}


def test_what_a_student_hands_in_is_bounded_in_all(room, tmp_path, monkeypatch):
    monkeypatch.setattr(moodle_zip, "MAX_FOLDER", 10)
    files = {f"Ada Lovelace_1_assignsubmission_file/{name}": b"six by" for name in ("a.ipynb", "b.ipynb")}
    _, failed = take_in(Course(room.root), LAB, archive(tmp_path / "all.zip", files))
    assert failed == [f"Ada Lovelace_1: b.ipynb is left out: {LEFT_OUT}"]
    assert submitted(room) == {f"s1/{LAB}/a.ipynb": b"six by"}


def test_a_notebook_that_is_too_large_to_be_graded_is_kept_and_named(room, tmp_path):
    place = Course(room.root).folder("submitted", "s1", LAB)
    for size, named in ((MAX_NOTEBOOK, False), (MAX_NOTEBOOK + 1, True)):
        path = archive(tmp_path / "all.zip", {f"Ada Lovelace_1_assignsubmission_file/{LAB}.ipynb": bytes(size)})
        _, failed = take_in(Course(room.root), LAB, path)
        assert (place / f"{LAB}.ipynb").stat().st_size == size
        assert (failed != []) == named
    assert failed[0].startswith(f"Ada Lovelace_1: {LAB}.ipynb has 32.1 MB, and a notebook that is handed in has 32 MB")
    assert failed[0].endswith(f"It is in {place}; then grade it by --no-collect.")


def test_whoever_cannot_be_told_apart_is_named_and_the_others_are_taken(room, tmp_path):
    names = ["Ada Lovelace_1", "Eve_2", "Max Kim_3", "Zoë de la Cruz_4", "Zoë de la cruz_5"]
    files = {f"{name}_assignsubmission_file/{LAB}.ipynb": name.encode() for name in names}
    _, failed = take_in(Course(room.root), LAB, archive(tmp_path / "all.zip", files))
    assert submitted(room) == {f"s1/{LAB}/{LAB}.ipynb": b"Ada Lovelace_1"}
    assert "; if it is a group, into the folder of each member" in failed[0]
    assert failed[1].endswith("; it may be s3 or s4")
    assert [line.partition(";")[0] for line in failed] == [
        "Eve_2 is not taken: the gradebook has 0 of this name, and all.zip 1",
        "Max Kim_3 is not taken: the gradebook has 2 of this name, and all.zip 1",
        "Zoë de la Cruz_4 is not taken: the gradebook has 1 of this name, and all.zip 2",
        "Zoë de la cruz_5 is not taken: the gradebook has 1 of this name, and all.zip 2",
    ]


def test_what_is_less_than_the_name_is_said_and_a_group_has_no_members(room, tmp_path):
    names = ["Ada King Lovelace_1", "Team 1_17", "Default group"]
    files = {f"{name}_assignsubmission_file/{LAB}.ipynb": name.encode() for name in names}
    said, failed = take_in(Course(room.root), LAB, archive(tmp_path / "all.zip", files))
    assert submitted(room) == {f"s1/{LAB}/{LAB}.ipynb": b"Ada King Lovelace_1"}
    assert said[1:] == ["Ada King Lovelace_1 is taken as s1 (Ada Lovelace), who alone has what is in this name"]
    assert len(failed) == 2 and all("if it is a group, into the folder of each member" in line for line in failed)


def people(path: Path) -> dict[str, dict[str, bytes | None]]:
    """The files of everybody in an archive or folder, by what the name may be read as, and where they belong."""
    with opened(path) as files:
        return {
            name: {str(file): read() for file, read in one.files.items()}
            for one in by_person(files).values()
            for name in one.names
        }


def test_who_is_marked_blind_is_told_the_way(tmp_path):
    with opened(archive(tmp_path / "all.zip", {"Participant_815_assignsubmission_file/x.ipynb": b""})) as files:
        (handed_in,) = by_person(files).values()
    said = about_unknown(handed_in, Match(), 1, "all.zip", "do it yourself")
    assert "it has a number in place of a name" in said and "reveal the students' identities in Moodle" in said


def test_nobody_hands_in_for_another_by_the_name_of_a_file(tmp_path):
    forged = "Ada Lovelace_1_assignsubmission_file_x.ipynb"
    names = [f"Zoë_2_assignsubmission_file_{forged}", f"Eve_3_assignsubmission_file/{forged}"]
    path = archive(tmp_path / "all.zip", dict.fromkeys(names, b"forged"))
    assert people(path) == {"Zoë": {forged: b"forged"}, "Eve": {forged: b"forged"}}


def test_text_that_was_typed_into_moodle_is_taken_with_the_files(tmp_path):
    files = {
        "Ada Lovelace_1_assignsubmission_file/x.ipynb": b"work",
        "Ada Lovelace_1_assignsubmission_onlinetext/onlinetext.html": b"text",
        "Zoë_2_assignsubmission_onlinetext_onlinetext.html": b"only text",
    }
    assert people(archive(tmp_path / "all.zip", files)) == {
        "Ada Lovelace": {"x.ipynb": b"work", "onlinetext/onlinetext.html": b"text"},
        "Zoë": {"onlinetext/onlinetext.html": b"only text"},
    }


@pytest.mark.parametrize("encoding", ["utf-8", "cp850", "cp437", "cp1252", "gbk"])
@pytest.mark.parametrize("between", ["/", "\\"])
def test_an_archive_that_was_packed_again_is_read_in_the_encoding_of_whoever_did(tmp_path, encoding, between):
    name = "\u674e\u96f7" if encoding == "gbk" else "Zoë de la Cruz"
    where = between.join(["top", f"{name}_1_assignsubmission_file", f"{LAB}.ipynb"])
    marks = "_" * len(where.encode(encoding))
    beside = {f"__MACOSX/{where}": b"", where.replace(LAB, f"._{LAB}"): b"", where.replace(LAB, ".DS_Store"): b""}
    path = archive(tmp_path / "all.zip", {marks: b"work"} | beside)
    path.write_bytes(path.read_bytes().replace(marks.encode(), where.encode(encoding)))  # and no flag says which
    assert people(path)[name] == {f"{LAB}.ipynb": b"work"}


def test_a_name_in_utf_8_beside_that_in_a_code_page_counts(tmp_path):
    raw, name = b"Zo?_1_assignsubmission_file/x.ipynb", "Zoë_1_assignsubmission_file/x.ipynb"
    member = zipfile.ZipInfo(raw.decode())
    content = struct.pack("<BL", 1, zlib.crc32(raw)) + name.encode()
    member.extra = struct.pack("<HHx", 1, 1) + struct.pack("<HH", 0x7075, len(content)) + content
    assert names_of(member) == (name,)


def test_a_name_that_was_damaged_when_it_was_unpacked_is_found(tmp_path):
    for number, encoding in enumerate(("utf-8", "cp850"), 1):
        damaged = f"Zoë_{number}_assignsubmission_file".encode(encoding).decode("cp437")
        (tmp_path / damaged).mkdir()
        (tmp_path / damaged / "x.ipynb").touch()
    (tmp_path / os.fsdecode("Zoë_3_assignsubmission_file".encode("cp1252"))).mkdir()
    (tmp_path / os.fsdecode("Zoë_3_assignsubmission_file".encode("cp1252")) / "x.ipynb").touch()
    with opened(tmp_path) as files:
        assert {each.number for each in by_person(files).values() if "Zoë" in each.names} == {"1", "2", "3"}


def test_another_kind_of_archive_is_to_be_unpacked(tmp_path):
    (tmp_path / "all.7z").write_bytes(b"7z\xbc\xaf\x27\x1c")
    with (
        pytest.raises(StepFailed, match=r"nor a \.zip archive; unpack it, and give the folder"),
        opened(tmp_path / "all.7z"),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read: No such file"), (b"PK", "neither a folder nor a .zip archive"), ({}, "no submission as")],
)
def test_what_is_no_such_archive_is_one_sentence(room, tmp_path, content, message):
    path = tmp_path / "all.zip"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        archive(path, {"notes.txt": b""})
    with pytest.raises(StepFailed, match=message):
        take_in(Course(room.root), LAB, path)
