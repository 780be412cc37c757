"""What a lecture's text says of its own cells, checked when the cells run.

Where the site is built, and in the tests, a sentence that does not hold is an error. A reader who changes a number
reads which sentence holds no longer, in one line, and goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

STRICT = "LOCKSTEP_BOOK"  # the environment variable that makes a sentence that does not hold an error
LINE = "The text says: “{}” Something was changed, or the machine is busy: here it is not so. That is fine, go on."


@contextmanager
def text_says(sentence: str) -> Iterator[None]:
    """A block that checks, by `assert`, a sentence of the text above. sentence: word for word, or a part of it.

    If the block fails, prints a line. Raises AssertionError with the sentence if the variable LOCKSTEP_BOOK is "1".
    """
    try:
        yield
    except Exception as error:  # a change may as well leave out what the check looks up
        if os.environ.get(STRICT) == "1":
            told = f"the text says: {sentence}" + f" ({error})" * bool(str(error))
            raise AssertionError(told) from error
        print(LINE.format(sentence))
