"""A mistake is told with the input of one call that shows it."""

from __future__ import annotations

import pytest

from autograde.rubric.inputs import seen_with

ARGUMENTS = {"intervals": 46, "size": 4, "rate": 0.0012345678, "hosts": ["a", "b"], "seed": 7, "x": [0.25] * 30}


@pytest.mark.parametrize(
    ("message", "names", "size", "added"),
    [
        ("Lost.", ("intervals",), 3, " Seen with intervals=46 on 3 ranks."),
        ("Lost.", ("intervals", "size"), None, " Seen with intervals=46, size=4."),
        ("Lost.", (), 1, " Seen on 1 rank."),
        ("Lost.", (), None, ""),
        ("Lost.", ("rate", "hosts"), None, " Seen with rate=0.00123457, hosts=['a', 'b']."),
        ("Lost.", ("x",), 2, " Seen on 2 ranks."),  # nobody types that many
        ("With 46 intervals on 3 ranks it is lost.", ("intervals",), 3, ""),
        ("With 4.6 of 146 on 13 ranks it is lost.", ("intervals",), 3, " Seen with intervals=46 on 3 ranks."),
    ],
)
def test_an_input_is_told_in_short_and_only_where_the_words_do_not_have_it(message, names, size, added):
    assert seen_with(message, ARGUMENTS, names, size) == message + added
