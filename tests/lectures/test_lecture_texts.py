"""What a lecture's text promises, and its notebook."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from rapidfuzz import fuzz
from reading_time import minutes
from rows import ROWS, Row

from autograde.labs.folder import find_labs
from autograde.labs.places import REPOSITORY
from autograde.lectures import absent_labs
from autograde.lectures.notebooks import (
    FOLDED,
    FOLDER,
    Lecture,
    differences,
    find_lectures,
    for_jupyter,
    line_of,
    read,
    write,
)

LECTURES = find_lectures(REPOSITORY)
lecture_by_name = pytest.mark.parametrize("lecture", LECTURES, ids=lambda lecture: lecture.name)
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
WIDTH = 88  # letters of a line that the site shows without a scroll bar
LONGEST = 450  # lines of a lecture, without code that is folded
FOLDED_CELL = re.compile(r"^```\{code-cell\}\n:tags: \[(?:hide-input|remove-cell)\]\n(?:.*\n)*?```\n", re.MULTILINE)
ALIKE = 80  # of 100: how like an answer to a TODO a part of a cell may be


def sections(lecture: Lecture) -> dict[str, str]:
    """The text under each heading of a lecture."""
    parts = re.split(r"^## (.+)\n", lecture.source.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_notebook_is_what_its_text_makes() -> None:
    assert differences(REPOSITORY) == []


def test_a_notebook_that_was_changed_is_left_over_or_missing_is_told(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    for name in "01_one", "02_two", "03_three":
        (folder / f"{name}.md").write_text("# A title\n\n```{code-cell}\n1 + 1\n```\n")
    one, two, _ = find_lectures(tmp_path)
    write(one)
    write(two)
    two.notebook.write_text(two.notebook.read_text().replace("1 + 1", "1 + 2"))
    (folder / "old.ipynb").write_text("{}")
    assert [line.split(";")[0] for line in differences(tmp_path)] == [
        "course/lectures/02_two.ipynb is not what its source makes",
        "course/lectures/03_three.ipynb is missing",
        "course/lectures/old.ipynb is made from no text",
    ]


def test_a_box_is_a_quotation_in_the_notebook(tmp_path: Path) -> None:
    source = tmp_path / "01_one.md"
    source.write_text("Before.\n\n:::{admonition} Red pen\n:class: tip\nOne.\n\nTwo.\n:::\n\nAfter.\n")
    cells = nbformat.reads(for_jupyter(Lecture(source)).decode(), as_version=4).cells
    assert [cell.source for cell in cells] == ["Before.", "> **Red pen**\n>\n> One.\n>\n> Two.", "After."]
    assert [cell.metadata.slideshow.slide_type for cell in cells] == ["notes", "subslide", "notes"]


def test_a_line_of_a_cell_is_found_in_the_text(tmp_path: Path) -> None:
    source = tmp_path / "01_one.md"
    source.write_text("# A title\n\n```{code-cell}\n:tags: [hide-input]\n\n1\n2\n```\n\n```{code-cell}\n3\n```\n")
    lines = source.read_text().splitlines()
    assert [lines[line_of(Lecture(source), *place) - 1] for place in ((0, 1), (0, 2), (1, 1))] == ["1", "2", "3"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.source} in {row.lecture}: {row.heading}")
def test_what_the_documents_say_stands_under_its_heading(row: Row) -> None:
    (lecture,) = (each for each in LECTURES if each.name.startswith(f"{row.lecture:02}_"))
    text = " ".join(sections(lecture)[row.heading].split())
    assert [words for words in row.words if words not in text] == []


@lecture_by_name
def test_each_heading_is_followed_by_a_claim_of_one_sentence(lecture: Lecture) -> None:
    found = sections(lecture)
    assert len(found) >= 5
    assert [*found][-2:] == ["What you saw", "Sources"]
    numbers = [heading.split(".")[0] for heading in found][:-2]
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)], "headings are numbered"
    for heading, text in found.items():
        claim = text.strip().split("\n\n")[0]
        assert re.fullmatch(r"\*\*[^*]+[.:?]\*\*", claim), f"{heading}: {claim}"


@lecture_by_name
def test_a_lecture_has_one_guess_some_questions_and_a_line_of_what_to_change(lecture: Lecture) -> None:
    text = lecture.source.read_text(encoding="utf-8")
    assert len(re.findall(r"^guess = ", text, re.MULTILINE)) == 1
    assert "None" in re.search(r"^guess = .*$", text, re.MULTILINE)[0], "it runs without a guess"
    assert 4 <= text.count("<details><summary>") == text.count("</details>") <= 6
    assert text.count("<details><summary>A new case: ") == 1
    assert text.count("*Change:*") >= 3
    assert sections(lecture)["What you saw"]
    assert "—" not in text


@lecture_by_name
def test_a_question_has_no_backticks_which_html_shows_as_they_are(lecture: Lecture) -> None:
    questions = re.findall(r"<summary>(.*?)</summary>", lecture.source.read_text(encoding="utf-8"), re.DOTALL)
    assert [each for each in questions if "`" in each] == [], "write <code>name</code>"


@lecture_by_name
def test_a_lecture_says_how_long_it_takes(lecture: Lecture) -> None:
    text = lecture.source.read_text(encoding="utf-8")
    reading, changing = minutes(text)
    due = f"It takes about {reading} minutes to read, and {changing} if you make the changes"
    said = re.findall(r"It takes about \d+ minutes to read, and \d+ if you make the changes", text)
    assert said == [due], "docs/lecture_authors.md says how minutes are counted"


def test_the_index_says_how_long_lectures_take() -> None:
    reading, changing = zip(*(minutes(each.source.read_text(encoding="utf-8")) for each in LECTURES), strict=True)
    due = f"takes {min(reading)} to {max(reading)} minutes to read ({min(changing)} to {max(changing)} with the changes"
    assert due in " ".join((REPOSITORY / FOLDER / "index.md").read_text(encoding="utf-8").split())


def test_minutes_count_words_code_that_is_shown_and_changes() -> None:
    text = "---\nhead: 1\n---\n" + "word " * 1300 + "\n\n" + "*Change:* this. " * 2
    text += "\n\n```{code-cell}\n" + "a = 1\n\n" * 100 + "```\n\n"
    text += "```{code-cell}\n:tags: [hide-input]\n" + "b = 1\n" * 500 + "```\n\n"
    text += "```{code-cell}\n:tags: [remove-cell]\n" + "c = 1\n" * 500 + "```\n\n## Sources\n\n" + "word " * 5000
    assert minutes(text) == (15, 20)  # 10 for words, 5 for code, half for two cells, and 5 for two changes


@lecture_by_name
def test_a_lecture_names_the_documents_that_it_follows_and_papers(lecture: Lecture) -> None:
    follows, papers = sections(lecture)["Sources"].split("Read on:")
    for author, row in {"Sarmiento": "S0", "Tsing Hua": "S1", "Jamil": "S2", "Sikan Li": "S3", "IDRIS": "S4"}.items():
        due = any(each.source.startswith(f"{row}.") for each in ROWS if lecture.name.startswith(f"{each.lecture:02}_"))
        assert (author in follows) == due, author
    assert 3 <= papers.count("\n- ") <= 8
    named = [" ".join(line.split()) for line in follows.split("\n- ")[1:]]
    assert [line for line in named if ("CC BY-NC 4.0" in line) != ("Jamil" in line)] == []
    assert [line for line in named if ("no licence stated" in line) == ("Jamil" in line)] == []


@lecture_by_name
def test_a_lecture_is_short_but_for_code_that_is_folded(lecture: Lecture) -> None:
    text = lecture.source.read_text(encoding="utf-8")
    lines = len(text.splitlines()) - sum(len(cell.splitlines()) for cell in FOLDED_CELL.findall(text))
    assert lines <= LONGEST


@lecture_by_name
def test_code_that_only_draws_is_folded_and_says_what_it_does(lecture: Lecture) -> None:
    for cell in read(lecture).cells:
        if {*cell.metadata.get("tags", [])} & FOLDED:
            assert re.match(r"# [A-Z].*\.\n", cell.source), cell.source


@lecture_by_name
def test_no_line_of_a_cell_is_wider_than_the_site_shows(lecture: Lecture) -> None:
    lines = [line for cell in read(lecture).cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    assert [line for line in lines if len(line) > WIDTH] == []


@lecture_by_name
def test_no_cell_shows_the_answer_to_a_todo(lecture: Lecture) -> None:
    code = [cell.source for cell in read(lecture).cells if cell.cell_type == "code"]
    for lab in find_labs(REPOSITORY):
        for answer in SOLUTION.findall(lab.source.read_text(encoding="utf-8")):
            for cell in code if len(answer) > 120 else []:
                like = fuzz.partial_ratio(squeezed(answer), squeezed(cell)) if len(cell) > len(answer) else 0
                assert like < ALIKE, f"{lab.name}: {answer}\n{cell}"


def squeezed(code: str) -> str:
    """Code without what says nothing: spaces."""
    return "".join(code.split())


def test_each_lab_names_the_lectures_that_come_before_it() -> None:
    """As the index of the lectures has them, by links that hold wherever labs and lectures lie beside each other."""
    index = (REPOSITORY / FOLDER / "index.md").read_text(encoding="utf-8")
    rows = [line for line in index.splitlines() if line.startswith("| [")]
    assert len(rows) == len(LECTURES)
    due = {
        (name, lab)
        for row in rows
        for name in re.findall(r"\((\d\d_\w+)\.ipynb\)", row)
        for _, lab in absent_labs.LINK.findall(row)
        if (REPOSITORY / "solutions" / lab).is_dir()
    }
    found = set()
    for lab in find_labs(REPOSITORY):
        notebook = nbformat.read(REPOSITORY / "labs" / lab.name / f"{lab.name}.ipynb", as_version=4)
        found |= {
            (name, lab.name)
            for name in re.findall(r"\(\.\./\.\./course/lectures/(\w+)\.ipynb\)", notebook.cells[0].source)
        }
    assert found == due
