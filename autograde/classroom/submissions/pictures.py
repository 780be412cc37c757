"""Puts pictures into a page of feedback or of the formgrader, so that each page has all that it shows.

A notebook refers to its own attachments, and to files that lie beside it. Neither can a page fetch once it is given
back. So a picture becomes part of the page; where one is not there, or is on another site, the page says so.
"""

from __future__ import annotations

import base64
import html
import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from autograde.classroom.submissions.attachments import KINDS, plain, sound
from course.exchange.limits import MAX_PICTURE, MAX_PICTURES
from course.files import Unreadable, read_plain

# Bounded, as a text may begin with `<img` thousands of times and never end it.
IMAGE = re.compile(r"""<img\b(?:[^<>"']|"[^"<>]{0,4000}"|'[^'<>]{0,4000}'){0,200}?>""", re.IGNORECASE)
SOURCE = re.compile(r"""(\ssrc\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)


def with_pictures(page: str, attachments: object, folder: Path | None, own: bool) -> str:
    """HTML with its pictures in it.

    attachments: of the cell. folder: where the notebook is; None: nowhere. own: it is a student's, so that what cannot
    be shown is told; else it is left as it is.
    """
    known = {plain(name): bundle for name, bundle in attachments.items()} if isinstance(attachments, Mapping) else {}
    room = MAX_PICTURES

    def embedded(match: re.Match[str]) -> str:
        nonlocal room
        tag = match[0]
        if (found := SOURCE.search(tag)) is None:
            return tag
        address = html.unescape(found[2].strip("\"'")).strip()
        data, why = picture(address, known, folder)
        if data and len(data) <= room:
            room -= len(data)
            return f'{tag[: found.start()]}{found[1]}"{data}"{tag[found.end() :]}'
        why = "there are too many pictures on this page" if data else why
        return missing(address, why) if why and own else tag  # the address could be one that does something

    return IMAGE.sub(embedded, page)


def picture(address: str, attachments: Mapping[str, object], folder: Path | None) -> tuple[str, str]:
    """The picture at an address as a `data:` address, and why there is none; both empty where it is one already."""
    if address.startswith("data:"):
        return "", ""
    if address.startswith("attachment:"):
        name = plain(address.removeprefix("attachment:"))
        found = sound(attachments.get(name))
        return next((f"data:{kind};base64,{data}" for kind, data in found.items()), ""), "it is not in the notebook"
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", "this is no address"
    if parts.netloc or parts.scheme not in ("", "file"):
        return "", "it is on another site, which this page does not ask"
    if folder is None:
        return "", "it is not in the notebook"
    where = Path(unquote(parts.path).replace("\\", "/"))
    kind = mimetypes.guess_type(where.name)[0]
    if parts.scheme or where.is_absolute() or ".." in where.parts:
        return "", "it is not beside the notebook"
    if kind not in KINDS:
        return "", "it is no picture that browsers show"
    try:
        content = read_plain(folder / where, MAX_PICTURE)
    except Unreadable as error:
        return "", str(error)
    except (OSError, ValueError):
        return "", "it was not handed in with the notebook"
    return f"data:{kind};base64,{base64.b64encode(content).decode()}", ""


def missing(address: str, why: str) -> str:
    """What stands beside a picture that is not shown."""
    shown = address if len(address) <= 100 else f"{address[:100]}…"
    return f"<mark>[The picture <code>{html.escape(shown)}</code> is not shown: {html.escape(why)}.]</mark>"
