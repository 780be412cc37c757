"""An instructor's first page on a hub, as it shows: a course with a lab that was made there."""

from __future__ import annotations

import pytest
from hub_pages import START, log_in
from labs_under_test import OURS
from playwright.sync_api import Browser, expect
from running_hub import Hub
from unix_accounts import Account, with_accounts

pytestmark = [*with_accounts, pytest.mark.thorough]
LAB = "14_own_lab"


def test_the_card_of_a_course_has_a_lab_that_was_made_there_and_links_that_lead_somewhere(
    hub: Hub, browser: Browser, screenshot
):
    course, folder = hub.name("hpc"), hub.course("hpc")
    grader, known = Account(f"grader-{course}"), (folder / "course.toml").read_text()
    for command in (f"./lockstep new {LAB}", f"./lockstep build {LAB}"):
        done = grader.run("sh", "-c", command, cwd=folder)
        assert done.returncode == 0, done.stderr
    try:
        (folder / "course.toml").write_text(f'labs = ["{LAB}", "{OURS[0].name}"]\n')
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        log_in(page, hub.url, hub.name("iris"), hub.password("iris"))
        page.goto(f"{hub.url}/hub/home")
        card = page.get_by_role("region", name=course)
        labs = card.locator("[data-waiting] li strong")
        expect(labs).to_have_text(["14 Own lab", "03 Pi on several ranks"], timeout=START)
        screenshot(page, "first-card")
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        screenshot(page, "first-card-narrow")
        links = [link.get_attribute("href") for link in card.get_by_role("link").all()]
        assert len(links) >= 5
        for link in links:
            assert page.request.get(f"{hub.url}{link}", timeout=START).ok, link
        page.context.close()
    finally:
        (folder / "course.toml").write_text(known)
