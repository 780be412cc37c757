"""The pictures of course/pictures: what each shows, in words, and how one makes it anew.

The first screen is made by a test, which writes into the picture what it shows. The others were made by hand: of each,
some words that it shows are listed here, with the file that has them.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Page

from autograde.labs.places import REPOSITORY
from course.overview.course_map import local_overview

FOLDER = REPOSITORY / "course" / "pictures"
FIRST_SCREEN = FOLDER / "first_screen.png"
MAKE = "LOCKSTEP_PICTURES"  # environment variable: set, the test makes the picture anew
HOW = f"{MAKE}=1 ./lockstep test tests/browser/test_students_lab.py -k first_screen"
SHOWS = "Shows"  # the text in the picture's file


@dataclass(frozen=True)
class ByHand:
    """A picture that was made by hand. words: by the file that has them. how: it is made anew, in words."""

    words: dict[str, list[str]]
    how: str


# What a check says of lab 03's parallel_pi, if rank 0 does not come to the allreduce.
DEADLOCK = {
    "solutions/03_pi_allreduce/checks/parallel_pi.py": [
        "each rank evaluates its own share only, a fair one",
        "exactly one all-reduce of one float64, and the result is made of it. No other communication",
        "all ranks return pi, the very same float (numpy's float64 is one)",
    ],
    "course/watch/differences/standstill.py": [
        '"never makes"',
        "the call that {who} {waits}, {call}: {everyone} have to.",
    ],
    "course/watch/differences/groups.py": ["all ranks of a communicator"],
    "course/watch/differences/conditions.py": ["{decide} which ranks {what}.", '"make the call"'],
    "autograde/rubric/breaks.py": ["A deadlock. "],
    "autograde/rubric/check.py": ["the run broke off"],
}
BY_HAND = {
    "deadlock.png": ByHand(
        DEADLOCK,
        "in ./lockstep lab, let rank 0 of lab 03's parallel_pi return before the allreduce, and run its check",
    ),
    "formgrader.png": ByHand(DEADLOCK, "grade that notebook, and open the submission in the formgrader"),
    "timeline.png": ByHand(
        {
            "course/figures/ranks/timeline.py": ["What each rank did"],
            "course/figures/ranks/waits.py": ["Longest wait: "],
        },
        "draw timeline(world.events) of a run with an allreduce, messages and a barrier",
    ),
    "strong_scaling.png": ByHand(
        {"course/figures/scaling/speedup.py": ["times faster than one rank"]}, "python bench/strong_scaling.py PLOT.png"
    ),
    "lecture_collectives.png": ByHand(
        {
            "course/lectures/03_talking_to_everybody.md": [
                "The bars are longer than ideal",
                "Step through it, and watch",
            ],
            "course/figures/collectives/broadcast_film.py": ["all after"],
        },
        "./lockstep book, and lecture 3 without the list at its left, its film at 12.5 s",
    ),
    "lecture_inside_ddp.png": ByHand(
        {
            "course/lectures/10_inside_ddp.md": ["And once more slowly, in a world without any disturbance."],
            "course/figures/overlap/bucket_film.py": ["leaves"],
        },
        "./lockstep book, and lecture 10 without the list at its left, its film at 60 ms",
    ),
}


def words_of_first_screen() -> list[str]:
    """What the map says of each lab."""
    return [f"{lab.title}: {lab.idea} {lab.minutes}" for lab in local_overview(REPOSITORY).labs]


def words_in(picture: Path) -> list[str]:
    """What a picture's file says that it shows."""
    with Image.open(picture) as image:
        return image.text.get(SHOWS, "").splitlines()


def make_first_screen(page: Page) -> None:
    """Replace the picture by this page, if it is asked for."""
    if os.environ.get(MAKE):
        about = PngInfo()
        about.add_itxt(SHOWS, "\n".join(words_of_first_screen()))
        with Image.open(io.BytesIO(page.screenshot())) as image:
            image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
                FIRST_SCREEN, pnginfo=about, optimize=True
            )
