"""A lab in JupyterLab, as a student has it before the eyes: contents, progress, feedback, figures, the stop button."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from example_labs import lab_of_the_story
from notebook_page import LONG, NotebookPage
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.timeout(900), pytest.mark.alone]

CHECKS = ["partial_sum", "parallel_pi", "parallel_pi_torch", "parallel_pi_horovod"]
# Rank 0 does not take part, and nothing gives up on the others for ten minutes.
HANGS = """\
world.stall = 600


def lonely(comm):
    if comm.rank > 0:
        comm.allreduce(1)


world.run(lonely, COMM, deadline=600)"""
DEADLOCK = """\
def parallel_pi(comm, intervals: int) -> float:
    share = partial_sum(f, intervals, comm.rank, comm.size)
    if comm.rank > 0:
        share = comm.allreduce(share)
    return share"""
LAB = lab_of_the_story("03_pi_allreduce")
# What we make ourselves: results of checks, and figures.
OURS = '.jp-Notebook .jp-OutputArea-output[data-mime-type="text/html"]'


def test_the_table_of_contents_is_open_and_lists_the_sections_of_the_lab(lab_page: NotebookPage, screenshot) -> None:
    contents = lab_page.page.get_by_role("region", name="Table of Contents")
    expect(contents).to_be_visible()
    entries = contents.locator(".jp-tocItem-content")
    expect(entries.first).to_have_text("03 Pi on several ranks")
    titles = entries.all_text_contents()
    assert "1. Your share" in titles and titles[-1] == "Two questions"
    screenshot(lab_page.page, "lab-opened")
    lab_page.page.get_by_role("tab", name="File Browser").click()
    expect(contents).to_be_hidden()
    lab_page.page.get_by_role("tab", name="Table of Contents").click()


@pytest.mark.parametrize("time_round", ["first", "second"])
def test_restart_and_run_all_goes_through_a_solved_lab(lab_page: NotebookPage, time_round: str) -> None:
    lab_page.restart_and_run_all()
    expect(lab_page.page.locator('.jp-Notebook [data-mime-type="application/vnd.jupyter.error"]')).to_have_count(0)
    notes = lab_page.notes()
    assert not [note for note in notes if "Traceback" in note or "Error" in note]
    bar = next(i for i, note in enumerate(notes) if re.match(r"Starting 4 MPI ranks: .* 0/4 ready", note))
    ready = next(i for i, note in enumerate(notes) if note.startswith("4 ranks ready: "))
    assert bar < ready
    for todo in CHECKS:
        working = next(i for i, note in enumerate(notes) if note.startswith(f"Checking {todo}"))
        passed = next(i for i, note in enumerate(notes) if f"{todo}: passed, 3 of 3 points" in note)
        assert working < passed
    # Progress is gone when it is over.
    shown = " ".join(lab_page.page.locator(".jp-Notebook .jp-OutputArea-output").all_text_contents())
    assert "4 ranks ready" in shown
    assert "Starting" not in shown and "Checking" not in shown


def test_a_world_that_starts_shows_a_bar_within_a_second(lab_page: NotebookPage) -> None:
    cell, began = lab_page.new_cell("another = World(2)")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text(re.compile("2 ranks ready: "), timeout=LONG)
    assert lab_page.noted("Starting 2 MPI ranks: ") - began < 1
    assert cell.locator(".jp-OutputArea-output").inner_text().strip().startswith("2 ranks ready")
    lab_page.result_of("another.stop()")


def test_the_stop_button_frees_a_hung_cell_at_once_and_tells_where_each_rank_stood(lab_page, screenshot) -> None:
    cell, _ = lab_page.new_cell(HANGS)
    lab_page.page.wait_for_timeout(2000)
    assert "*" in cell.locator(".jp-InputPrompt").inner_text()
    began = time.monotonic()
    lab_page.page.get_by_role("button", name="Interrupt the kernel").click()
    lab_page.wait_for_end(cell)
    assert time.monotonic() - began < 3
    screenshot(lab_page.page, "lab-interrupted")
    said = cell.locator(".jp-OutputArea-output").inner_text()
    assert said.startswith("Interrupted: stopped by you")
    assert "rank 0  returned without communicating" in said
    assert "ranks 1-3  wait in comm.allreduce, cell line 6:  comm.allreduce(1)" in said
    assert "Traceback" not in said and "KeyboardInterrupt" not in said
    following = lab_page.result_of("world.run(lambda comm: comm.allreduce(1), COMM)")
    expect(following.locator(".jp-OutputArea-output").last).to_have_text("[4, 4, 4, 4]")


def test_who_presses_stop_three_times_gets_the_report_and_a_world_that_works_too(lab_page: NotebookPage) -> None:
    cell, _ = lab_page.new_cell(HANGS)
    lab_page.page.wait_for_timeout(2000)
    stop = lab_page.page.get_by_role("button", name="Interrupt the kernel")
    for _ in range(3):
        stop.click()
    lab_page.wait_for_end(cell)
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text("ranks 1-3  wait in comm.allreduce, cell line 6")
    following = lab_page.result_of("world.run(lambda comm: comm.allreduce(1), COMM)")
    expect(following.locator(".jp-OutputArea-output").last).to_have_text("[4, 4, 4, 4]")


def test_feedback_and_figures_are_accessible_in_light_and_dark(
    lab_page: NotebookPage, screenshot: Callable[[Page, str], None]
) -> None:
    numbers = lab_page.result_of(DEADLOCK).locator(".cm-lineNumbers .cm-gutterElement").all_text_contents()
    assert numbers[-5:] == ["1", "2", "3", "4", "5"], "a report says in which line a rank stands"
    screenshot(lab_page.page, "line-numbers")
    cell = lab_page.result_of('world.stall = 3\ncheck("parallel_pi")')
    result = cell.get_by_role("status", name="Result of the check of parallel_pi")
    expect(result.get_by_role("heading", name="parallel_pi: not yet, 0 of 3 points")).to_be_visible()
    above = result.get_by_role("list").first
    expect(above).to_contain_text("Rank 0 never makes the call that ranks 1, 2 and 3 wait in")
    expect(result.get_by_role("listitem").filter(has_text="not judged: the run broke off")).to_have_count(3)
    expect(result.get_by_role("group", name="What each rank did")).to_contain_text("ranks 1-3  wait in comm.allreduce")
    lab_page.result_of("def parallel_pi(comm, intervals):\n    raise NotImplementedError()")
    undone = lab_page.result_of('check("parallel_pi")')
    result = undone.get_by_role("status", name="Result of the check of parallel_pi")
    expect(result.get_by_role("heading", name="parallel_pi: not started, 3 points")).to_be_visible()
    expect(result).to_contain_text('check.hint("parallel_pi"), in a new cell, shows the first of 3 hints')
    hint = lab_page.result_of('check.hint("parallel_pi")')
    expect(hint.locator(".jp-RenderedMarkdown")).to_contain_text("Hint 1 of 3, a question.")
    failed = lab_page.page.get_by_role("status").filter(has_text="parallel_pi: not yet, 0 of 3 points").last
    images = lab_page.page.locator(f"{OURS} img")
    for image in images.all():
        assert len(image.get_attribute("alt")) > 20
        natural, shown = image.evaluate("image => [image.naturalWidth, image.width]")
        assert natural >= 2 * shown, "sharp on a screen with two dots for one"
    # axe takes all for hidden that lies outside of the body, which in JupyterLab has no height.
    lab_page.page.evaluate("document.body.style.overflow = 'visible'")
    for theme in "Light", "Dark":
        lab_page.menu("Settings", "Theme", f"JupyterLab {theme}")
        expect(lab_page.page.locator(f'body[data-jp-theme-light="{str(theme == "Light").lower()}"]')).to_have_count(1)
        expect(lab_page.page.locator("#jupyterlab-splash")).to_have_count(0)  # it lies over all for a moment
        hint.scroll_into_view_if_needed()
        screenshot(lab_page.page, f"lab-hint-{theme.lower()}")
        # In the middle: axe cannot tell the contrast of what is half under the toolbar.
        failed.evaluate("status => status.scrollIntoView({block: 'center'})")
        screenshot(lab_page.page, f"lab-feedback-{theme.lower()}")
        found = Axe().run(lab_page.page, context={"include": [[OURS]]}, options={}).response
        assert found["violations"] == []
        checked = {rule["id"]: [node["html"] for node in rule["nodes"]] for rule in found["passes"]}
        shown = lab_page.page.locator(f"{OURS} img:visible")
        assert len(checked["image-alt"]) == shown.count() > 3
        assert shown.count() < images.count(), "a timeline has an image for each theme"
        contrasts = "".join(checked["color-contrast"])
        for part in 'role="heading"', "each rank evaluates its own share", "not judged: ", "<small", "<pre":
            assert part in contrasts
