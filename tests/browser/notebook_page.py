"""A notebook in JupyterLab, used as people do: by menus, buttons and keys."""

from __future__ import annotations

import re
import time

from playwright.sync_api import Locator, Page, expect

START = 60_000  # ms for a page or a kernel to come up, on a machine that does other things too
LONG = 240_000  # ms for all cells of a lab
DONE = re.compile(r"\[\d+\]:")  # the prompt beside a cell that was run

# Notes, with its time, each text that an output shows while cells run: it may be gone a moment later.
NOTE = """
const texts = new WeakMap();
const look = () => {
  for (const output of document.querySelectorAll('.jp-Notebook .jp-OutputArea-output')) {
    const text = output.textContent.trim();
    if (text && texts.get(output) !== text) {
      texts.set(output, text);
      window.notes.push({text, time: Date.now() / 1000});
    }
  }
};
window.forget = () => { window.notes = []; look(); window.notes = []; };
window.forget();
new MutationObserver(look).observe(document.body, {childList: true, subtree: true, characterData: true});
"""


class NotebookPage:
    """The page of one notebook, whose kernel is ready. cells: how many the notebook has."""

    def __init__(self, page: Page, cells: int) -> None:
        self.page = page
        self.cells = page.locator(".jp-Notebook .jp-Cell")
        expect(self.cells).to_have_count(cells, timeout=START)
        expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible(timeout=START)
        page.evaluate(NOTE)

    def menu(self, *names: str) -> None:
        """Choose an entry of a menu, by its way there."""
        for name in names:
            labels = self.page.locator(".lm-MenuBar-itemLabel, .lm-Menu-itemLabel")
            entry = labels.filter(has_text=re.compile(f"^{re.escape(name)}$"))
            entry.hover()
            entry.click()

    def restart_and_run_all(self) -> None:
        """Kernel, Restart Kernel and Run All Cells…, and wait for the last cell."""
        self.page.evaluate("window.forget()")
        self.menu("Kernel", "Restart Kernel and Run All Cells…")
        self.page.get_by_role("button", name="Confirm Kernel Restart").click()
        expect(self.prompts("[*]")).not_to_have_count(0, timeout=START)
        expect(self.prompts("[*]")).to_have_count(0, timeout=LONG)

    def prompts(self, text: str) -> Locator:
        """The prompts beside cells that have this text."""
        return self.page.locator(".jp-Notebook .jp-InputPrompt", has_text=text)

    def notes(self) -> list[str]:
        """What cells showed since the last run, in its order."""
        return [note["text"] for note in self.page.evaluate("window.notes")]

    def noted(self, start: str) -> float:
        """When a text that begins like this was first seen, in seconds since 1970."""
        return next(note["time"] for note in self.page.evaluate("window.notes") if note["text"].startswith(start))

    def new_cell(self, source: str) -> tuple[Locator, float]:
        """Write a new last cell and run it. Returns the cell, and when it was run, in seconds since 1970."""
        self.cells.last.locator(".jp-InputArea-prompt, .jp-InputPrompt").first.click()
        self.page.keyboard.press("Escape")
        before = self.cells.count()
        self.page.keyboard.press("b")
        expect(self.cells).to_have_count(before + 1)
        self.page.keyboard.press("Enter")
        self.page.keyboard.insert_text(source)
        self.page.evaluate("window.forget()")
        self.page.keyboard.press("Control+Enter")
        return self.cells.last, time.time()

    def result_of(self, source: str) -> Locator:
        """Run `source` in a new last cell, and wait for its end. Returns the cell."""
        cell, _ = self.new_cell(source)
        self.wait_for_end(cell)
        return cell

    def wait_for_end(self, cell: Locator) -> None:
        """Wait until a cell that was run is done."""
        expect(cell.locator(".jp-InputPrompt")).to_have_text(DONE, timeout=LONG)
