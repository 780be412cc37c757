"""What a student wrote in Markdown does nothing in the browser of who reads it, though raw HTML is part of Markdown.

Of HTML stays what formats a text. Scripts and handlers go; so do ids, and classes other than those of coloured code, by
which the formgrader's own scripts would take a text for one of its fields or buttons.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from bleach import Cleaner
from bleach.css_sanitizer import CSSSanitizer

TAGS = {
    *("a", "abbr", "b", "blockquote", "br", "caption", "center", "code", "col", "colgroup", "dd", "del", "details"),
    *("div", "dl", "dt", "em", "figcaption", "figure", "font", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img"),
    *("ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "s", "samp", "small", "span", "strike", "strong", "sub"),
    *("summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "tt", "u", "ul", "var"),
}
ANYWHERE = {"title", "align", "style", "dir", "lang"}
OF_TAG = {
    "a": {"href"},
    "col": {"span", "width"},
    "font": {"color", "size"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start", "type"},
    "table": {"border", "cellpadding", "cellspacing", "width"},
    "td": {"colspan", "rowspan", "valign", "width"},
    "th": {"colspan", "rowspan", "valign", "width", "scope"},
}
STYLES = [
    "background-color",
    "border",
    "color",
    "font-size",
    "font-style",
    "font-weight",
    "height",
    "margin",
    "padding",
]
STYLES += ["text-align", "text-decoration", "vertical-align", "width"]
COLOURED = re.compile(r"highlight|language-[\w+#-]+|[a-z][a-z0-9]{0,2}")  # classes of pygments and of fenced code
WORDLESS = re.compile(r"<img(?![^<>]* alt=)")  # a picture without words for who cannot see it
LEADING = {"", "http", "https", "mailto"}  # protocols of links; a picture that cannot be shown is named by its address
PROTOCOLS = {"http", "https", "mailto", "attachment", "data", "file", "ftp"}


def sanitised(page: str, mark: str = "") -> str:
    """HTML without what does more than format a text. mark: an attribute that `span` may have besides."""

    def allowed(tag: str, name: str, value: str) -> bool:
        if name == "class":
            return COLOURED.fullmatch(value) is not None
        if (tag, name) == ("img", "src"):
            return not value.lower().startswith("data:") or value.lower().startswith("data:image/")
        if (tag, name) == ("a", "href"):
            return scheme(value) in LEADING
        return name in ANYWHERE or name in OF_TAG.get(tag, ()) or (tag, name) == ("span", mark)

    styles = CSSSanitizer(allowed_css_properties=STYLES)
    cleaner = Cleaner(tags=TAGS, attributes=allowed, protocols=PROTOCOLS, strip=True, css_sanitizer=styles)
    return WORDLESS.sub('<img alt=""', cleaner.clean(page))


def scheme(address: str) -> str:
    """The scheme of an address; empty for one without, or that cannot be read."""
    try:
        return urlsplit(address).scheme.lower()
    except ValueError:
        return ""
