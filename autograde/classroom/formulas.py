"""Draws formulas in feedback and in the formgrader as MathML, which browsers show without a script and a network.

nbconvert leaves formulas as TeX, to a MathJax that the page loads from another host. configuration.py puts
`markdown_to_html` in the place of nbconvert's filter, and templates/offline.html.j2 in the place of its template.
"""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from jinja2 import pass_context
from jinja2.runtime import Context
from latex2mathml.converter import convert_to_element
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

MATHJAX = re.compile("<!-- Load mathjax -->.*<!-- End of mathjax configuration -->", re.DOTALL)
# Nor may anything else ask another host, such as a picture in a student's answer. The formgrader's scripts use eval.
POLICY = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'"
# Fonts for formulas, of Windows, macOS, TeX and Debian: Chromium on Linux does not look for one.
FONTS = '"Cambria Math", "STIX Two Math", "Latin Modern Math", "DejaVu Math TeX Gyre", math'
HEAD = f'''<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<style>math {{ font-family: {FONTS}; }}</style>'''


def without_mathjax(head: str) -> str:
    """The head of a page with formulas in MathML, which loads nothing from other hosts: browsers see to that."""
    return MATHJAX.sub(HEAD, head)


@pass_context
def markdown_to_html(context: Context, source: str) -> str:
    """HTML of a Markdown cell. context: of the template; its `cell`, if it has one, brings the attachments."""
    attachments = context.get("cell", {}).get("attachments", {})
    return MarkdownWithMath(renderer=MathMLRenderer(escape=False, attachments=attachments)).render(source)


class MathMLRenderer(IPythonRenderer):
    """nbconvert's renderer of Markdown, with formulas as MathML."""

    def block_math(self, body: str) -> str:
        """A formula on lines of its own."""
        return mathml(body, "block")

    def inline_math(self, body: str) -> str:
        """A formula in a line of text."""
        return mathml(body, "inline")

    def latex_environment(self, name: str, body: str) -> str:
        r"""A formula between \begin and \end."""
        return mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", "block")


def mathml(tex: str, display: str) -> str:
    """A formula as MathML. display: "block" or "inline". What cannot be read as TeX is shown as it was written."""
    try:
        formula = convert_to_element(tex, display=display)
        for element in formula.iter():  # its texts are partly escaped already, and not where students could do harm
            element.text = element.text and html.unescape(element.text)
        return ElementTree.tostring(formula, encoding="unicode")
    except Exception:  # a student's text may be anything, and the library's errors have no class in common
        return f"<code>{html.escape(tex)}</code>"
