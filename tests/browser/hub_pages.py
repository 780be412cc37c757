"""What people do on the hub's pages, as they do it: by what they read there."""

from __future__ import annotations

import json
import re
import time

from playwright.sync_api import Locator, Page, Response, WebSocket, expect

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


def lab_of(page: Page, lab: str) -> Locator:
    """A lab on a student's page of labs, where one lands after logging in."""
    expect(page.get_by_role("heading", name="Your labs")).to_be_visible(timeout=START)
    return page.get_by_role("listitem").filter(has=page.get_by_text(lab, exact=True))


def fetch(page: Page, lab: str) -> None:
    """Fetch a lab from the page of labs, and wait for the kernel of its notebook, which opens."""
    page.reload()
    lab_of(page, lab).get_by_role("button", name="Fetch and open").click()
    expect(page.locator(".jp-Notebook")).to_be_visible(timeout=START)
    expect(page.get_by_text("| Idle")).to_be_visible(timeout=START)


def back_to_labs(page: Page) -> None:
    """Go from JupyterLab back to the page of labs."""
    page.get_by_role("link", name="Your labs").click()
    expect(page.get_by_role("heading", name="Your labs")).to_be_visible()


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
        before, after = -1, 0  # first where we are: what is looked for is mostly below what was there last
        while after > before:
            if cell.is_visible():
                cell.scroll_into_view_if_needed()
                return cell
            before, after = pane.evaluate("pane => [pane.scrollTop, (pane.scrollBy(0, 500), pane.scrollTop)]")
            page.wait_for_timeout(200)
        pane.evaluate("pane => pane.scrollTop = 0")
        page.wait_for_timeout(200)
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
    expect(dialog.get_by_text(re.compile(r"^\d+ of \d+ checks pass, "))).to_be_visible(timeout=START)
    said = dialog.inner_text()
    dialog.get_by_role("button", name="OK").click()
    return said


def hand_in(page: Page, lab: str) -> str:
    """Hand a lab in from the page of labs. Returns what that confirms."""
    lab_of(page, lab).get_by_role("button", name="Hand in").click()
    expect(page.get_by_role("status")).to_be_visible()
    return page.get_by_role("status").inner_text()


def read_feedback(page: Page, lab: str) -> str:
    """Open a lab's feedback from the page of labs. Returns what it says."""
    page.reload()
    lab_of(page, lab).get_by_role("button", name="Open feedback").click()
    expect(page.locator("body")).to_contain_text("Score:")
    return page.locator("body").inner_text()


class Terminal:
    """A terminal that is opened from a page, and what it has shown.

    opening: what is pressed for it; else the first page of JupyterLab is there, which has a card for it.
    """

    def __init__(self, page: Page, opening: Locator | None = None) -> None:
        self.page, self.shown, self.typed = page, "", 0
        page.on("websocket", self.listen)  # on a busy machine one may be lost, and JupyterLab opens the next
        card = page.locator(".jp-LauncherCard:visible", has_text="Terminal").first
        (opening or card).click(timeout=START)
        self.wait(r"\$ ")  # what is typed before the shell is there is lost
        page.locator(".jp-Terminal").click()

    def listen(self, socket: WebSocket) -> None:
        """Hear what comes through a connection to a terminal, which begins with what was shown before."""
        if "/terminals/" in socket.url:
            socket.on("framereceived", self.hear)

    def hear(self, frame: str | bytes) -> None:
        """Keep what the shell sent."""
        kind, *said = json.loads(frame)
        self.shown += "".join(said) if kind == "stdout" else ""

    def wait(self, pattern: str, since: int = 0) -> re.Match[str]:
        """What matches the pattern, once it was shown."""
        end = time.monotonic() + START / 1000
        while not (found := re.compile(pattern).search(self.shown, since)):
            assert time.monotonic() < end, self.shown[since:]
            self.page.wait_for_timeout(100)
        return found

    def run(self, command: str) -> tuple[int, str]:
        """Type a command, and wait until it has ended. Returns its status, and what was shown of it."""
        self.typed += 1
        since = len(self.shown)
        self.page.keyboard.type(f'{command}; echo "[{self.typed}: $?]"\n')
        ended = self.wait(rf"[\r\n]\[{self.typed}: (\d+)\]\r\n", since)
        return int(ended[1]), self.shown[since : ended.start()]
