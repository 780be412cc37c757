"""The modules of the lab whose notebook runs in this folder: `from course.lab.figures.shares import shares_picture`.

A lab has `figures/` and `models/` of its own. They are found in the folder in which this process started, which for a
notebook and its ranks is the lab's: in the lab's archive, or, where an author works, in the folder itself. Where there
is neither, importing this package raises ArchiveError.
"""

from __future__ import annotations

import os

from course.lab_archive import ARCHIVE, GIVEN, archive_files

HERE = os.getcwd()
if os.path.exists(ARCHIVE) or not any(map(os.path.isdir, GIVEN)):
    archive_files(HERE)
__path__ = [os.path.join(HERE, ARCHIVE), HERE]
