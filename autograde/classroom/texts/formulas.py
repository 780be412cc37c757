"""Shows texts in feedback and in the formgrader: formulas as MathML, for which browsers need no script and no network.

nbconvert leaves formulas as TeX, to a MathJax that the page loads from another host, and raises for some of what
students write. configuration.py puts `markdown_to_html` in the place of nbconvert's filter, and
templates/offline.html.j2 in the place of its template.
"""

from __future__ import annotations

import contextlib
import html
import re
import secrets
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

from jinja2 import pass_context
from jinja2.runtime import Context
from latex2mathml.converter import convert_to_element
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath, MathBlockParser, MathInlineParser

from autograde.classroom.submissions.pictures import with_pictures
from autograde.classroom.submissions.rebuild import PROBLEMS
from autograde.classroom.texts.sanitised import sanitised

MATHJAX = re.compile("<!-- Load mathjax -->.*<!-- End of mathjax configuration -->", re.DOTALL)
# Nor may anything else ask another host, such as a picture in a student's answer. The formgrader's scripts use eval.
POLICY = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'"
WAY_BACK = (Path(__file__).parents[1] / "templates" / "way_back.js").read_text(encoding="utf-8")
OURS_ONLY = f"; script-src 'sha256-{b64encode(sha256(WAY_BACK.encode()).digest()).decode()}'"
# Fonts for formulas, of Windows, macOS, TeX and Debian: Chromium on Linux does not look for one.
FONTS = '"Cambria Math", "STIX Two Math", "Latin Modern Math", "DejaVu Math TeX Gyre", math'


def without_mathjax(head: str, scripts: bool = True) -> str:
    """The head of a page with formulas in MathML, which loads nothing from other hosts: browsers see to that.

    scripts: whether the page has some of its own. Feedback has none but a link back to a student's labs.
    """
    policy, script = (POLICY, "") if scripts else (POLICY + OURS_ONLY, f"<script>{WAY_BACK}</script>")
    ours = f'''<meta http-equiv="Content-Security-Policy" content="{policy}">
<style>math {{ font-family: {FONTS}; }}</style>{script}'''
    return MATHJAX.sub(lambda _: ours, head)


LONGEST = 5000  # characters of a formula; a longer one stays as it was written, as looking for its end takes too long
LONGEST_CODE = 20_000  # characters of code that is coloured, of which the time grows with the square
MOST_MARKS = 5000  # in a text, of what makes tags, attributes, entities and tables: with more, reading takes too long
UNREAD = "This text cannot be shown as Markdown. Here is what was written:"


@pass_context
def markdown_to_html(context: Context, source: str) -> str:
    """HTML of a Markdown cell, or of a comment on one. context: of the template. Raises nothing for what is written."""
    cell = context.get("cell") or {}
    folder = ((context.get("resources") or {}).get("metadata") or {}).get("path")
    own = bool((cell.get("metadata") or {}).get("nbgrader", {}).get("solution"))
    try:
        page = harmless(source) if own or cell.get("id") == PROBLEMS else rendered(source, MathMLRenderer(escape=False))
        return with_pictures(page, cell.get("attachments"), Path(folder) if folder else None, own)
    except Exception:  # a student's text may be anything, such as thousands of lists in each other
        return f"<p><mark>{UNREAD}</mark></p><pre>{html.escape(source)}</pre>"


def rendered(source: str, renderer: MathMLRenderer) -> str:
    """HTML of Markdown, with the raw HTML that is in it."""
    return MarkdownWithMath(renderer, Blocks(), Inlines(hard_wrap=False)).render(source)


def harmless(source: str) -> str:
    """HTML of Markdown that a student wrote, see `sanitised`. Formulas, which are our own, come in afterwards."""
    if sum(source.count(each) for each in '<>&"=|') > MOST_MARKS:
        return f"<p><mark>{UNREAD}</mark></p><pre>{html.escape(source)}</pre>"
    renderer = FormulasLater(escape=False, exclude_anchor_links=True)
    return renderer.with_formulas(sanitised(rendered(source, renderer), renderer.mark))


def code_to_html(source: str, language: str | None = None, metadata: dict | None = None) -> str:
    """HTML of a code cell, in colours if it is not too long. Raises nothing for what is written."""
    if len(source) <= LONGEST_CODE:
        with contextlib.suppress(Exception):
            return Highlight2HTML(pygments_lexer="ipython3")(source, language, metadata)
    return f'<div class="highlight"><pre>{html.escape(source)}</pre></div>'


def bounded(pattern: str) -> str:
    """A pattern of formulas that looks no further than `LONGEST` for a formula's end."""
    return pattern.replace(".*?", f".{{0,{LONGEST}}}?").replace(".+?", f".{{1,{LONGEST}}}?")


class Blocks(MathBlockParser):
    """nbconvert's parser, but it takes no time that grows with the square of a text's length."""

    SPECIFICATION = MathBlockParser.SPECIFICATION | {"multiline_math": bounded(MathBlockParser.MULTILINE_MATH)}


class Inlines(MathInlineParser):
    """nbconvert's parser of what is in a line, bounded as well."""

    SPECIFICATION = MathInlineParser.SPECIFICATION | {
        name: bounded(MathInlineParser.SPECIFICATION[name])
        for name in ("block_math_tex", "block_math_latex", "inline_math_tex", "inline_math_latex", "latex_environment")
    }


class MathMLRenderer(IPythonRenderer):
    """nbconvert's renderer of Markdown, with formulas as MathML. It leaves pictures to `with_pictures`."""

    def _embed_image_or_attachment(self, src: str) -> str:
        return src

    def block_code(self, code: str, info: str | None = None) -> str:
        """Code between fences, in colours if it is not too long."""
        return super().block_code(code, info if len(code) <= LONGEST else None)

    def block_math(self, body: str) -> str:
        """A formula on lines of its own."""
        return self.formula(body, "block")

    def inline_math(self, body: str) -> str:
        """A formula in a line of text."""
        return self.formula(body, "inline")

    def latex_environment(self, name: str, body: str) -> str:
        r"""A formula between \begin and \end."""
        return self.formula(rf"\begin{{{name}}}{body}\end{{{name}}}", "block")

    def formula(self, tex: str, display: str) -> str:
        """A formula. display: "block" or "inline"."""
        return mathml(tex, display)


class FormulasLater(MathMLRenderer):
    """The renderer, which leaves a place for each formula: a `span` with an attribute of a name that nobody guesses."""

    def __init__(self, **options: bool) -> None:
        super().__init__(**options)
        self.mark, self.formulas = f"data-{secrets.token_hex(8)}", []

    def formula(self, tex: str, display: str) -> str:
        """The place of a formula. Where no HTML can be, as in the words for a picture, what was written stays."""
        self.formulas.append(mathml(tex, display))
        return f'<span {self.mark}="{len(self.formulas) - 1}">{html.escape(tex)}</span>'

    def task_list_item(self, text: str, checked: bool = False) -> str:
        """An item of a list with boxes, which nobody can tick."""
        return f"<li>{'☑' if checked else '☐'} {text}</li>\n"

    def with_formulas(self, page: str) -> str:
        """The page with the formulas in their places."""
        place = re.compile(rf'<span {self.mark}="(\d+)">[^<>]*</span>')
        return place.sub(lambda found: self.formulas[int(found[1])], page)


def mathml(tex: str, display: str) -> str:
    """A formula as MathML. display: "block" or "inline". What cannot be read as TeX is shown as it was written."""
    try:
        formula = convert_to_element(tex, display=display)
        for element in formula.iter():  # its texts are partly escaped already, and not where students could do harm
            element.text = element.text and html.unescape(element.text)
        if display == "block":  # whoever has a narrow window and no mouse scrolls it by keys
            formula.set("tabindex", "0")
        return ElementTree.tostring(formula, encoding="unicode")
    except Exception:  # a student's text may be anything, and the library's errors have no class in common
        return f"<code>{html.escape(tex)}</code>"
