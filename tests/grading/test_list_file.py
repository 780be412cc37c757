"""Lists of students as Moodle, Canvas and Excel write them in several countries: who is on them, and who is nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograde.classroom.errors import StepFailed
from autograde.term.lists.headings import IDS
from autograde.term.lists.list_file import names_in, read_list
from autograde.term.lists.roster import read_roster
from autograde.term.lists.student_list import Known, Person

ADA, NOOR = ("Ada", "Lovelace", "ada@uni.example", "00104"), ("Noor", "Al Ali", "noor@uni.example", "00105")
# Headings of Moodle's export of grades: first name, last name, ID number, institution, department, e-mail address.
MOODLE = {
    "English": ("First name", "Last name", "ID number", "Institution", "Department", "Email address", "Quiz (Real)"),
    "English until 3.11": ("First name", "Surname", "ID number", "Institution", "Department", "Email address", "Quiz"),
    "German": ("Vorname", "Nachname", "ID-Nummer", "Institution", "Abteilung", "E-Mail-Adresse", "Test: A; B (Punkte)"),
    "French": (
        *("Prénom", "Nom de famille", "Numéro d\u2019identification", "Institution", "Département"),
        *("Adresse de courriel", "Test : A, B (Brut)"),
    ),
    "French until 3.11": (
        "Prénom",
        "Nom",
        "Numéro d'identification",
        "Institution",
        "Département",
        "Adresse de courriel",
    ),
    "Spanish": (
        *("Nombre", "Apellido(s)", "Número de ID", "Institución", "Departamento", "Dirección de correo"),
        "Cuestionario (Real)",
    ),
    "Italian": (
        "Nome",
        "Cognome",
        "Codice identificativo",
        "Istituto",
        "Dipartimento",
        "Indirizzo email",
        "Quiz (Voto)",
    ),
}
EXCEL = {
    "German": ("Name", "Vorname", "Matrikelnr.", "E-Mail"),
    "French": ("NOM", "PRÉNOM", "N° étudiant", "Courriel"),
    "Spanish": ("Apellidos", "Nombre", "Matrícula", "Correo electrónico"),
    "Italian": ("COGNOME", "NOME", "Matricola", "E-mail"),
    "English": ("Surname", "First Name", "Student ID", "E-Mail"),
    "French, without accents": ("NOM", "PRENOM", "CODE ETUDIANT", "MAIL"),
    "Italian, of Esse3": ("COGNOME", "NOME", "MATRICOLA", "EMAIL ATENEO"),
}
# Moodle's grading worksheet of an assignment: headings, and what its first column has before a number.
WORKSHEETS = {
    "English": ("Identifier;Full name;Email address;Status;Grade", "Participant"),
    "German": ("ID;Vollständiger Name;E-Mail-Adresse;Status;Bewertung", "Teilnehmer/in"),
    "French": ("Identifiant;Nom complet;Adresse de courriel;Statut;Note", "Participant"),
    "Spanish": ("Identificador;Nombre completo;Dirección de correo;Estado;Calificación", "Participante"),
    "Italian": ("Identificativo;Nome completo;Indirizzo email;Stato;Valutazione", "Partecipante"),
}


def quoted(cells: tuple[str, ...], separator: str) -> str:
    """A line of a CSV file."""
    return separator.join(f'"{each}"' if separator in each or " " in each else each for each in cells)


def people(path: Path) -> list[tuple[str, ...]]:
    """First name, last name, e-mail address and ID number of all on a list."""
    listed = read_list(path)
    return [(*names_in(line), line["Email address"], line["ID number"]) for line in listed.lines]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("country", MOODLE)
def test_moodles_export_is_read_in_each_language(tmp_path, country, separator):
    headings, listed = MOODLE[country], tmp_path / "list.csv"
    lines = [headings] + [
        (first, last, number, "", "", email, "7,5")[: len(headings)] for first, last, email, number in (ADA, NOOR)
    ]
    listed.write_text("\r\n".join(quoted(line, separator) for line in lines), encoding="utf-8-sig", newline="")
    assert people(listed) == [ADA, NOOR]


@pytest.mark.parametrize("first_line", ["", "sep=;\r\n", '"sep=;"\r\n', "Kurs: ML, Sommer;;;\r\n\r\n"])
@pytest.mark.parametrize("country", EXCEL)
def test_excels_lists_are_read_with_semicolons_below_what_excel_puts_above(tmp_path, country, first_line):
    listed = tmp_path / "list.csv"
    lines = [EXCEL[country]] + [(last, first, f'="{number}"', email) for first, last, email, number in (ADA, NOOR)]
    listed.write_text(first_line + "\r\n".join(map(";".join, lines)) + "\r\n;;;\r\n", encoding="utf-8", newline="")
    assert people(listed) == [ADA, NOOR]


@pytest.mark.parametrize(
    ("headings", "cell"),
    [("Student", "Lovelace, Ada"), ("Name, Vorname", "Lovelace, Ada"), ("Name", "Ada Lovelace")],
)
def test_commas_in_names_are_no_separators_where_semicolons_are(tmp_path, headings, cell):
    listed = tmp_path / "list.csv"
    listed.write_text(f"{headings};SIS Login ID;Essay, part 1, 2 and 3 (77)\n{cell};ada;7,5\n")
    (line,) = read_list(listed).lines
    assert (*names_in(line), line["SIS Login ID"]) == ("Ada", "Lovelace", "ada")


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("names", [("Student",), ("LastName", "FirstName")])
def test_of_canvas_export_lines_that_are_nobody_are_left_out(tmp_path, names, separator):
    def named(last: str, first: str) -> tuple[str, ...]:
        return (last, first) if len(names) == 2 else (f"{last}, {first}" if first else last,)

    listed = tmp_path / "canvas.csv"
    lines = [
        (*names, "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 1 (77)"),
        (*("" for _ in names), "", "", "", "", "Manual Posting"),
        (*named("    Points Possible", ""), "", "", "", "", "10"),
        (*named("Lovelace", "Ada"), "9001", "s1", "ada", "Mon", "8"),
        (*named("Student", "Jo"), "9002", "s2", "jo", "Mon", "8"),
        (*named("Student", "Test"), "9003", "", "0d3f5b1c8a7e6d4f2b9a1c3e5d7f9b0a2c4e6d8f", "Mon", ""),
    ]
    listed.write_text("\n".join(quoted(line, separator) for line in lines))
    found = read_list(listed)
    assert [(*names_in(line), line["SIS Login ID"]) for line in found.lines] == [
        ("Ada", "Lovelace", "ada"),
        ("Jo", "Student", "jo"),
    ]
    assert found.nobody == ["Test Student"]


@pytest.mark.parametrize("last", ["Total;2;", "Summe;2;", ";Durchschnitt: ;17.5", "Anzahl: 2;;"])
def test_a_line_that_sums_up_is_nobody_and_is_named(tmp_path, last):
    listed = tmp_path / "list.csv"
    listed.write_text(f"id;name;email\nsum;Wei Sum;sum@uni.example\ntotal;Jo;\n{last}\n")
    found = read_list(listed)
    assert [line["id"] for line in found.lines] == ["sum", "total"]
    assert len(found.nobody) == 1


@pytest.mark.parametrize("unseen", ["\u200b", "\ufeff", "\u200e", "\u2060", "\u00ad", "\u00a0"])
def test_signs_that_nobody_sees_change_no_heading_and_no_id(tmp_path, unseen):
    listed = tmp_path / "list.csv"
    listed.write_text(f"Name;{unseen}id\nAda Lovelace;{unseen}s042{unseen}\n")
    assert [line["id"] for line in read_list(listed).lines] == ["s042"]


def test_a_dash_is_no_id(tmp_path):
    listed = tmp_path / "list.csv"
    listed.write_text("Name;Matrikelnummer;E-Mail\nAda Lovelace;-;ada@uni.example\nNoor Ali;#N/A;noor@uni.example\n")
    assert [line["ID number"] for line in read_list(listed).lines] == ["", ""]


@pytest.mark.parametrize("country", WORKSHEETS)
def test_the_number_of_a_submission_in_moodles_worksheet_is_no_id(tmp_path, country):
    (headings, numbered), listed = WORKSHEETS[country], tmp_path / "list.csv"
    listed.write_text(f"\ufeff{headings}\r\n{numbered} 1203;Ada Lovelace;ada@uni.example;;\r\n")
    (line,) = read_list(listed).lines
    assert names_in(line) == ADA[:2]
    assert {name: text for name, text in line.items() if name in IDS and text} == {"Email address": "ada@uni.example"}


def test_of_two_columns_that_mean_the_same_moodles_own_is_read(tmp_path):
    listed = tmp_path / "list.csv"
    listed.write_text("Matrikelnummer;ID-Nummer;E-Mail;E-Mail-Adresse\n1;104;a@b;ada@uni.example\n")
    (line,) = read_list(listed).lines
    assert (line["ID number"], line["Email address"]) == ("104", "ada@uni.example")


SAVE = 'save it as "CSV UTF-8'


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("id;name\nada;Müller\n".encode("cp1252"), f"an older encoding, such as Windows-1252; {SAVE}"),
        ("id\tname\nada\tMüller\n".encode("utf-16"), f"it is not UTF-8 but UTF-16; {SAVE}"),
        ("id\tname\nada\tMüller\n".encode("utf-16-le"), f"it is not UTF-8 but UTF-16; {SAVE}"),
        (b"PK\x03\x04xl/workbook.xml", f"it is a workbook; {SAVE}"),
        (b"", "is empty"),
        (b"Nr;Nachn.;Vorn.\n1;Lovelace;Ada\n", "its headings are read as: Nr | Nachn. | Vorn."),
        (b"ada,Ada\nnoor,Noor\n", "its headings are read as: ada | Ada"),
        (b"id,name\nada,Lovelace, Ada\n", "the line of ada has 3 cells, there are 2 headings"),
        (b"id;email\n1,23457E+13;a@b\n", "a spreadsheet has shortened 1,23457E+13 in the column id"),
        (b'id;email\nada;"a@b\nnoor;n@b\n', "a quotation mark is not closed in the line of ada"),
        (b'id;name;text\nada;Ada;"a\nnoor;Noor;b\n', "a quotation mark is not closed in the line of ada"),
        (b'id,name\nada,"Ada\nnoor,"Noor"\n', "a quotation mark is not closed before 'Ada\\nnoor,"),
    ],
)
def test_what_cannot_be_read_surely_is_refused_with_the_way_out(tmp_path, content, why):
    listed = tmp_path / "list.csv"
    listed.write_bytes(content)
    with pytest.raises(StepFailed) as refused:
        read_list(listed)
    assert why in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("heading", "written"),
    [
        *(
            ("id", text)
            for text in ("12.345.678", "12 345 678", "12'345'678", "012345678", "12345678.0", "UNI\\12345678")
        ),
        *(("Email address", text) for text in ("mailto:ada@uni.example", "Ada Lovelace <ada@uni.example>")),
        *(("ID number", text) for text in ("s0042", "S 0042")),
    ],
)
def test_whom_only_the_spelling_tells_from_a_known_student_is_not_taken_for_a_new_one(tmp_path, heading, written):
    ids = {"Email address": "ada@uni.example", "ID number": "S-0042"}
    known = Known([Person("12345678", "Ada", "Lovelace", ids), Person("x-1", ids={"ID number": "7"})])
    listed = tmp_path / "list.csv"
    listed.write_text(f"{heading};name\n{written};Ada Lovelace\n")
    found = read_roster(listed, known)
    assert found.entries == []
    (said,) = found.doubtful
    assert said.endswith("nearly 12345678, who is")
