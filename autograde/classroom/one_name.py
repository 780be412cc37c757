"""One student, one name: `é` may be one character or two, and a Mac unpacks names in the other form.

Ids are kept in Unicode's NFC, in the gradebook and as names of folders.
"""

from __future__ import annotations

import os
from pathlib import Path
from unicodedata import normalize


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
