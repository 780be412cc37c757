"""Pictures of the product are not older than what they show."""

from __future__ import annotations

import re

import pytest
from pictures import BY_HAND, FIRST_SCREEN, FOLDER, HOW, words_in, words_of_first_screen

from autograde.labs.places import REPOSITORY


def test_the_picture_of_the_first_screen_shows_the_labs_of_now():
    now = words_of_first_screen()
    assert now and [line for line in words_in(FIRST_SCREEN) if line in now] == now, f"make it anew: {HOW}"


@pytest.mark.parametrize("name", BY_HAND)
def test_what_a_picture_shows_is_still_said(name):
    for file, words in BY_HAND[name].words.items():
        if (lab := re.match(r"solutions/\w+", file)) and not (REPOSITORY / lab[0]).is_dir():
            pytest.skip(f"{lab[0]} was deleted: its picture can go, too")
        text = " ".join((REPOSITORY / file).read_text(encoding="utf-8").split())
        assert [each for each in words if each not in text] == [], f"make {name} anew: {BY_HAND[name].how}"


def test_of_each_picture_it_is_known_what_it_shows():
    assert {path.name for path in FOLDER.glob("*.png")} == {FIRST_SCREEN.name, *BY_HAND}
