"""What the columns of a university's list of students mean, by headings as Moodle, Canvas and Excel write them.

Moodle writes its headings in the language of who exports (English, German, French, Spanish, Italian are known here),
and Canvas always in English:
    moodle/moodle: lang/en/moodle.php (firstname, lastname, idnumber, email, username), https://download.moodle.org/langpack
    instructure/canvas-lms: lib/gradebook_exporter.rb
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import combining, normalize

EMAIL, NUMBER, USERNAME = "Email address", "ID number", "Username"  # Moodle's headings
CANVAS_ID, SIS_USER, SIS_LOGIN = "ID", "SIS User ID", "SIS Login ID"  # Canvas's
SECTION = "Section"
ID = "id"  # the id in this course
FIRST, LAST = "First name", "Last name"
STUDENT, NAME = "Student", "name"  # both names in one column: last name, comma, first name; or first name first
IDS = (ID, SIS_LOGIN, USERNAME, NUMBER, SIS_USER, EMAIL, CANVAS_ID)  # columns that tell who somebody is

# Of several columns that mean the same, the one that is first here is read.
SPELLINGS: dict[str, tuple[str, ...]] = {
    ID: (),  # exactly `id`, see `meaning`
    EMAIL: (
        *("Email address", "email", "E-Mail-Adresse", "Adresse de courriel", "Dirección de correo", "Indirizzo email"),
        *("Dirección Email", "Dirección de correo electrónico", "Correo electrónico", "correo", "Adresse e-mail"),
        *("Adresse électronique", "courriel", "E-Mail", "Mailadresse", "Mail", "Indirizzo di posta elettronica"),
        *("Adresse mail", "Adresse email", "Posta elettronica", "Email-Adresse", "Email ID", "Correo institucional"),
        *("Email istituzionale", "E-mail istituzionale", "Email ateneo", "Adresse mail institutionnelle"),
    ),
    NUMBER: (
        *("ID number", "idnumber", "ID-Nummer", "Numéro d'identification", "Número de ID", "Codice identificativo"),
        *("lms_user_id", "Número de identificación", "Numero ID", "Numero identificativo", "Matrikelnummer"),
        *("Matrikel-Nr.", "Matrikelnr.", "Matrikel", "Matr.-Nr.", "Student ID", "Student number", "Student no."),
        *("Matriculation number", "Numéro d'étudiant", "Numéro étudiant", "N° étudiant", "Matrícula", "Matricola"),
        *("Numero di matricola", "Número de matrícula", "Code étudiant"),
    ),
    USERNAME: (
        *("Username", "User name", "Anmeldename", "Nom d'utilisateur", "Nombre de usuario", "Nome utente"),
        *("Benutzername", "Nutzername", "Kennung", "Identifiant", "Usuario", "Utente", "Login", "Account", "Login ID"),
    ),
    SIS_USER: ("SIS User ID",),
    SIS_LOGIN: ("SIS Login ID",),
    SECTION: ("Section",),
    FIRST: ("First name", "FirstName", "Given name", "Vorname", "Prénom", "Nombre(s)", "Rufname"),
    LAST: (
        *("Last name", "LastName", "Surname", "Family name", "Nachname", "Nom de famille", "Apellido(s)", "Cognome"),
        *("Familienname", "Apellidos", "Apellido"),
    ),
    STUDENT: (
        *("Student", "Last name, First name", "Nachname, Vorname", "Name, Vorname", "Nom, Prénom", "Cognome, Nome"),
        *("Apellidos, Nombre", "Apellido(s), Nombre", "Apellidos y nombre", "Cognome e nome", "Nom et prénom"),
    ),
    NAME: (
        *("Full name", "Student name", "First name / Last name", "Vorname / Nachname", "Prénom / Nom de famille"),
        *("Prénom / Nom", "Nombre / Apellido(s)", "Nombre / Apellidos", "Nome / Cognome", "Vollständiger Name"),
        *("Nom complet", "Nombre completo", "Nome completo"),
    ),
}
# What Moodle's grading worksheet calls a submission, in the column that has an account's name in other lists.
NUMBERED = re.compile(r"(participant|teilnehmer\S*|participante|partecipante)\s*\d+", re.IGNORECASE)
EITHER = ("name", "nom", "nombre", "nome")  # the other name than the one that has a column, else both names


def plain(heading: str) -> str:
    """A heading without what one may write otherwise: capitals, accents, hyphens, underscores, kinds of apostrophes."""
    letters = normalize("NFKD", heading).casefold().replace("\u2019", "'").replace("\ufeff", "")
    text = "".join(letter for letter in letters if not combining(letter))
    return " ".join(re.sub(r"[\s_\-\u2010-\u2013./:*]+", " ", text).split())


RANKED = {plain(text): (rank, name) for name, texts in SPELLINGS.items() for rank, text in enumerate(texts)}


def meanings(headings: Sequence[str]) -> dict[str, int]:
    """Which column has what, by its meaning here. headings: of a list, in its order; what is not known is left out."""
    canvas = bool({plain(each) for each in headings} & {"sis login id", "sis user id", "student", "lastname"})
    ranked: dict[str, tuple[int, int]] = {}
    for column, heading in enumerate(headings):
        if (found := meaning(heading, canvas)) is not None:
            rank, name = found
            ranked[name] = min(ranked.get(name, (rank, column)), (rank, column))
    columns = {name: column for name, (_, column) in ranked.items()}
    for column, heading in enumerate(headings):
        if plain(heading) in EITHER:
            other = LAST if FIRST in columns and LAST not in columns else FIRST if LAST in columns else NAME
            columns.setdefault(other, column)
    return columns


def meaning(heading: str, canvas: bool) -> tuple[int, str] | None:
    """What a column has by itself, and how far down `SPELLINGS` its heading is. canvas: the list is Canvas's."""
    if heading.strip() == ID:
        return 0, ID
    if plain(heading) == "id":
        return (0, CANVAS_ID) if canvas else (len(SPELLINGS[NUMBER]), NUMBER)
    return RANKED.get(plain(heading))
