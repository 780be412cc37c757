"""One student, one name: `é` may be one character or two, and a Mac unpacks names in the other form.

Ids are kept in Unicode's NFC, in the gradebook and as names of folders. What is pasted from a web page or a spreadsheet
may bring signs that nobody sees, such as a zero-width space.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from unicodedata import normalize

from nbgrader.api import Gradebook, Student, SubmittedAssignment

# Zero-width spaces, marks of the direction, hyphens that may be. Joiners stay: they are letters' in some languages.
UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


def one_form(text: str) -> str:
    """An id as it is kept, from what somebody typed or pasted."""
    return normalize("NFC", UNSEEN.sub("", text)).strip()


def rename_to_nfc(folder: Path) -> list[str]:
    """Give the folders in `folder`, one for each student, their names in NFC. Returns what to say, a line each.

    Where there is one of this name already, both stay as they are. Raises OSError.
    """
    said = []
    for name in sorted(os.listdir(folder)) if folder.is_dir() else []:
        if (ours := normalize("NFC", name)) == name:
            continue
        if (folder / ours).exists():
            said.append(f"{ours}: there are two folders of this name in {folder}, in two forms of Unicode; keep one")
        else:
            (folder / name).rename(folder / ours)
            said.append(f"{ours}: the folder's name was in another form of Unicode; it is renamed")
    return said


def ids_to_nfc(gradebook: Gradebook) -> list[str]:
    """Give the students in the gradebook their ids in NFC. Returns what to say, a line each."""
    said, known = [], {student.id for student in gradebook.students}
    for name in sorted(known):
        if (ours := normalize("NFC", name)) == name:
            continue
        if ours in known:
            said.append(f"{ours}: two in the gradebook have this id, in two forms of Unicode; remove one")
            continue
        for table, column in ((SubmittedAssignment, "student_id"), (Student, "id")):
            rows = gradebook.db.query(table).filter(getattr(table, column) == name)
            rows.update({column: ours}, synchronize_session=False)
        gradebook.db.commit()
        gradebook.db.expire_all()
        said.append(f"{ours}: the id in the gradebook was in another form of Unicode; it is changed")
    return said
