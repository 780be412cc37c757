"""What can be checked of a finding's grammar: its message is read by a student, filled in with numbers and names."""

from __future__ import annotations

import re

# Nouns, which have an s where they are many.
ONE = "midpoint|rank|round|sample|message|call|byte|epoch|file|node|gradient|parameter|token|collective|step|row|time"
SINGLE = f"{ONE}|batch|process"
FAULTS = {
    "an escape code": r"\x1b|\[\d+m",
    "a rank below 0": r"\b[Rr]anks? -\d",
    "one of many": rf"(?<![\d.,/*^+=-])(?<!ank )(?<!anks )(?<!and )(?<!or )\b1 (?:(?:{ONE})s|batches|processes)\b",
    "many of one": (
        rf"(?<!ank )(?<!anks )(?<!\d and )(?<!\w-)(?<![\d.,/-])\b(?:[2-9]|[1-9]\d+) (?:{SINGLE})\b"
        r"(?![-'’=`(]| \w{3,}s\b)"  # "4 collective calls", "ranks 2 and 3 call"
    ),
    "a before a vowel": r"\ba (?!and\b|one\b|once\b)(?=[aeio]\w\w)|\ba (?=[AEIO][a-z])",
    "an before a consonant": r"\ban (?=[bcdfgjkpqtvwyz][a-z])",
    "two spaces, or a space before a mark": r"  | [,;:.?!](?:\s|$)",
    "a word twice": r"\b([Tt]he|[Aa]n?|of|is|to|in|on|and|are) \1\b|\bThe the\b|\bA a\b",
    "one verb for many": r"(?<!\bo[nf] )(?<!\bby )(?<!\bfrom )\b[Rr]anks (?:\d+, )*\d+ and \d+ (?:does|is|has|was)\b",
    "a capital after but": r"\bbut R(?:ank|anks)\b",
    "a field without a value": r"\{\w+\}|\b(?:[Rr]anks?|steps?|lines?|epochs?) None\b",
}
ERROR = r"\b\w*(?:Error|Exception|Exit|Interrupt|Warning|Failed)\b"
END = re.compile(rf"[.?!:…`)\]”\"']$|: {ERROR}")


def faults(message: str) -> list[str]:
    """What is wrong with a message, each with the words around it. Code between backticks is not read, nor what follows
    the name of an exception, whose text is another's."""
    prose = re.sub(rf"({ERROR}):.*", r"\1", re.sub(r"`[^`]*`", "`x`", message))
    found = [
        f"{name}: …{prose[max(0, match.start() - 30) : match.end() + 30]}…"
        for name, pattern in FAULTS.items()
        for match in re.finditer(pattern, prose)
    ]
    if not END.search(message.rstrip()):
        found.append(f"no end: …{message[-40:]}")
    if re.match(r"[a-z]{3,}\s", message):
        found.append(f"no capital: {message[:40]}…")
    return found
