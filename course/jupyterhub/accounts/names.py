"""Account names as `getpwnam` knows them: LDAP and Active Directory have digits, capitals, `@` and more.

A name becomes part of a file's name in nbgrader's exchange, STUDENT+LAB+TIME, and of arguments as STUDENT=NAME.
"""

from __future__ import annotations

import pwd
import re
from unicodedata import normalize

# What nbgrader's exchange, a folder's name or /etc/passwd cannot carry.
IMPOSSIBLE = re.compile(r"[-.]|.*[+/:=\s]")
LONGEST = 120  # bytes: a file's name has 255, and what the exchange adds takes up to 130
EXPECTED = "a name has no +, /, :, = or white space, begins with neither - nor ., and has at most 120 letters"


def possible(name: str) -> bool:
    """Whether there can be an account of this name that hands in through the exchange."""
    fits = bool(name) and name.isprintable() and len(name.encode()) <= LONGEST
    return fits and not IMPOSSIBLE.match(name)


def account_name(name: str) -> str:
    """The name that an account's files carry: a directory may know `Ada@UNI.example` as `ada@uni.example`.

    A name without an account stays as it is, in Unicode's NFC.
    """
    name = normalize("NFC", name)
    try:
        return pwd.getpwuid(pwd.getpwnam(name).pw_uid).pw_name
    except KeyError:
        return name
