"""Finds students by their full names, as Moodle and what repacks its archives write them into names of files.

Moodle leaves out & < > " ' ` | : \\ / and puts blanks for underscores. Which name comes first, whether there is a
comma, and whether middle names are shown, is for a site to say, and for each language. Others drop accents, or cut off.
    moodle/moodle: mod/assign/classes/downloader.php (get_student_prefix), lib/moodlelib.php (fullname, clean_filename)

A spelling that finds several students finds none of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from unicodedata import category, combining, normalize

from nbgrader.api import Student

LEFT_OUT = re.compile(r"""[&<>"'`|:\\/\u2018\u2019\u02bc\u00b4]""")  # by Moodle, and other apostrophes
FOREIGN = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
SHORTEST = 15  # characters of a name that may be cut off
FEWEST = 2  # words that a name must share


@dataclass
class Known:
    """What a student may be called.

    forms: the full name as it may be written, first of all as usual. ids: what else tells who it is. What names are
    compared by follows from them.
    """

    student: str
    forms: tuple[str, ...]
    ids: tuple[str, ...]
    keys: set[str] = field(init=False)
    id_keys: set[str] = field(init=False)
    id_parts: set[str] = field(init=False)
    words: set[str] = field(init=False)
    named: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.forms = tuple(filter(None, map(spelled, self.forms)))
        self.keys = {key for form in self.forms for key in keys_of(form)}
        self.id_keys = {key for text in self.ids for key in keys_of(text)}
        self.words = {word for form in self.forms[:1] for word in words_of(form)}
        # Without a name, the id stands for it, and in another name it may be anybody's first name.
        self.named = set() if spelled(self.student) in self.forms else self.words
        self.id_parts = {spelled(text) for text in self.ids} if self.named else set()


def known(student: Student) -> Known:
    """What the gradebook knows of a student."""
    first, last = student.first_name or "", student.last_name or ""
    forms = (f"{first} {last}", f"{last} {first}", f"{last}, {first}", f"{last}{first}")
    email = (student.email or "").strip()
    ids = (student.id, email, email.partition("@")[0], (student.lms_user_id or "").strip())
    return Known(student.id, forms, tuple(filter(None, ids)))


def spelled(name: str) -> str:
    """A name without what Moodle changes, without capitals and signs that nobody sees."""
    text = "".join(letter for letter in normalize("NFKC", name) if category(letter) != "Cf")
    return " ".join(re.sub(r"[_\s]+", " ", LEFT_OUT.sub("", text)).casefold().split())


def plain(text: str) -> tuple[str, ...]:
    """A spelled name without accents: as English and as German drops them."""
    ways = dict.fromkeys((text, normalize("NFC", text).translate(GERMAN)))
    return tuple(
        "".join(letter for letter in normalize("NFKD", way) if not combining(letter)).translate(FOREIGN) for way in ways
    )


def keys_of(name: str) -> set[str]:
    """What a name has in common with its other spellings: its words in any order, without accents and what is no
    letter; all that is in one word."""
    keys = set()
    for way in plain(spelled(name)):
        words = re.findall(r"[^\W_]+", way)
        keys |= {" ".join(sorted(words)), "".join(words)} if words else set()
    return keys


def words_of(name: str) -> set[str]:
    """The words of a name; a double name is one."""
    return set(re.findall(r"[^\W_]+(?:-[^\W_]+)*", plain(spelled(name))[0]))


def by_name(name: str, people: Iterable[Known]) -> list[Known]:
    """Who has exactly this name, apart from what Moodle changes."""
    return [one for one in people if spelled(name) in one.forms]


def by_letters(name: str, people: Iterable[Known]) -> list[Known]:
    """Who has this name in another order, without accents, hyphens, or blanks."""
    keys = keys_of(name)
    return [one for one in people if keys & one.keys]


def by_id(name: str, people: Iterable[Known]) -> list[Known]:
    """Whose id or e-mail address this is, or stands in it beside the name."""
    keys, parts, words = keys_of(name), {*spelled(name).split()}, words_of(name)
    return [one for one in people if keys & one.id_keys or (one.id_parts & parts and one.named <= words)]


def by_some_words(name: str, people: Iterable[Known]) -> list[Known]:
    """Who has this name with other middle names, titles, or a part that was cut off."""
    words, text = words_of(name), spelled(name)
    return [
        one
        for one in people
        if (min(len(words), len(one.words)) >= FEWEST and (words <= one.words or one.words <= words))
        or (len(text) >= SHORTEST and any(form.startswith(text) for form in one.forms))
    ]


STEPS = (by_name, by_letters, by_id, by_some_words)
SURE = (by_name, by_letters)  # steps that find the same letters


@dataclass(frozen=True)
class Match:
    """What a name finds. students: their ids; one, if it is found. sure: by the letters of the name alone. group: the
    group's name before it."""

    students: tuple[str, ...] = ()
    sure: bool = True
    group: str = ""


def match_all(names: dict[str, tuple[str, ...]], students: Iterable[Student]) -> dict[str, Match]:
    """Who each of several names is. names: all ways to read each, by what it is called.

    All are tried by the surest step first; who is found by it is no candidate for a weaker one. Where two names find
    one student, neither does.
    """
    people = [known(student) for student in students]
    matches: dict[str, Match] = {}
    for step in STEPS:
        left = {called: readings for called, readings in names.items() if called not in matches}
        taken = {one for match in matches.values() for one in match.students}
        free = [one for one in people if one.student not in taken]
        for called, readings in left.items():
            if found := {one.student for reading in readings for one in step(reading, free)}:
                matches[called] = Match(tuple(sorted(found)), step in SURE)
    left = {called: readings for called, readings in names.items() if called not in matches}
    taken = {one for match in matches.values() for one in match.students}
    return matches | in_groups(left, [one for one in people if one.student not in taken])


def in_groups(names: dict[str, tuple[str, ...]], people: list[Known]) -> dict[str, Match]:
    """Who stands behind the name of a group, as Moodle wrote it up to version 4.0: `GROUP-FULL NAME`, for each member.

    A double name looks like it. So a group must be that of two names at least.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for called, readings in names.items():
        for reading in readings:
            for dash in re.finditer("-", reading):
                rest = reading[dash.end() :]
                members = {one.student for step in SURE for one in step(rest, people)} if " " in rest.strip() else set()
                if len(members) == 1:
                    found[reading[: dash.start()]][called] = members.pop()
    return {
        called: Match((student,), group=group)
        for group, members in found.items()
        if len({*members.values()}) > 1
        for called, student in members.items()
    }
