"""Names of files in archives, as other programs write them.

Only a flag says that a name is UTF-8. Without it, the name is in the code page of whoever packed it: a Mac writes UTF-8
all the same, Windows the code page of its language and, in older programs, `\\` between folders. Info-ZIP and 7-Zip add
the name in UTF-8 to what they write in a code page.
    PKWARE, .ZIP File Format Specification 6.3.10: 4.4.4 (bit 11), 4.6.9 (Info-ZIP Unicode Path Extra Field)
"""

from __future__ import annotations

import os
import struct
import zlib
from zipfile import ZipInfo

UTF8 = 0x800  # the flag
UNICODE_PATH = 0x7075  # the extra field
# Western and Central Europe (of Windows' Explorer, then of other programs), Cyrillic, Chinese, Japanese, Korean.
CODE_PAGES = ("cp850", "cp437", "cp1252", "cp852", "cp1250", "cp866", "gbk", "cp932", "cp949")
NO_WORK = ("__MACOSX", ".")  # how the names of folders and files begin that a Mac or an editor adds


def names_of(member: ZipInfo) -> tuple[str, ...]:
    """How the name of a file in an archive may be read, the likeliest first, with `/` between its folders."""
    if member.flag_bits & UTF8:
        found: tuple[str, ...] = (member.filename,)
    else:
        raw = member.filename.encode("cp437")  # what Python has read it as
        extra = unicode_path(member.extra, raw)
        found = (extra,) if extra else read_as(raw)
    return tuple(name.replace("\\", "/") for name in found)


def names_of_unpacked(name: str) -> tuple[str, ...]:
    """The same of a file that some program has unpacked, which may have read the name in another code page."""
    try:
        return (name, *read_as(name.encode("cp437"))) if not name.isascii() else (name,)
    except UnicodeEncodeError:
        return read_as(os.fsencode(name))


def read_as(raw: bytes) -> tuple[str, ...]:
    """How bytes may be read: as UTF-8 if they are that, else in each code page that has them."""
    try:
        return (raw.decode(),)
    except UnicodeDecodeError:
        pass
    found = []
    for page in CODE_PAGES:
        try:
            found.append(raw.decode(page))
        except UnicodeDecodeError:
            continue
    return tuple(dict.fromkeys(found))


def unicode_path(extra: bytes, raw: bytes) -> str | None:
    """The name in UTF-8 that goes with the name `raw`, from a file's extra fields; None if there is none."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        content, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == UNICODE_PATH and len(content) > 5 and struct.unpack_from("<L", content, 1)[0] == zlib.crc32(raw):
            try:
                return content[5:].decode()
            except UnicodeDecodeError:
                return None
    return None


def is_work(name: str) -> bool:
    """Whether a file in an archive is somebody's work, and nothing that a program has put beside it."""
    return not any(part.startswith(NO_WORK) for part in name.split("/") if part not in (".", ".."))
