"""What people do on the hub's pages, as they do it: by what they read there."""

from __future__ import annotations

import re
import time

from playwright.sync_api import Locator, Page, Response, expect

START = 300_000  # ms for a server or a world to start, on a machine that does other things too
DONE = re.compile(r"\[\d+\]:")  # the prompt beside a cell that was run


def log_in(page: Page, hub: str, name: str, password: str) -> None:
    """Log in on the hub's page."""
    page.goto(f"{hub}/hub/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/hub/login" not in url, wait_until="commit")


def formgrader(page: Page, hub: str, course: str, lab: str) -> Locator:
    """Open a course's formgrader. Returns the row of a lab."""
    page.goto(f"{hub}/services/{course}/")
    row = page.locator("tr", has=page.get_by_text(lab, exact=True))
    expect(row).to_be_visible()
    return row


def press(page: Page, row: Locator, column: str) -> str:
    """Press the button in a column of the formgrader's table, and wait until it is done. Returns what it says."""
    row.locator(f"td.{column} a").click()
    done = page.get_by_role("dialog").filter(has=page.get_by_role("button", name="OK"))
    expect(done).to_be_visible(timeout=START)
    said = done.inner_text()
    done.get_by_role("button", name="OK").click()
    expect(done).to_be_hidden()
    return said


def submissions(page: Page, row: Locator) -> None:
    """Open the list of a lab's submissions from its row in the formgrader."""
    row.locator("td.num-submissions a").click()
    expect(page.get_by_role("heading", name="Manage Submissions")).to_be_visible()


def of_student(page: Page, name: str) -> Locator:
    """The row of a student's submission."""
    return page.locator("tr", has=page.get_by_text(name, exact=True))


def open_assignments(page: Page) -> None:
    """Open the Assignment List in a server's JupyterLab."""
    page.get_by_role("menuitem", name="Nbgrader").click(timeout=START)
    page.get_by_role("menuitem", name="Assignment List").click()
    expect(page.get_by_text("Released assignments")).to_be_visible()


def fetch(page: Page, lab: str) -> None:
    """Fetch a lab in the Assignment List."""
    row = page.locator("#released_assignments_list .list_item", has_text=lab)
    row.get_by_role("button", name="Fetch").click()
    expect(page.locator("#fetched_assignments_list .list_item", has_text=lab).first).to_be_visible()


def open_notebook(page: Page, path: str) -> None:
    """Open a notebook by the file dialog, and wait for its kernel."""
    page.get_by_role("menuitem", name="File", exact=True).click()
    page.get_by_text("Open from Path").click()
    page.get_by_placeholder("/path/relative/to/jlab/root").fill(path)
    page.get_by_role("button", name="Open").click()
    expect(page.locator(".jp-Notebook")).to_be_visible(timeout=START)
    expect(page.get_by_text("| Idle")).to_be_visible(timeout=START)


def run_all(page: Page) -> None:
    """Restart the kernel, run all cells of a notebook that has not been run, and wait for the last."""
    prompts = page.locator(".jp-Notebook .jp-CodeCell .jp-InputArea-prompt")
    expect(prompts.filter(has_text=DONE)).to_have_count(0)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Restart Kernel and Run All Cells…").click()
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(prompts.last).to_have_text(DONE, timeout=START)
    expect(prompts.filter(has_not_text=DONE)).to_have_count(0)


def cell_with(page: Page, text: str) -> Locator:
    """The code cell that has this text in it, scrolled to: JupyterLab only makes the cells that are seen."""
    pane = page.locator(".jp-WindowedPanel-outer").first
    cell = page.locator(".jp-CodeCell", has=page.locator(".cm-content", has_text=text)).first
    end = time.monotonic() + START / 1000
    while time.monotonic() < end:  # again and again: a page that has much to do does not keep up with us
        pane.evaluate("pane => pane.scrollTop = 0")
        before, after = -1, 0
        while after > before:
            page.wait_for_timeout(200)
            if cell.is_visible():
                cell.scroll_into_view_if_needed()
                return cell
            before, after = pane.evaluate("pane => [pane.scrollTop, (pane.scrollBy(0, 500), pane.scrollTop)]")
    raise AssertionError(f"no cell has {text!r}")


def write(page: Page, cell: Locator, source: str) -> None:
    """Replace what is in a cell, and run it and the one below, which checks it: what that shows comes later."""
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)
    for _ in range(2):
        page.keyboard.press("Shift+Enter")


def save(page: Page) -> None:
    """Save the notebook."""

    def saved(answer: Response) -> bool:
        return answer.request.method == "PUT" and "/api/contents/" in answer.url and ".ipynb" in answer.url

    with page.expect_response(saved) as answer:
        page.keyboard.press("Control+s")
    assert answer.value.ok


def validate(page: Page) -> str:
    """Press Validate in the notebook's toolbar. Returns what it says."""
    page.get_by_role("button", name="Validate").click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog.get_by_role("button", name="OK")).to_be_visible(timeout=START)
    said = dialog.inner_text()
    dialog.get_by_role("button", name="OK").click()
    return said


def hand_in(page: Page, lab: str) -> str:
    """Hand a lab in by the Assignment List. Returns what is listed as submitted."""
    row = page.locator("#fetched_assignments_list .list_item", has_text=lab).first
    row.get_by_role("button", name="Submit").click()
    submitted = page.locator("#submitted_assignments_list .list_item", has_text=lab).first
    expect(submitted).to_be_visible()
    return submitted.inner_text()


def read_feedback(page: Page, lab: str) -> str:
    """Fetch a lab's feedback in the Assignment List, and open it from there. Returns what it says."""
    submitted = page.locator("#submitted_assignments_list .list_item", has_text=lab).first
    submitted.get_by_role("button", name="Fetch Feedback").click()
    page.locator("#submitted_assignments_list").get_by_text("view feedback").click()
    page.locator(".jp-DirListing-item", has_text=f"{lab}.html").dblclick()
    shown = page.frame_locator(".jp-HTMLViewer iframe, iframe.jp-HTMLViewer, iframe").last
    expect(shown.locator("body")).to_contain_text("Score:")
    return shown.locator("body").inner_text()
