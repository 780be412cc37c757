"""Pictures in an answer in words, as a notebook keeps them beside the text.

JupyterLab makes an attachment of a picture that is pasted or dragged into a Markdown cell; the text refers to it as
`![](attachment:NAME)`. Others, such as Colab, put the picture into the text, as a `data:` address, which is made an
attachment here. All of it was handed in, and is not trusted: what is no picture is left out, and named.
"""

from __future__ import annotations

import base64
import binascii
import re
from itertools import islice
from unicodedata import normalize
from urllib.parse import quote, unquote

from autograde.cells.handed_in import MAX_SOURCE, Submitted
from autograde.contract.show import quoted
from course.exchange.limits import MAX_PICTURE, megabytes

# What browsers show. They run no script in an SVG that is shown as a picture, and let it load nothing.
KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/svg+xml")
MOST_PICTURES = 500  # attachments of a cell that are looked at

IN_TEXT = re.compile(r"data:(image/[a-z+.-]{1,30});base64,([A-Za-z0-9+/]+={0,2})")
NO_PICTURE = "it is no picture that browsers show"
TOO_MUCH = f"the answer's pictures have more than {megabytes(MAX_PICTURE)}"


def pictures_of(parts: list[Submitted]) -> tuple[str, dict[str, dict[str, str]], list[str]]:
    """The text of an answer, its attachments, and what is wrong with these, a phrase each.

    parts: the answer's cells, which have text. Those attachments are taken to which the text refers. Raises nothing
    for what is in them.
    """
    texts: list[str] = []
    taken: dict[str, dict[str, str]] = {}
    problems: list[str] = []
    room = MAX_PICTURE
    for part in parts:
        text, found = moved_out(part.source or "", part.attachments if isinstance(part.attachments, dict) else {})
        for name, bundle in found.items():
            picture = sound(bundle)
            size = sum(map(len, picture.values()))
            if not picture or size > room:
                problems.append(f"picture {quoted(name)} is left out: {TOO_MUCH if picture else NO_PICTURE}")
                continue
            ours = readable(name)
            if taken.get(ours, picture) != picture:  # some programs call each picture image.png
                ours = f"{len(taken) + 1}-{re.sub(r'[^A-Za-z0-9.-]', '-', ours)}"
                text = renamed(text, name, ours)
            if ours not in taken:
                room -= size
            taken[ours] = picture
        texts.append(text)
    return "\n\n".join(texts), taken, problems


def moved_out(text: str, attachments: dict) -> tuple[str, dict[str, object]]:
    """A text with its `data:` pictures made attachments, and the attachments to which it refers, unchecked."""
    found: dict[str, object] = {}

    def moved(match: re.Match[str]) -> str:
        name = f"in-the-text-{len(found) + 1}"
        found[name] = {match[1]: match[2]}
        return f"attachment:{name}"

    text = IN_TEXT.sub(moved, text)
    known = plain(text[:MAX_SOURCE])
    for name, bundle in islice(attachments.items(), MOST_PICTURES):
        if f"attachment:{plain(name)}" in known:
            found.setdefault(name, bundle)
    return text, found


def sound(bundle: object) -> dict[str, str]:
    """The picture in an attachment, by its kind, in base64; empty if there is none."""
    for kind in KINDS if isinstance(bundle, dict) else ():
        data = bundle.get(kind)
        if isinstance(data, list) and all(isinstance(line, str) for line in data):
            data = "".join(data)
        if isinstance(data, str) and (data := "".join(data.split())) and is_base64(data):
            return {kind: data}
    return {}


def is_base64(data: str) -> bool:
    """Whether this is base64."""
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False


def renamed(text: str, name: str, new: str) -> str:
    """A text that refers to an attachment by a new name."""
    spellings = "|".join(re.escape(each) for each in {name, quote(name), quote(name, safe="!'()*")})
    return re.sub(rf"attachment:(?:{spellings})(?=[\s)\"'>]|$)", f"attachment:{new}", text)


def plain(name: str) -> str:
    """An attachment's name however it is written: in a text, some letters are %-encoded."""
    return normalize("NFC", readable(unquote(name)))


def readable(text: str) -> str:
    """A text without half surrogate pairs, which a file cannot have."""
    return text.encode("utf-8", "replace").decode()
