"""A class on the small lab, with two questions at its end, which can be corrected and released again."""

from __future__ import annotations

import shutil

from classroom import Classroom
from small_course import LAB

from autograde.classroom.release.old_text import as_released
from autograde.labs.folder import find_lab
from autograde.making.build import build, write_file
from course.corrections.releases import keep

QUESTIONS = """
# %% answer="sixes"
check.answer("sixes", None)

# %% [markdown] answer="why"
# YOUR ANSWER HERE
"""
NUMBERS = '[sixes]\nvalue = 6\nremark = "Six."\n'


class Released(Classroom):
    """A class whose lab can be corrected and released again."""

    def correct(self, *changes: tuple[str, str]) -> None:
        """Replace text in the lab's lab.py."""
        source = self.root / "solutions" / LAB / "lab.py"
        text = source.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        source.write_text(text)

    def put_out(self) -> None:
        """Put it into the exchange as a release does, without a gradebook."""
        outbound = self.exchange / "lockstep" / "outbound"
        shutil.rmtree(outbound / LAB, ignore_errors=True)
        for name, file in as_released(build(find_lab(self.root, LAB))).items():
            write_file(outbound / LAB / name, file)
        keep(self.exchange, "lockstep", LAB)

    def release(self, *options: str) -> str:
        """Release it. Returns what is said."""
        done = self.lockstep("release", LAB, *options)
        assert done.exit_code == 0, done.output
        return done.output
