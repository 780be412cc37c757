"""What a student wrote formats a text, and does nothing else in the browser of who reads it."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_markdown_cell

from autograde.classroom.submissions.rebuild import PROBLEMS
from autograde.classroom.texts.formulas import MOST_MARKS, UNREAD, markdown_to_html, without_mathjax

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HARMFUL = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <IMG SRC=x OnError='alert(1)'> b",
    "[press](javascript:alert(1))",
    '<a href="java&#10;script:alert(1)">press</a>',
    '<a href="data:text/html,<script>alert(1)</script>">press</a>',
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)>",
    "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    '<button class="full-credit" id="why-comment">press</button>',
    '<span class="full-credit">press</span> <input class="score" id="why">',
    "# why-comment\n\ntext",
    "<style>body { display: none }</style><p style='position: fixed; inset: 0'>all</p>",
    "<form action='/formgrader/api'><button>press</button></form>",
    '![$\\text{" onerror=alert(1) x="}$](x.png)',
    "$\\text{<img src=x onerror=alert(1)>}$",
    "```html\n<script>alert(1)</script>\n```",
    '<img src="data:text/html,x" alt="$a$" onerror="alert(1)">',
    "<meta http-equiv=refresh content='0; url=https://elsewhere.example'><base href='https://elsewhere.example'>",
]


def shown(text: str, **about: object) -> BeautifulSoup:
    """A student's answer as a page shows it."""
    cell = new_markdown_cell(text, metadata={"nbgrader": {"solution": True}}, **about)
    return BeautifulSoup(markdown_to_html({"cell": cell}, text), "html.parser")


@pytest.mark.parametrize("text", HARMFUL)
def test_nothing_that_acts_is_on_the_page(text):
    page = shown(text)
    acting = ["script", "style", "iframe", "svg", "form", "input", "button", "object", "embed", "meta", "base", "link"]
    assert not page(acting)
    for tag in page(True):
        assert not [name for name in tag.attrs if name.startswith("on") or name in ("id", "srcdoc", "action", "name")]
        assert "position" not in tag.get("style", "")
        assert tag.get("href", "").split(":")[0] not in ("javascript", "java\nscript", "data")
        assert not {"full-credit", "score", "comment"} & {*tag.get("class", [])}


def test_what_formats_a_text_stays():
    text = (
        "# Two\n\n*So* $x^2$ and\n\n$$\\frac{1}{N}$$\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n- [x] done\n- [ ] not\n\n"
        '<details><summary>More</summary>\n\n<span style="color: red">red</span>, H<sub>2</sub>O\n\n</details>\n\n'
        f"```python\ndef f():\n    return 1\n```\n\n![drawn $x$](data:image/png;base64,{PNG})"
        " <img src='attachment:a.png' width=9>"
        " [site](https://example.org) a < b & c"
    )
    page = shown(text, attachments={"a.png": {"image/png": PNG}})
    assert page.h1.get_text() == "Two" and page.em.get_text() == "So"
    assert [each["display"] for each in page("math")] == ["inline", "block"]
    assert page("td")[1].get_text() == "2" and "right" in page("td")[1]["style"]
    assert [each.get_text().strip() for each in page("li")] == ["☑ done", "☐ not"]
    assert page.details.summary.get_text() == "More" and page.details.span["style"].startswith("color: red")
    assert page.sub.get_text() == "2" and page.select(".highlight .k")[0].get_text() == "def"
    assert [each["src"] for each in page("img")] == [f"data:image/png;base64,{PNG}"] * 2
    assert page.img["alt"] == "drawn x" and page("img")[1]["width"] == "9"
    assert page.a["href"] == "https://example.org" and "a < b & c" in page.get_text()


@pytest.mark.parametrize("address", ["/hub/logout", "https://elsewhere.example/seen.png", "//elsewhere.example/a"])
def test_no_address_is_asked_by_a_picture_that_is_not_shown(address):
    page = shown(f"![a]({address}) <img src='{address}'>")
    assert not page("img") and len(page("mark")) == 2


def test_a_labs_own_text_stays_as_it_is_and_the_list_of_problems_does_not():
    video = '<video id="film" src="film.mp4"></video>'
    assert video in markdown_to_html({"cell": new_markdown_cell(video)}, video)
    listed = new_markdown_cell("* `a<script>alert(1)</script>.ipynb`\n* <img src=x onerror=alert(1)>", id=PROBLEMS)
    page = BeautifulSoup(markdown_to_html({"cell": listed}, listed.source), "html.parser")
    assert not page("script") and page.code.get_text() == "a<script>alert(1)</script>.ipynb"
    assert "onerror" not in page.img.attrs


@pytest.mark.parametrize("mark", ["<b>", "> ", 'a"', "&", "a=b ", "| "])
def test_a_text_that_would_take_minutes_to_read_is_shown_as_it_was_written(mark):
    text = mark * (MOST_MARKS + 1)
    page = shown(text)
    assert UNREAD in page.get_text() and page.pre.get_text() == text


def test_no_script_runs_in_feedback():
    head = "<!-- Load mathjax -->x<!-- End of mathjax configuration -->"
    assert "script-src 'sha256-" in without_mathjax(head, scripts=False)
    assert "script-src" not in without_mathjax(head)
