"""What heads a check's result in feedback, and what stands below it."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from labs_under_test import COURSE
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.converters import GenerateFeedback

from autograde.classroom.configuration import configuration
from autograde.classroom.nbgrader_steps import outputs
from autograde.contract.result import Result, Row
from autograde.sandbox.examine import Marked
from course.exchange.handed_in.given import SCORE

MARKS = {"schema_version": 3, "locked": False, "task": False}


def check_cell(todo: str) -> dict:
    """The check of a TODO that has passed, as a grading leaves it."""
    marks = {"grade_id": f"{todo}-check", "grade": True, "solution": False, "score": 1.5, "points": 1.5, **MARKS}
    shown = outputs(Marked(todo, 1.5, Result(todo, 1.5, 1.5, [], [Row("value", "it is right", 1.5, "holds")])))
    return new_code_cell(f'check("{todo}")', metadata={"nbgrader": marks}, outputs=shown)


def feedback_html() -> str:
    """Feedback on two checks, a text with a wide formula, and a given cell with a value."""
    marks = {"grade_id": "why", "grade": True, "solution": True, "score": 1, "points": 2, "comment": "Well.", **MARKS}
    given = new_code_cell("6 * 7")
    given.outputs = [new_output("execute_result", data={"text/plain": "42"})]
    cells = [
        check_cell("partial_sum"),
        check_cell("parallel_pi"),
        new_markdown_cell(f"So.\n\n$${'x + ' * 60}y$$", metadata={"nbgrader": marks}),
        given,
    ]
    config = configuration(COURSE)
    config.HTMLExporter.template_name = "feedback"
    config = GenerateFeedback(config=config).config
    about = {"notebook": "03", "score": 4.0, "max_score": 5.0, "late_penalty": 0.0}
    page, _ = HTMLExporter(config=config).from_notebook_node(new_notebook(cells=cells), {"nbgrader": about})
    return page


def feedback_page() -> BeautifulSoup:
    """The same, parsed."""
    return BeautifulSoup(feedback_html(), "html.parser")


@pytest.mark.parametrize(("scheme", "width"), [("dark", 390), ("light", 390)])
def test_the_page_is_dark_in_a_dark_theme_and_a_wide_formula_scrolls_by_itself(browser, tmp_path, scheme, width):
    (tmp_path / "page.html").write_text(feedback_html())
    with browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}) as context:
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"dark": "rgb(13, 17, 23)", "light": "rgb(255, 255, 255)"}[scheme]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        rules = {"runOnly": ["color-contrast", "scrollable-region-focusable"]}
        assert Axe().run(page, options=rules).response["violations"] == []


def test_each_score_names_its_todo_and_no_score_stands_below_it() -> None:
    page = feedback_page()
    assert page.html["lang"] == "en" and page.select_one("[role=navigation] #toc")
    listed = [" ".join(each.get_text().split()) for each in page.select("#toc li")]
    assert listed == [
        "partial_sum (Score: 1.5 / 1.5)",
        "parallel_pi (Score: 1.5 / 1.5)",
        "Written response why (Score: 1.0 / 2.0)",
        "Comment",
    ]
    assert [each["href"] for each in page.select("#toc li a")][:2] == ["#partial_sum-check", "#parallel_pi-check"]
    headings = [each.get_text() for each in page.select(".nbgrader-label")]
    assert headings == ["Check of partial_sum", "Check of parallel_pi", "Student's answer"]
    results = [each.get_text().strip() for each in page.select(".output_area")]
    assert [text.split(",")[0] for text in results[:2]] == ["✓ partial_sum: passed", "✓ parallel_pi: passed"]
    assert re.sub(r"\s", "", results[2]) == "Out[]:42", "a given cell keeps its value"
    assert len(results) == 3
    assert SCORE.search(str(page)).groups() == ("4.0", "5.0")
